"""`infonn label`: which items to label next, how good the classifier is by now, and what it says of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infonn.cli.engine import ENGINE, PROCESSES, SCHEDULER

if TYPE_CHECKING:
    from infonn.arrays import FloatArray, IntArray
    from infonn.beliefs import Belief
    from infonn.datasets.items import ItemSet
    from infonn.queries import Answers

FEWEST_FOR_ACCURACY = 10  # labels


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Label")(label)


def label(
    items: Annotated[Path, typer.Option(help="A folder of pictures, or a CSV file with a column `name`.")],
    classes: Annotated[str, typer.Option(help="The classes, with commas: cat,dog,other.")],
    features: Annotated[Path | None, typer.Option(help="A .npy file, one row per item in order of name.")] = None,
    labels: Annotated[list[Path] | None, typer.Option(help="CSV with `item` and `label`; may be given again.")] = None,
    next: Annotated[int, typer.Option("--next", help="How many items to label next.", min=0)] = 20,
    strategy: Annotated[str, typer.Option(help="How to choose; `infonn strategies` names them.")] = "info_nn",
    seed: Annotated[int, typer.Option(help="Same seed and labels, same choice.", min=0)] = 0,
    engine: ENGINE = None,
    processes: PROCESSES = None,
    scheduler: SCHEDULER = None,
    out: Annotated[Path, typer.Option(help="Folder for what is written.")] = Path("labelling"),
) -> None:
    """Label as few items as possible: choose, read the labels back, train, predict the rest.

    The items to label are written to next.csv, beside a sheet of pictures. Fill in the column `label` and run the
    same command again: what you filled in is kept in labels.csv. It works without any label at the start. Millions of
    items are scored by several processes or a Dask cluster where --engine says so; workers read the file of features
    themselves.
    """
    import numpy as np
    from rich.console import Console
    from rich.markup import escape

    from infonn.datasets.items import load_items
    from infonn.engines import open_engine
    from infonn.formats.labels import write_table
    from infonn.tasks.labels import check_classes

    console = Console()
    names = [name.strip() for name in classes.split(",")]
    check_classes(names)
    job = _Job(load_items(items, features), names, out)
    known = job.known_labels(labels or [])
    table = job.features(console)
    learner, answers = _learner(table, len(names), scale=job.items.features is not None), job.answers(known)
    belief = learner.fit(answers, np.random.default_rng([seed, len(answers), 0]))
    _say_accuracy(console, learner, answers, names, seed)
    rng = np.random.default_rng([seed, len(answers), 1])
    with open_engine(engine, processes, scheduler) as opened:
        chosen, rule = job.choose(strategy, learner, belief, answers, next, rng, opened.map)
    out.mkdir(parents=True, exist_ok=True)
    job.keep_labels(known)
    predictions = job.write_predictions(belief, known)
    write_table(
        out / "next.csv",
        ["item", "label", "prediction", "confidence"],
        [[job.items.names[q[0]], "", *predictions.get(int(q[0]), ("", ""))] for q in chosen],
    )
    sheet = job.draw(chosen, known, predictions) if len(chosen) else None
    _say_next(console, job, chosen, predictions, rule, next)
    if sheet is not None:
        console.print(f"Pictures and their nearest labelled items: [bold]{escape(str(sheet))}[/bold]")
    if len(chosen):
        console.print(f"Fill in the column label of [bold]{escape(str(out / 'next.csv'))}[/bold] and run this again.")


@dataclass(frozen=True)
class _Job:
    items: ItemSet
    classes: list[str]
    out: Path

    # --- labels ----------------------------------------------------------------------------------------

    def known_labels(self, files: list[Path]) -> dict[int, int]:
        """Labels of the files given, those kept from earlier runs, and those filled in since."""
        from infonn.formats.labels import joined_labels, read_labels

        kept = [path for path in (self.out / "labels.csv", self.out / "next.csv") if path.is_file()]
        every = list(dict.fromkeys([*files, *kept]))
        parts = {str(path): read_labels(path, self.items.names, self.classes) for path in every}
        return joined_labels(parts, self.items.names, self.classes)

    def keep_labels(self, known: dict[int, int]) -> None:
        """All labels in one file, before next.csv is written anew."""
        from infonn.formats.labels import write_table

        rows = [[self.items.names[item], self.classes[label]] for item, label in sorted(known.items())]
        write_table(self.out / "labels.csv", ["item", "label"], rows)

    def answers(self, known: dict[int, int]) -> Answers:
        import numpy as np

        from infonn.queries import Answers

        queries = np.full((len(known), 1 + min(3, len(self.classes))), -1, np.int32)
        queries[:, 0] = sorted(known)
        return Answers(queries, np.array([known[item] for item in sorted(known)], np.int32), "label")

    # --- features, choice, predictions -----------------------------------------------------------------

    def features(self, console: Any) -> FloatArray:
        """Those given; else the pixels, with a word about better ones."""
        from infonn.datasets.images import pixel_features, read_pictures
        from infonn.errors import DataError

        if self.items.features is not None:
            return self.items.features
        if any(item.image is None for item in self.items.items) or self.items.folder is None:
            raise DataError("These items have neither features nor pictures. Give --features, one row per item.")
        console.print(
            "[yellow]No --features: using the pixels. Features of a trained network (CLIP, DINO) need far fewer "
            "labels.[/yellow]"
        )
        return pixel_features(read_pictures([self.items.folder / str(item.image) for item in self.items.items]))

    def choose(
        self, strategy: str, learner: Any, belief: Belief, answers: Answers, size: int, rng: Any, map: Any
    ) -> tuple[IntArray, str]:
        """The next queries and the rule that chose them: typical items until two classes have a label."""
        from infonn.loop import Loop
        from infonn.specs.registry import CLASS_STRATEGIES, build_part
        from infonn.tasks.labels import LabelTask

        context = {"n_classes": len(self.classes)}
        rule = strategy if len(set(answers.responses.tolist())) > 1 else "typicality"
        build_part("Strategy", CLASS_STRATEGIES, strategy, {}, context)  # a wrong name shows now
        picker = build_part("Strategy", CLASS_STRATEGIES, rule, {}, context)
        task = LabelTask(len(self.items), self.classes)
        queries, _ = Loop(task, learner, picker, "label").choose(belief, answers, answers.queries, size, rng, map)
        return queries, rule

    def write_predictions(self, belief: Belief, known: dict[int, int]) -> dict[int, tuple[str, str]]:
        """predictions.csv for the items without a label, surest first; item -> (class, confidence)."""
        import numpy as np

        from infonn.formats.labels import write_table
        from infonn.selection.class_predictions import point_log_probs

        rest = np.array([item for item in range(len(self.items)) if item not in known], np.int64)
        if len(set(known.values())) < 2 or not len(rest):  # of one class all would be, for all we know
            (self.out / "predictions.csv").unlink(missing_ok=True)
            return {}
        probs = np.exp(point_log_probs(belief, rest))
        best, sure = probs.argmax(axis=1), probs.max(axis=1)
        found = {int(i): (self.classes[b], f"{s:.3f}") for i, b, s in zip(rest, best, sure)}
        rows = [[self.items.names[rest[i]], *found[int(rest[i])]] for i in np.argsort(-sure, kind="stable")]
        write_table(self.out / "predictions.csv", ["item", "prediction", "confidence"], rows)
        return found

    # --- the sheet -------------------------------------------------------------------------------------

    def draw(self, chosen: IntArray, known: dict[int, int], predictions: dict[int, tuple[str, str]]) -> Path:
        """next.png: the chosen items, each with the nearest labelled item of the nearest classes."""
        from infonn.plots.look import style
        from infonn.plots.sheets import draw_sheet

        rows = []
        for query in chosen[:60]:
            item = int(query[0])
            says = f"{self.items.names[item]}" + (f": {predictions[item][0]}?" if item in predictions else "")
            near = [self._card(int(n), self.classes[known[int(n)]]) for n in query[1:] if n >= 0]
            rows.append((self._card(item, says), near))
        figure = draw_sheet(rows, "Label next (framed), with the nearest labelled items", 2 if len(rows) > 5 else 1)
        path = self.out / "next.png"
        with style():
            figure.savefig(path)
        return path

    def _card(self, item: int, text: str) -> Any:
        from infonn.datasets.images import read_picture
        from infonn.errors import DataError
        from infonn.plots.sheets import Card

        image = self.items.items[item].image
        if image is None or self.items.folder is None:
            return Card(f"{self.items.names[item]}\n{text}" if text not in self.items.names[item] else text)
        try:
            return Card(text, read_picture(self.items.folder / image, 96))
        except DataError:  # features may be there for a picture that cannot be shown
            return Card(f"{text}\n(no picture)")


def _learner(features: FloatArray, n_classes: int, scale: bool) -> Any:
    from infonn.learners.classifiers.sklearn_classifier import SklearnClassifier

    return SklearnClassifier(features, n_classes, scale=scale)  # principal components keep their sizes


def _say_accuracy(console: Any, learner: Any, answers: Answers, classes: list[str], seed: int) -> None:
    import numpy as np

    from infonn.learners.classifiers.sklearn_classifier import cross_validate
    from infonn.maths.intervals import wilson_interval

    counts = np.bincount(answers.responses, minlength=len(classes))
    if not len(answers):
        console.print("No labels yet: the first items are typical ones of different kinds.")
        return
    console.print(f"{len(answers)} labels: {', '.join(f'{c} {n}' for c, n in zip(classes, counts))}.", markup=False)
    if len(answers) < FEWEST_FOR_ACCURACY or (counts > 1).sum() < 2:
        console.print(
            f"Too few to tell how good the classifier is (from {FEWEST_FOR_ACCURACY} labels of 2 classes on)."
        )
        return
    right, total = cross_validate(learner, answers, np.random.default_rng([seed, 2]))
    low, high = wilson_interval(right, total)
    console.print(
        f"Accuracy by cross-validation: [bold]{right / total:.0%}[/bold], 95 % interval {low:.0%} to {high:.0%}. Items "
        "chosen for labelling are harder than most, so expect the rest to be somewhat better."
    )


def _say_next(
    console: Any, job: _Job, chosen: IntArray, predictions: dict[int, tuple[str, str]], rule: str, wanted: int
) -> None:
    from rich.markup import escape
    from rich.table import Table

    if not len(chosen):
        console.print("Every item has a label; there is nothing to choose." if wanted else "")
        return
    if len(chosen) < wanted:
        console.print(f"Only {len(chosen)} items are left without a label; all of them are below.")
    table = Table(f"label next ({rule})", "prediction", "confidence", box=None, padding=(0, 2, 0, 0))
    for query in chosen:
        words = (job.items.names[query[0]], *predictions.get(int(query[0]), ("", "")))
        table.add_row(*map(escape, words))  # names may hold brackets
    console.print(table)
