"""The built wheel is whole: installed in an empty environment, outside the repository, the command works."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUDY = """
import infonn, sys
assert infonn.__file__.startswith(sys.prefix), infonn.__file__
study = infonn.create_study(["a", "b", "c", "d", "e"], first=3, learner="mds", storage="jsonl:///study.jsonl")
for _ in range(6):
    study.tell(study.ask()[0].id, 0)
print(study.embedding().shape)
from infonn.datasets.food import food73
print(len(food73().names))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, so that the repository stays as it is."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", built, source)
    (found,) = built.glob("infonn-*.whl")
    return found


def pip(python: object, *arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, *arguments]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def run(*command: object, folder: Path) -> str:
    """Run outside the repository, without anything of it on the path. Kernels run as plain Python: quicker here."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment = {**clean, "NUMBA_DISABLE_JIT": "1"}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_it_works(binaries: Path, folder: Path) -> None:
    assert "reproduce" in run(binaries / "infonn", "--help", folder=folder)
    assert "reproduce" in run(binaries / "python", "-m", "infonn", "--help", folder=folder)
    assert "info_nn" in run(binaries / "infonn", "strategies", folder=folder)
    assert run(binaries / "python", "-c", STUDY, folder=folder).split("\n")[:2] == ["(5, 2)", "73"]
    assert "Written" in run(binaries / "infonn", "report", "--results", folder, "--out", folder / "page", folder=folder)


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    ours = [path for path in (ROOT / "src" / "infonn").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    missing = [path for path in ours if path.relative_to(ROOT / "src").as_posix() not in names]
    assert not missing


def test_the_wheel_works_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own; what infonn depends on is lent by this one, so that it takes seconds."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    binaries = tmp_path / "venv" / "bin"
    pip(binaries / "python", "install", "--no-deps", "--no-index", wheel)
    packages = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (packages / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    (tmp_path / "elsewhere").mkdir()
    check_it_works(binaries, tmp_path / "elsewhere")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_wheel_installs_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    binaries = tmp_path / "venv" / "bin"
    pip(binaries / "python", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel)
    (tmp_path / "elsewhere").mkdir()
    check_it_works(binaries, tmp_path / "elsewhere")
