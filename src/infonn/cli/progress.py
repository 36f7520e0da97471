"""Progress bars for long work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

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


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the error output; what is given is told how many of how many are done."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


class CurveBars:
    """Two bars: curves of the experiment, and rounds of what is running now."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            Remaining(),
        )
        self.progress = Progress(*columns, console=console)
        self.curves = self.progress.add_task("curves", total=None)
        self.rounds = self.progress.add_task("rounds", total=None)

    def __enter__(self) -> CurveBars:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def show(self, done: int, total: int, round: int, rounds: int) -> None:
        share = round / rounds if rounds else 0.0
        self.progress.update(self.curves, completed=done + share * (done < total), total=total)
        self.progress.update(self.rounds, completed=round, total=rounds or None, visible=rounds > 0)
