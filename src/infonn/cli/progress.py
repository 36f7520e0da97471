"""Progress bars for long work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from infonn.records import Round


def watched(rounds: Iterable[Round], total: int, name: str) -> Iterator[Round]:
    """The rounds as they come, with a bar that shows the latest measures."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[latest]}")) as progress:
        task = progress.add_task(name, total=total, latest="")
        for round in rounds:
            latest = "  ".join(f"{measure} {value:.3f}" for measure, value in round.measures.items())
            progress.update(task, advance=1, latest=f"{round.n_answers} answers  {latest}")
            yield round
