"""Nothing leans on Linux where another system would do otherwise: text is UTF-8 everywhere, folders need no sync."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import infonn
from infonn.storage import backups

USE = """
import warnings
warnings.filterwarnings("error", category=EncodingWarning, module=r"infonn\\..*")

from pathlib import Path
import numpy as np
from infonn import create_study, load_items
from infonn.oracles.distances import DistanceOracle
from infonn.specs.settings import read_spec
from infonn.web.pages import texts_of

Path("items.csv").write_text("name\\nKäse\\nBrot\\nSoße\\nEi\\n", encoding="utf-8")
Path("study.toml").write_text('[study]\\nname = "Küche"\\n', encoding="utf-8")
assert read_spec("study.toml")["study"]["name"] == "Küche"
for storage in ("sqlite:///kitchen.db", "jsonl:///kitchen.jsonl"):
    study = create_study(load_items("items.csv"), candidates=2, learner="mds", first=3, storage=storage, name="Küche")
    list(study.run(DistanceOracle(np.arange(4.0)[:, None]), rounds=1, size=2))
    assert "Soße" in study.item_names
assert texts_of("de")["skip"] == "Überspringen"
"""


def test_text_is_utf_8_whatever_the_system_thinks(tmp_path: Path) -> None:
    here = {**os.environ, "PYTHONPATH": str(Path(infonn.__file__).parents[1]), "PYTHONWARNDEFAULTENCODING": "1"}
    command = [sys.executable, "-c", USE]
    done = subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_backup_is_written_where_folders_cannot_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, where opening a folder is refused."""
    opened = os.open

    def windows_open(path: object, *arguments: object) -> int:
        if Path(str(path)).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", windows_open)
    (tmp_path / "file").write_bytes(b"kept")
    backups._sync(tmp_path / "file")
