"""The gallery: ten scripts, each with its picture on the page, and each of them runs as it stands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import infonn

DOCS = Path(__file__).parents[1] / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))
PAGE = (DOCS / "gallery.md").read_text()


def test_every_script_has_its_picture_and_its_words_on_the_page() -> None:
    assert len(SCRIPTS) == 10
    for script in SCRIPTS:
        assert f"](images/gallery/{script.stem}.png)" in PAGE
        assert f"](gallery/{script.name})" in PAGE
        assert (DOCS / "images" / "gallery" / f"{script.stem}.png").is_file()
        assert script.read_text().splitlines()[0].strip('"') in PAGE.replace("\n", " ")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_makes_its_picture(script: Path, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"

    here = {**os.environ, "PYTHONPATH": str(Path(infonn.__file__).parents[1])}
    done = subprocess.run([sys.executable, script, picture], cwd=tmp_path, env=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with Image.open(picture) as made:
        assert min(made.size) > 150
        assert len(made.convert("L").getcolors() or ()) > 10  # something was drawn
