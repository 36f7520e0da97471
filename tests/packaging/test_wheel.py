"""What is built is whole: installed in an empty environment, outside the repository, the command works."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
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
def source(tmp_path_factory) -> Path:
    """A copy to build from, so that the repository stays as it is."""
    source = tmp_path_factory.mktemp("source")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    return source


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory) -> Path:
    built = tmp_path_factory.mktemp("built")
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", built, source)
    (found,) = built.glob("infonn-*.whl")
    return found


@pytest.fixture(scope="module")
def sdist(source: Path, tmp_path_factory) -> Path:
    built = tmp_path_factory.mktemp("sdist")
    code = f"from setuptools import build_meta; print(build_meta.build_sdist({str(built)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = built.glob("infonn-*.tar.gz")
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


def files_of_the_package() -> list[str]:
    ours = [path for path in (ROOT / "src" / "infonn").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return [path.relative_to(ROOT / "src").as_posix() for path in ours]


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert not [path for path in files_of_the_package() if path not in names]


def test_the_sdist_builds_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml"} <= names
    assert not [path for path in files_of_the_package() if f"src/{path}" not in names]
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, sdist)
    (again,) = tmp_path.glob("infonn-*.whl")
    assert set(zipfile.ZipFile(again).namelist()) == set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_works_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own; what infonn depends on is lent by this one, so that it takes seconds."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    binaries = tmp_path / "venv" / "bin"
    pip(binaries / "python", "install", "--no-deps", "--no-index", wheel)
    packages = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (packages / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    (tmp_path / "elsewhere").mkdir()
    check_it_works(binaries, tmp_path / "elsewhere")


def pythons() -> dict[str, str]:
    """Every Python from 3.11 on that this machine has: version -> command."""
    found = {}
    for name in (f"3.{minor}" for minor in range(11, 20)):
        kept = sorted(Path.home().glob(f".pyenv/versions/{name}.*/bin/python{name}"))
        for command in filter(None, [shutil.which(f"python{name}"), *map(str, kept)]):
            if not subprocess.run([command, "-c", "import venv, ensurepip"], capture_output=True).returncode:
                found[name] = command
    return found or {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("python", pythons().items(), ids=lambda found: found[0])
def test_it_installs_in_an_empty_environment_of_every_python(python, wheel: Path, tmp_path: Path) -> None:
    """With the versions of constraints.txt in the Python they are for, the newest elsewhere; the doctor agrees."""
    version, command = python
    subprocess.run([command, "-m", "venv", tmp_path / "venv"], check=True)
    binaries = tmp_path / "venv" / "bin"
    pinned = ["--constraint", ROOT / "constraints.txt"] if version == "3.11" else []
    pip(binaries / "python", "install", "--quiet", *pinned, wheel)
    (tmp_path / "elsewhere").mkdir()
    check_it_works(binaries, tmp_path / "elsewhere")
    assert f"Python {version}." in run(binaries / "infonn", "--version", folder=tmp_path / "elsewhere")
    assert "Everything is in place." in run(binaries / "infonn", "doctor", folder=tmp_path / "elsewhere")
