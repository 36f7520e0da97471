"""The documentation builds without a warning, and needs no other host."""

import re
import subprocess
import sys
from pathlib import Path

from pages import ROOT


def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in tmp_path.glob("*.html"):
        text = page.read_text()
        loaded = re.findall(r'<(?:script|img|link)[^>]*?(?:src|href)="(https?:[^"]+)"', text)
        assert not loaded, f"{page.name} loads {loaded}"
        assert 'class="arithmatex"' not in text, f"{page.name} has an equation that was not converted"
