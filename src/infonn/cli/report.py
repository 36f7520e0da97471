"""`infonn report`: the paper on one page, from published results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Check the claims")(report)


def report(
    results: Annotated[Path, typer.Option(help="Folder of results, one folder per experiment.")] = Path("results"),
    out: Annotated[Path, typer.Option(help="The HTML page.")] = Path("runs/report/index.html"),
    docs: Annotated[
        Path | None, typer.Option(help="Also write paper.md and its figures here; docs/ where it exists.")
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="First judge the claims in the results again, by the rules of today.")
    ] = False,
) -> None:
    """Write the paper's figures, tables and claims beside ours: an HTML page, one to print, and docs/paper.md."""
    from rich.console import Console

    from infonn.errors import DataError
    from infonn.experiments.report.evidence import VERDICTS, verdict_of
    from infonn.experiments.report.results import judge_again
    from infonn.experiments.report.write import PRINTED, write_report

    console = Console()
    if not results.is_dir():
        raise DataError(f"{results} is no folder. `infonn reproduce NAME --out results/NAME` makes results.")
    if docs is None and Path("docs").is_dir():
        docs = Path("docs")
    if out.suffix != ".html":
        out = out / "index.html"
    if judge:
        console.print(f"Judged otherwise than before: {', '.join(judge_again(results)) or 'none'}.")
    with console.status("Drawing"):
        found = write_report(results, out, docs, console.print)
    verdicts = [verdict_of(claim) for result in found.values() for claim in result.claims]
    for verdict in VERDICTS:
        console.print(f"{verdicts.count(verdict):3} claims: {verdict}")
    also = f", {docs / 'paper.md'}" if docs is not None else ""
    console.print(f"Written: [bold]{out}[/bold], {out.with_name(PRINTED)} (to print, or save as PDF){also}")
