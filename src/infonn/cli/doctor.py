"""`infonn doctor`: is everything in place? And the versions that a bug report needs."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated

import typer

MATTER = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "SQLAlchemy", "fastapi", "torch")  # for a bug report


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Look")(doctor)


def versions() -> list[tuple[str, str]]:
    """infonn, Python, the system, and the packages that matter."""
    own = [("infonn", _version("infonn")), ("Python", platform.python_version()), ("system", platform.platform())]
    return [*own, *((name, _version(name)) for name in MATTER)]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def doctor(
    verbose: Annotated[bool, typer.Option("--verbose", help="Show what was found for every check.")] = False,
) -> None:
    """Check the installation: packages, the compiler, a study from question to answer, files that can be locked.

    Prints what to do about everything that is wrong, and exits with status 1 if anything is.
    """
    for name, found in versions():
        typer.echo(f"{name:14}{found}")
    typer.echo("")
    wrong = 0
    for what, check in CHECKS.items():
        try:
            told, good = check(), True
        except Exception as error:  # whatever it is, it belongs into the report
            told, good = f"{type(error).__name__}: {error}", False
        wrong += not good
        mark = typer.style("ok   ", fg="green") if good else typer.style("wrong", fg="red")
        typer.echo(f"{mark} {what}" + (f": {told}" if verbose or not good else ""))
    for what, told in _extras():
        typer.echo(f"{'':5} {what}: {told}")
    typer.echo("\nEverything is in place." if not wrong else f"\n{wrong} of {len(CHECKS)} checks failed.")
    if wrong:
        raise typer.Exit(1)


# --- checks: each gives a word about what it found, or raises -----------------------------------------


def _python() -> str:
    if sys.version_info < (3, 11):  # noqa: UP036 - somebody may have forced the installation
        raise RuntimeError(f"Python is {platform.python_version()}; infonn needs 3.11 or newer.")
    return sys.executable


def _packages() -> str:
    """Every required package is there, in a version that infonn takes."""
    from packaging.requirements import Requirement

    wanted = [Requirement(line) for line in requires("infonn") or []]
    needed = [r for r in wanted if r.marker is None or r.marker.evaluate({"extra": ""})]
    bad = [
        f"{r.name} is {_version(r.name)}, needed is {r.specifier or 'any'}"
        for r in needed
        if _version(r.name) == "not installed" or not r.specifier.contains(_version(r.name), prereleases=True)
    ]
    if bad:
        raise RuntimeError("; ".join(bad) + ". pip install --upgrade infonn puts them right.")
    return f"{len(needed)} packages"


def _compiler() -> str:
    """The fast kernels compile and agree with the plain formula."""
    import numpy as np

    from infonn import create_study

    study = create_study([f"item {i}" for i in range(6)], candidates=2, first=4, seed=0)
    for _ in range(6):
        question = study.ask()[0]
        study.tell(question, 0)
    points = study.embedding().to_numpy()
    if points.shape[0] != 6 or not np.isfinite(points).all():
        raise RuntimeError(f"An embedding of 6 items has shape {points.shape}.")
    return "6 answers were asked, told and learned"


def _database() -> str:
    """SQLite in a file, as `infonn serve` uses it."""
    from infonn import create_study

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        url = f"sqlite:///{(Path(folder) / 'study.db').as_posix()}"
        study = create_study(["a", "b", "c", "d"], candidates=2, storage=url, name="check")
        study.tell(study.ask()[0], 1)
        if len(study.answers()) != 1:
            raise RuntimeError("An answer that was told is not in the database.")
    return "an answer was written and read"


def _files() -> str:
    """The pages, datasets and migrations came along with the package."""
    from infonn.datasets.food import food73

    root = Path(__file__).parents[1]
    for part in ("web/templates", "web/static", "storage/migrations", "plots/study_page.html"):
        if not (root / part).exists():
            raise RuntimeError(f"{root / part} is missing; install infonn again.")
    return f"{len(food73().names)} dishes"


def _cache() -> str:
    """numba keeps compiled kernels; where it cannot, every start takes some seconds more."""
    place = os.environ.get("NUMBA_CACHE_DIR") or str(Path(__file__).parents[1] / "maths" / "kernels")
    if not os.access(place, os.W_OK) and not os.access(Path.home(), os.W_OK):
        raise RuntimeError(f"{place} cannot be written. Set NUMBA_CACHE_DIR to a folder that can.")
    return place


CHECKS: dict[str, Callable[[], str]] = {
    "Python": _python,
    "required packages": _packages,
    "files of the package": _files,
    "ask, tell and learn": _compiler,
    "a database in a file": _database,
    "a place for compiled kernels": _cache,
}


def _extras() -> Iterator[tuple[str, str]]:
    """What may be installed besides, and how."""
    for extra, package in (
        ("deep", "torch"),
        ("postgres", "psycopg"),
        ("parquet", "pyarrow"),
        ("maps", "umap-learn"),
        ("notebook", "ipywidgets"),
    ):
        found = _version(package)
        how = f'not installed; pip install "infonn[{extra}]"'
        yield f"infonn[{extra}]", how if found == "not installed" else f"{package} {found}"
