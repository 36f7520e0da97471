"""The import picture of CONTRIBUTING.md, kept true: downwards only, and shelves never import one another."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import infonn

ROOT = Path(infonn.__file__).parent

LAYERS = [
    {"arrays", "errors"},
    {"queries", "maths"},
    {"beliefs", "records"},
    {"contracts", "findings"},
    {"framework", "learners", "selection", "tasks", "oracles", "storage", "datasets", "formats", "plots", "engines"},
    {"loop"},
    {"analysis"},
    {"study"},
    {"specs"},
    {"live", "estimators", "notebook"},
    {"web", "experiments", "bench", "adapters"},
    {"comparison"},
    {"cli"},
]
# Side by side, but these may look at their neighbour; and a study shows itself in a notebook.
ALLOWED = {("maths", "queries"), ("bench", "experiments"), ("bench", "web"), ("study", "notebook")}
# A library that only one room may import; {} where nobody imports it yet.
KEPT_APART: dict[str, set[str]] = {"dask": set(), "distributed": {"engines"}}


def modules(root: Path) -> list[Path]:
    return [path for path in sorted(root.rglob("*.py")) if path.parent != root or not path.stem.startswith("__")]


def room_of(path: Path, root: Path) -> str:
    return path.relative_to(root).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Every module that a file imports, wherever in the file; a relative import begins with a dot."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            names.add("." * node.level + (node.module or ""))
        elif isinstance(node, ast.ImportFrom) and node.module == "infonn":
            names |= {f"infonn.{infonn._HOMES.get(alias.name, alias.name)}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def rooms_imported(root: Path) -> dict[tuple[str, str], list[str]]:
    """(room, room it imports) -> which files do so; infonn's own rooms only."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in modules(root):
        for name in imports_of(path):
            first, _, rest = name.partition(".")
            if first == "infonn" and rest and rest != "__version__":
                pair = room_of(path, root), rest.split(".")[0]
                found.setdefault(pair, []).append(f"{path.relative_to(root)} imports {name}")
            elif not first:
                found.setdefault((room_of(path, root), name), []).append(f"{path.relative_to(root)} imports {name}")
    return {pair: files for pair, files in found.items() if pair[0] != pair[1]}


def wrong_imports(root: Path, layers: list[set[str]], allowed: set[tuple[str, str]]) -> list[str]:
    level = {room: number for number, rooms in enumerate(layers) for room in rooms}
    return [
        line
        for (room, other), lines in rooms_imported(root).items()
        for line in lines
        if other not in level or (level[other] >= level[room] and (room, other) not in allowed)
    ]


def importers_of(library: str, root: Path) -> set[str]:
    return {room_of(p, root) for p in modules(root) if any(name.split(".")[0] == library for name in imports_of(p))}


def test_every_room_has_a_layer_and_every_layer_its_rooms() -> None:
    assert {room_of(path, ROOT) for path in modules(ROOT)} == set().union(*LAYERS)
    assert sum(map(len, LAYERS)) == len(set().union(*LAYERS)), "a room stands in one layer"


def test_imports_go_downwards_only() -> None:
    wrong = wrong_imports(ROOT, LAYERS, ALLOWED)
    assert not wrong, "\n".join(wrong)


def test_every_room_that_may_look_at_its_neighbour_does() -> None:
    assert set(rooms_imported(ROOT)) >= ALLOWED


def test_contributing_shows_this_picture() -> None:
    page = (ROOT.parents[1] / "CONTRIBUTING.md").read_text()
    picture = next(part for part in page.split("```") if part.strip().startswith("cli"))
    drawn = [set(line.split("   ")[0].split()) for line in reversed(picture.strip().splitlines())]
    assert drawn == [rooms - {"framework"} for rooms in LAYERS]  # whose names only stay for old imports


@pytest.mark.parametrize("library", KEPT_APART)
def test_a_library_is_imported_in_its_room_alone(library) -> None:
    assert importers_of(library, ROOT) == KEPT_APART[library]


def test_what_breaks_the_picture_is_found(tmp_path) -> None:
    """These tests can fail: in a house with one fault of each kind every fault is told."""
    files = {
        "arrays.py": "from infonn.study import Study",
        "maths/plain.py": "def f():\n    from infonn import create_study",
        "queries.py": "import infonn.maths.plain",
        "study.py": "from .queries import Answers\nfrom infonn.arrays import IntArray\nimport dask.array",
        "cli.py": "import infonn.cellar\nfrom infonn import __version__",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    layers = [{"arrays"}, {"queries", "maths"}, {"study"}, {"specs"}, {"cli"}]
    assert sorted(wrong_imports(tmp_path, layers, set())) == [
        "arrays.py imports infonn.study",
        "cli.py imports infonn.cellar",
        "maths/plain.py imports infonn.specs.build",
        "queries.py imports infonn.maths.plain",
        "study.py imports .queries",
    ]
    assert importers_of("dask", tmp_path) == {"study"}


def loaded_by(code: str, libraries: list[str]) -> list[str]:
    done = f"{code}; import sys; print(*[name for name in {libraries!r} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", done], capture_output=True, text=True, check=True).stdout.split()


def test_importing_infonn_is_quick_and_loads_no_heavy_library() -> None:
    heavy = ["torch", "numba", "sklearn", "umap", "matplotlib", "pandas", "scipy"]
    assert loaded_by("import infonn, infonn.cli.main", heavy) == []
    assert loaded_by("import pandas", heavy) == ["pandas"]


def test_the_page_starts_without_what_only_fits_need() -> None:
    assert loaded_by("import infonn.web.app", ["torch", "numba", "sklearn", "umap"]) == []
