"""The options that say where work is done, for every command whose work splits."""

from __future__ import annotations

from typing import Annotated

import typer

ENGINE = Annotated[
    str | None,
    typer.Option(
        "--engine", help="Where to work: here, processes (of this machine) or dask (a cluster). Results are the same."
    ),
]
PROCESSES = Annotated[
    int | None, typer.Option("--processes", help="Split the work over so many processes of this machine.", min=1)
]
SCHEDULER = Annotated[
    str | None, typer.Option("--scheduler", help="dask: the scheduler's address, such as tcp://10.0.0.1:8786.")
]
