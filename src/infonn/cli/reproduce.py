"""`infonn reproduce`: run an experiment of the paper (or of ours) and write its curves, claims and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from infonn.cli.engine import ENGINE, PROCESSES, SCHEDULER


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Check the claims")(reproduce)


def reproduce(
    name: Annotated[str | None, typer.Argument(help='The experiment, or "all"; --list shows them.')] = None,
    preset: Annotated[str, typer.Option(help="smoke (a minute) or paper (as published).")] = "paper",
    trials: Annotated[int | None, typer.Option(help="Trials, in place of the preset's.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first trial's stream.", min=0)] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda, for learners that use torch.")] = "cpu",
    out: Annotated[Path | None, typer.Option(help="Folder for results; runs/NAME by default (for all: runs).")] = None,
    engine: ENGINE = None,
    processes: PROCESSES = None,
    scheduler: SCHEDULER = None,
    restart: Annotated[bool, typer.Option("--restart", help="Forget an earlier run in the folder.")] = False,
    show: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
) -> None:
    """Run an experiment. An interrupted run goes on where it stopped; a finished one is only written up again.

    Trials are split over processes or over a Dask cluster where --engine says so; processes on one GPU share it by CUDA
    MPS. Where they ran changes no curve.
    """
    from rich.console import Console

    console = Console()
    if show or name is None:
        _list(console)
        return

    from infonn.cli.progress import CurveBars
    from infonn.engines import open_engine
    from infonn.experiments.sweep import run_experiment
    from infonn.experiments.table import EXPERIMENTS, experiment_named

    def run(one: str, folder: Path, place: str = "") -> None:
        experiment = experiment_named(one)
        console.print(f"[bold]{place}{experiment.title}[/bold]  ({experiment.where})")
        with open_engine(engine, processes, scheduler) as opened, CurveBars(console) as bars:
            results = run_experiment(
                experiment,
                preset,
                trials=trials,
                seed=seed,
                device=device,
                folder=folder,
                engine=opened,
                restart=restart,
                progress=bars.show,
                say=console.print,
            )
        _summary(console, results)
        _show_tables(console, folder)
        console.print(f"Written to [bold]{folder}[/bold]: results.json and figures (.svg, .png).")

    if name != "all":
        run(name, Path("runs") / name if out is None else out)
        return
    failures = _run_all(EXPERIMENTS, lambda one, place: run(one, (out or Path("runs")) / one, place), console)
    if failures:
        console.print(f"[red]{len(failures)} of {len(EXPERIMENTS)} did not run: {', '.join(failures)}.[/red]")
        raise typer.Exit(1)


def _run_all(names: Iterable[str], run: Callable[[str, str], None], console: Any) -> list[str]:
    """Run each; one that cannot run here (its data may be missing) is reported and does not stop the others."""
    from infonn.errors import InfonnError

    failures = []
    names = list(names)
    for number, name in enumerate(names, 1):
        try:
            run(name, f"{number} of {len(names)}: {name}. ")
        except (InfonnError, ModuleNotFoundError) as error:
            console.print(str(error), style="red", markup=False)
            failures.append(name)
    return failures


def _list(console: Any) -> None:
    from rich.table import Table

    from infonn.experiments.report.paper import figures_of
    from infonn.experiments.table import EXPERIMENTS, experiment_named

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what it shows")
    table.add_column("in the paper")
    table.add_column("minutes: smoke / paper", width=10)
    published = _published(Path("results"))
    if published is not None:
        table.add_column("results/", no_wrap=True)
    for name, (_, title) in sorted(EXPERIMENTS.items()):
        try:
            experiment = experiment_named(name)
        except ImportError as error:  # the list is for everybody, also without the extras
            table.add_row(name, title, figures_of(name), f"needs {error.name}", *_told(published, name))
            continue
        minutes = " / ".join(f"{experiment.minutes[preset]:g}" for preset in ("smoke", "paper"))
        table.add_row(name, title, figures_of(name) or "beyond it", minutes, *_told(published, name))
    console.print(table)
    missing = sorted(set(EXPERIMENTS) - set(published)) if published is not None else []
    if missing:
        console.print(f"Without results in results/: {', '.join(missing)}.")


def _published(folder: Path) -> dict[str, int] | None:
    """Trials of each experiment whose results are kept in the folder; None where there is no such folder."""
    import json

    if not folder.is_dir():
        return None
    kept = {path.parent.name: json.loads(path.read_text("utf-8")) for path in folder.glob("*/results.json")}
    return {name: len({curve["trial"] for curve in results["curves"]}) for name, results in kept.items()}


def _told(published: dict[str, int] | None, name: str) -> list[str]:
    """The cell of the last column, where there is one."""
    if published is None:
        return []
    n = published.get(name, 0)
    return [f"{n} trial{'s' if n > 1 else ''}" if n else "none"]


def _summary(console: Any, results: dict[str, Any]) -> None:
    """Last values (median over trials) and the claims."""
    from rich.table import Table

    from infonn.experiments.trial import Curve

    groups: dict[tuple[str, ...], list[Curve]] = {}
    for data in results["curves"]:
        curve = Curve.from_json(data)
        settings = " ".join(f"{key}={value}" for key, value in curve.settings.items())
        groups.setdefault((curve.method, curve.learner, settings), []).append(curve)
    measures = list(dict.fromkeys(name for data in results["curves"] for name in data["measures"]))
    table = Table("method", "learner", "settings", "trials", *measures, box=None, padding=(0, 2, 0, 0))
    for key, curves in groups.items():
        last = [_median_last(curves, measure) for measure in measures]
        table.add_row(*key, str(len(curves)), *last)
    console.print(table)
    for claim in results["claims"]:
        mark = {True: "[green]holds[/green]", False: "[red]fails[/red]", None: "[yellow]open[/yellow]"}[claim["holds"]]
        console.print(f"{mark}  {claim['text']}  [dim]({claim['where']})[/dim]")


def _show_tables(console: Any, folder: Path) -> None:
    from rich.markdown import Markdown

    for path in sorted(folder.glob("*.md")):
        console.print(Markdown(path.read_text(encoding="utf-8")))


def _median_last(curves: Any, measure: str) -> str:
    from statistics import median

    values = [curve.measures[measure][-1] for curve in curves if curve.measures.get(measure)]
    known = [value for value in values if value is not None]
    return f"{median(known):.4g}" if known else ""
