"""`infonn doctor` and `infonn --version`: what a bug report needs."""

import pytest
from typer.testing import CliRunner

from infonn.cli import doctor
from infonn.cli.main import app


def test_a_sound_installation_gets_a_clean_bill() -> None:
    found = CliRunner().invoke(app, ["doctor", "--verbose"])
    assert found.exit_code == 0, found.output
    assert "Everything is in place." in found.output
    assert "wrong" not in found.output


def test_what_is_wrong_is_named_and_the_rest_still_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise RuntimeError("the drawer is stuck")

    monkeypatch.setattr(doctor, "CHECKS", {"drawer": broken, "Python": doctor.CHECKS["Python"]})
    found = CliRunner().invoke(app, ["doctor"])
    assert found.exit_code == 1
    assert "wrong drawer: RuntimeError: the drawer is stuck" in found.output
    assert "ok    Python" in found.output
    assert "1 of 2 checks failed." in found.output


def test_a_package_too_old_is_named_with_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "requires", lambda name: ["numpy>=999", "torch>=999; extra == 'deep'"])
    with pytest.raises(RuntimeError, match=r"numpy is [\d.]+, needed is >=999"):
        doctor._packages()


def test_the_version_names_what_matters_for_a_bug_report() -> None:
    lines = CliRunner().invoke(app, ["--version"]).output.splitlines()
    assert lines[0].startswith("infonn ")
    assert [line.split()[0] for line in lines[1:4]] == ["Python", "system", "numpy"]
