"""`infonn run`: a study written as data, answered by a simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Simulate")(run)


def run(
    spec: Annotated[Path, typer.Argument(help="The study, written as TOML; its keys are in docs/study-toml.md.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the results [default: runs/NAME of the study].")] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin again instead of going on.")] = False,
) -> None:
    """Run a study written as data; an interrupted run goes on where it stopped.

    Writes `results.jsonl` (every question and answer), `embedding.csv` and `curve.svg`. A study may be as short as

    ```toml
    [study]
    name = "dishes"
    [items]
    dataset = "food73"
    [budget]
    answers = 300
    ```
    """
    import numpy as np
    from rich.console import Console

    from infonn.cli.progress import watched
    from infonn.experiments.simulation import build_simulation
    from infonn.plots.curves import Line, draw_curves
    from infonn.plots.look import save
    from infonn.specs.settings import read_spec
    from infonn.storage.jsonl import JsonlStorage

    tables = read_spec(spec)
    name = tables["study"]["name"]
    folder = out or Path("runs") / name
    results = folder / "results.jsonl"
    if restart:
        results.unlink(missing_ok=True)
    storage = JsonlStorage(results)
    try:
        simulation = build_simulation(tables, storage, spec.parent)
        rounds = list(watched(simulation.run(), simulation.rounds + 1, name))
        simulation.study.embedding().to_csv(folder / "embedding.csv")
        findings = simulation.study.findings().sentences
    finally:
        storage.close()
    n_answers = [round.n_answers for round in rounds]
    panels = {
        measure: [Line(tables["strategy"]["name"], n_answers, np.array([[r.measures[measure] for r in rounds]]))]
        for measure in rounds[0].measures
    }
    save(draw_curves(panels, "answers", "", share_y=False), folder / "curve")
    last = ", ".join(f"{measure} {value:.3f}" for measure, value in rounds[-1].measures.items())
    told = " ".join([f"{rounds[-1].n_answers} answers: {last}.", *findings, f"Results are in {folder}."])
    Console().print(told, markup=False)
