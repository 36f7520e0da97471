"""The import picture of the style guide, kept true: downwards only, and shelves never import one another."""

import ast
import subprocess
import sys
from pathlib import Path

import infonn

ROOT = Path(infonn.__file__).parent

LAYERS = [
    {"arrays", "errors"},
    {"queries", "maths"},
    {"beliefs", "records"},
    {"contracts"},
    {"framework", "learners", "selection", "tasks", "oracles", "storage", "datasets", "formats", "plots"},
    {"loop"},
    {"study"},
    {"specs"},
    {"live", "estimators", "notebook"},
    {"web", "experiments", "bench", "adapters"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
# Side by side, but these may look at their neighbour.
ALLOWED = {("maths", "queries"), ("bench", "experiments"), ("bench", "web")}


def imports_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def modules() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.py")) if path.parent != ROOT or not path.stem.startswith("__")]


def test_every_module_has_a_room() -> None:
    assert {room_of(path) for path in modules()} <= set(LEVEL)


def test_imports_go_downwards_only() -> None:
    wrong = []
    for path in modules():
        room = room_of(path)
        for name in imports_of(path):
            parts = name.split(".")
            if parts[0] != "infonn" or len(parts) < 2 or parts[1] not in LEVEL or parts[1] == room:
                continue
            if LEVEL[parts[1]] >= LEVEL[room] and (room, parts[1]) not in ALLOWED:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_dask_is_imported_in_compute_alone() -> None:
    users = {room_of(p) for p in modules() if any(n.split(".")[0] in ("dask", "distributed") for n in imports_of(p))}
    assert users <= {"compute"}


def test_importing_infonn_is_quick_and_loads_no_heavy_library() -> None:
    heavy = ["torch", "numba", "sklearn", "umap", "matplotlib", "pandas"]
    code = f"import sys, infonn, infonn.cli.main; print([m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
