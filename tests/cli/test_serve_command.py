"""`infonn serve`: what it prints, and what it reads."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from infonn.bench.servers import free_port, server, wait_until_up
from infonn.errors import DataError, InfonnError
from infonn.web.serve_file import limits_of, read_serve_file


def test_low_the_owner_token_goes_to_a_file_of_its_owner_and_not_to_the_output(tmp_path) -> None:
    port = free_port()
    with server(f"sqlite:///{tmp_path}/study.db", port, tmp_path):
        wait_until_up(port)
        kept = tmp_path / "study.db.owner-token"
        token = kept.read_text().strip()
    assert len(token) >= 40
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    output = (tmp_path / "server.log").read_text()
    assert token not in output
    assert "study.db.owner-token" in output


def test_a_server_is_set_up_by_a_file_and_the_shell_comes_first(tmp_path) -> None:
    import urllib.request

    port = free_port()
    file = tmp_path / "serve.toml"
    file.write_text(
        f'storage = "sqlite:///{tmp_path}/other.db"\nport = 1\nworkers = 0\naccess_log = "{tmp_path}/access.log"\n'
        "[limits]\nper_client = 1\n"
    )
    words = [sys.executable, "-m", "infonn", "serve", "--config", str(file), "--port", str(port), "--limit", "body_s=3"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env={**os.environ}, cwd=tmp_path)
    try:
        wait_until_up(port)
        urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health?token=secret", timeout=10).read()
    finally:
        process.terminate()
        process.wait(20)
    assert (tmp_path / "other.db").is_file()
    lines = (tmp_path / "access.log").read_text().splitlines()
    assert " 127.0.0.1 GET /api/health 200 " in lines[-1]
    assert "secret" not in lines[-1]


def test_limits_come_from_a_table_and_from_words(tmp_path) -> None:
    limits = limits_of({"per_client": 2, "upload_bytes": 1000}, ["per_client=0.5", "uploads_at_once=1"])
    assert (limits.per_client, limits.upload_bytes, limits.uploads_at_once) == (0.5, 1000, 1)


@pytest.mark.parametrize(
    ("table", "words", "sentence"),
    [
        ({"per_clients": 1}, [], 'Did you mean "per_client"'),
        ({}, ["per_client"], "NAME=VALUE"),
        ({}, ["per_client=-1"], "0 or more"),
        ({}, ["uploads_at_once=many"], "whole number"),
        ({"per_client": True}, [], "number"),
        ({"body_s": float("nan")}, [], "number"),
    ],
)
def test_wrong_limits_are_refused_in_a_sentence(table, words, sentence) -> None:
    with pytest.raises(InfonnError, match=sentence):
        limits_of(table, words)


@pytest.mark.parametrize("text", ["port = 'x'", "ports = 1", "limits = 1", "=", "proxy = 1"])
def test_a_wrong_serve_file_is_refused_in_a_sentence(tmp_path: Path, text) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises((DataError, InfonnError)):
        read_serve_file(file)
