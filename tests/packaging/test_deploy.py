"""The files under deploy/ say what the program reads."""

import configparser
from dataclasses import asdict
from pathlib import Path

from infonn.web.serve_file import limits_of, read_serve_file
from infonn.web.server import Limits

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_serve_file_is_read_and_tells_the_defaults() -> None:
    keys, limits = read_serve_file(DEPLOY / "serve.toml")
    assert keys["proxy"] is True
    assert asdict(limits_of(limits)) == asdict(Limits())
    assert set(limits) == set(asdict(Limits()))


def test_the_unit_starts_the_server_by_its_file() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "infonn.service")
    assert unit["Service"]["ExecStart"].endswith("infonn serve --config /srv/infonn/serve.toml")
    assert unit["Service"]["NoNewPrivileges"] == "true"


def test_the_container_asks_for_the_servers_health() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert "HEALTHCHECK" in text
    assert "/api/health" in text
    assert "USER infonn" in text
