"""Kernels compiled in the background, once per installation, while the first random questions are answered.

Numba keeps compiled kernels on disk. Where there are none yet, two processes of low priority make them: one fits a tiny
study, the other chooses a question for it. They write to numba's cache alone, so no result depends on them.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
from pathlib import Path

log = logging.getLogger("infonn.compiling")

PARTS = ("fit", "choose")
CHILD = "INFONN_COMPILING"  # set for those processes: they start no others
MOST_S = 180.0  # to wait for; then whoever waits compiles for himself

_started: list[subprocess.Popen[bytes]] = []


def compile_in_background() -> None:
    """Start compiling, where nothing is compiled yet and this process has not started it before."""
    if _started or is_compiled() or os.environ.get(CHILD):
        return
    log.warning("Kernels are being compiled in the background, once per installation; it takes about half a minute.")
    for part in PARTS:
        command = [sys.executable, "-m", "infonn.specs.compiling", part]
        quiet = subprocess.DEVNULL
        environment = {**os.environ, CHILD: "1"}
        _started.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment))
    atexit.register(_let_go)


def wait_for_kernels() -> None:
    """Wait until what was started is done: compiling the same beside it would take as long, and slow it down."""
    for process in _started:
        try:
            process.wait(MOST_S)
        except subprocess.TimeoutExpired:
            log.warning("Compiling in the background takes long; going on without it.")


def is_compiled() -> bool:
    """Whether numba's cache has the kernel that takes longest to compile, made from the source as it is."""
    import infonn

    source = Path(infonn.__file__).parent / "maths" / "kernels" / "chains.py"
    kept = os.environ.get("NUMBA_CACHE_DIR")
    found = Path(kept).rglob("chains.*.nbi") if kept else (source.parent / "__pycache__").glob("chains.*.nbi")
    return any(file.stat().st_mtime >= source.stat().st_mtime for file in found)


def _let_go() -> None:
    for process in _started:
        process.returncode = process.poll() or 0  # they end by themselves, and nobody has to be told


def compile_part(part: str) -> None:
    """What the processes do: fit, or choose from, a study that needs the kernels of the default."""
    import numpy as np

    from infonn.beliefs import Belief
    from infonn.maths.responses import ResponseSettings
    from infonn.queries import Answers
    from infonn.specs.build import create_study

    names = [str(item) for item in range(60)]
    study = create_study(names, learner={"name": "posterior", "n_chains": 2}, pool_size=100)
    rng = np.random.default_rng(0)
    queries = study.loop.random_queries(6, np.empty((0, 4), np.int32), rng)
    answers = Answers(queries, np.zeros(6, np.int32))
    if part == "fit":
        belief = study.loop.fit(answers.take(slice(0, 4)), rng)
        study.loop.fit(answers, rng, belief)  # warm, with answers that are new
        return
    draws = rng.standard_normal((4, 60, 3))
    study.loop.choose(Belief(draws[0], draws, response=ResponseSettings(1.0, 2.0, 0.1)), answers, queries, 1, rng)


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(5)
    compile_part(sys.argv[1])
