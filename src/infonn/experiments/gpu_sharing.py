"""CUDA MPS: several processes share one GPU at the same time, rather than by turns."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CONTROL = "nvidia-cuda-mps-control"


@contextmanager
def gpu_shared(device: str, say: Callable[[str], None] = print) -> Iterator[None]:
    """Where `device` is a GPU and its driver has CUDA MPS: started for the while, and said. Else nothing.

    A daemon that runs already is used and left alone.
    """
    program = shutil.which(CONTROL) if device.startswith("cuda") else None
    if program is None:
        if device.startswith("cuda"):
            say(f"{CONTROL} is not found here: the processes take turns on the GPU, which is slower.")
        yield
        return
    started = subprocess.run([program, "-d"], capture_output=True, check=False).returncode == 0
    say("CUDA MPS " + ("is started" if started else "runs already") + ": the processes share the GPU.")
    try:
        yield
    finally:
        if started:
            subprocess.run([program], input=b"quit\n", capture_output=True, check=False)
