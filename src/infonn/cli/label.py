"""`infonn label`: which items to label next, how good the classifier is by now, and what it says of the rest."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infonn.cli.engine import ENGINE, PROCESSES, SCHEDULER

if TYPE_CHECKING:
    from infonn.arrays import IntArray
    from infonn.datasets.items import ItemSet
    from infonn.live.label_fits import LabelFit
    from infonn.records import Question
    from infonn.study import Study

STUDY = "labels"  # the study's name in its storage
LARGE = 50_000_000  # features of more numbers are mapped from their file, and not copied into the storage


class Extra(StrEnum):
    parquet = "parquet"
    model = "model"
    folders = "folders"


class Rule(StrEnum):
    majority = "majority"
    dawid_skene = "dawid_skene"
    last = "last"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Label")(label)


def label(
    items: Annotated[Path, typer.Option(help="A folder of pictures, or a CSV file with a column `name`.")],
    classes: Annotated[str, typer.Option(help="The classes, with commas: cat,dog,other.")],
    features: Annotated[
        Path | None, typer.Option(help="A .npy or .parquet file, one row per item in order of name.")
    ] = None,
    labels: Annotated[
        list[Path] | None,
        typer.Option("--labels", "--import", help="CSV with `item` and `label`; may be given again."),
    ] = None,
    rule: Annotated[Rule | None, typer.Option(help="Which label counts where people's files disagree.")] = None,
    next: Annotated[int, typer.Option("--next", help="How many items to label next.", min=0)] = 20,
    strategy: Annotated[str, typer.Option(help="How to choose; `infonn strategies` names them.")] = "default",
    model: Annotated[str | None, typer.Option(help="Your own classifier, as module:Class.")] = None,
    hold_out: Annotated[
        float,
        typer.Option(help="Share of labels for items drawn at random, which tell the accuracy.", min=0.0, max=0.9),
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Same seed and labels, same choice.", min=0)] = 0,
    also: Annotated[list[Extra] | None, typer.Option(help="Write besides: parquet, model, folders.")] = None,
    engine: ENGINE = None,
    processes: PROCESSES = None,
    scheduler: SCHEDULER = None,
    out: Annotated[Path, typer.Option(help="Folder for what is written.")] = Path("labelling"),
) -> None:
    """Label as few items as possible: choose, read the labels back, train, predict the rest.

    The items to label are written to next.csv, beside a sheet of pictures. Fill in the column `label` and run the
    same command again. Everything is kept in study.db, a study that `infonn serve` can show to others as well.
    Millions of items are scored by several processes or a Dask cluster where --engine says so; workers read the file
    of features themselves.
    """
    from rich.console import Console

    from infonn.datasets.items import load_items
    from infonn.engines import open_engine
    from infonn.live.label_fits import fit_labels
    from infonn.tasks.labels import check_classes

    console = Console()
    names = [name.strip() for name in classes.split(",")]
    check_classes(names)
    job = _Job(load_items(items, features), names, out, console)
    votes = job.read_labels(labels or [], rule)
    job.open(features, strategy, model, hold_out, seed)
    n_new = job.keep(votes)
    fitted = fit_labels(job.study)
    if n_new:
        job.note_round(fitted)
    _say_labels(console, fitted)
    _say_accuracy(console, job.study, fitted)
    with open_engine(engine, processes, scheduler) as opened:
        chosen = job.choose(fitted, next, hold_out, opened.map)
    job.write(fitted, chosen, also or [])
    _say_next(console, job, chosen, fitted, next)


@dataclass
class _Job:
    items: ItemSet
    classes: list[str]
    out: Path
    console: Any

    # --- labels ----------------------------------------------------------------------------------------

    def read_labels(self, files: Sequence[Path], rule: Rule | None) -> dict[str, dict[int, int]]:
        """Labels by who gave them: of the files given, and those filled in since the last run."""
        from infonn.formats.labels import joined_labels, read_labels

        own = self.out / "next.csv"
        earlier = self.out / "labels.csv"
        parts = {str(path): read_labels(path, self.items.names, self.classes) for path in dict.fromkeys(files)}
        if parts:
            joined_labels(parts, self.items.names, self.classes, self._rule(parts, rule))
        votes = {Path(path).stem: part for path, part in parts.items()}
        if len(votes) < len(parts):
            votes = dict(parts)
        if rule is Rule.last and parts:  # whoever is named last is right: nobody else said anything
            votes = {"imported": joined_labels(parts, self.items.names, self.classes, "last")}
        if earlier.is_file() and not self._database.exists():  # of an earlier version, which kept labels there
            votes.setdefault(_user(), {}).update(read_labels(earlier, self.items.names, self.classes))
        if own.is_file():
            votes.setdefault(_user(), {}).update(read_labels(own, self.items.names, self.classes))
        self.resolve = "dawid_skene" if rule is Rule.dawid_skene else "majority"
        return votes

    def _rule(self, parts: dict[str, dict[int, int]], rule: Rule | None) -> str | None:
        """The rule given; a person at a terminal is asked for one where it is needed."""
        from infonn.errors import DataError
        from infonn.formats.labels import joined_labels

        if rule is not None or not sys.stdin.isatty():
            return None if rule is None else rule.value
        try:
            joined_labels(parts, self.items.names, self.classes)
        except DataError as error:
            self.console.print(str(error), markup=False)
            return str(typer.prompt("Rule", type=Rule, default=Rule.majority.value))
        return None

    @property
    def _database(self) -> Path:
        return self.out / "study.db"

    def open(self, features: Path | None, strategy: str, model: str | None, hold_out: float, seed: int) -> None:
        """The study in its folder, new or as it was left."""
        from infonn.specs.build import open_live_storage, start_study

        table = self.items.features
        spec: dict[str, Any] = {
            "study": {"name": STUDY, "task": "labels", "seed": seed},
            "queries": {"classes": self.classes, "first": 0},
            "strategy": {"name": strategy},
            "people": {"hold_out": hold_out, "resolve": self.resolve},
        }
        if model is not None:
            spec["learner"] = {"name": "own_model", "model": model}
        if table is not None and features is not None and features.suffix == ".npy" and table.size > LARGE:
            spec["items"] = {"mapped": str(features.resolve())}
        if self.items.folder is not None and any(item.image for item in self.items.items):
            spec.setdefault("items", {})["pictures"] = str(self.items.folder.resolve())
        exists = self._database.exists()
        read = self.items if table is not None or exists else self._with_pixels(spec)
        self.out.mkdir(parents=True, exist_ok=True)
        storage = open_live_storage(f"sqlite:///{self._database.resolve()}")
        if exists and STUDY in {record.name for record in storage.studies()}:
            kept = storage.study(STUDY).spec
            spec["people"] = kept["people"]
            spec["items"] = kept.get("items", {})
            spec["learner"] = spec.get("learner", kept["learner"])
            if self.resolve != kept["people"].get("resolve", "majority"):
                storage.change_study(STUDY, {"people": {"resolve": self.resolve}})
                spec["people"] = {**kept["people"], "resolve": self.resolve}
        try:
            self.study: Study = start_study(spec, read, storage, load_if_exists=True)
        except BaseException:
            if not exists:
                for ending in ("", "-wal", "-shm"):
                    self._database.with_name(self._database.name + ending).unlink(missing_ok=True)
            raise
        self.storage = storage

    def _with_pixels(self, spec: dict[str, Any]) -> ItemSet:
        """The items with their pixels as features, and a word about better ones."""
        from infonn.datasets.images import pixel_features, read_pictures
        from infonn.datasets.items import ItemSet
        from infonn.errors import DataError

        if any(item.image is None for item in self.items.items) or self.items.folder is None:
            raise DataError("These items have neither features nor pictures. Give --features, one row per item.")
        self.console.print(
            "[yellow]No --features: using the pixels. Features of a trained network (CLIP, DINO) need far fewer "
            "labels.[/yellow]"
        )
        pixels = pixel_features(read_pictures([self.items.folder / str(item.image) for item in self.items.items]))
        if "learner" not in spec:  # principal components keep their sizes
            spec["learner"] = {"name": "bayes_logistic", "scale": False}
        return ItemSet(self.items.items, pixels, self.items.folder)

    def keep(self, votes: dict[str, dict[int, int]]) -> int:
        """Tell the study every label that it does not have yet; one that was changed takes the place of the old."""
        known = {
            (pair.question.query[0], pair.answer.respondent): pair
            for pair in self.storage.answers(STUDY, None)
            if pair.answer.outcome == "answered"
        }
        waiting = {question.query[0]: question for question in self.storage.questions(STUDY, "open")}
        n_new = 0
        for person, labels in votes.items():
            for item, label in labels.items():
                earlier = known.get((item, person))
                if earlier is not None and earlier.answer.response == label:
                    continue
                n_new += 1
                if earlier is not None:
                    self.storage.undo(STUDY, earlier.answer.id)
                    self.study.tell(earlier.question, label, respondent=person)
                    continue
                question = waiting.pop(item, None) or self._question(item, "imported", "train", person)
                self.study.tell(question, label, respondent=person)
        return n_new

    def _question(self, item: int, used: str, purpose: Any, person: str = "") -> Question:
        """A question about an item, stored."""
        import numpy as np

        digest = np.frombuffer(person.encode() or b"-", np.uint8).tolist()
        rng = np.random.default_rng([self.study.seed, item, *digest])
        query = np.full(1 + self.study.candidates, -1, np.int32)
        query[0] = item
        question = self.study.make_question(query, used, rng, purpose, prefix=f"{item}-")
        self.storage.add_questions(STUDY, [question])
        return question

    def note_round(self, fitted: LabelFit) -> None:
        """What this run measured, for the curve that `infonn serve` shows."""
        import time

        from infonn.records import Round

        rounds = self.storage.rounds(STUDY)
        self.storage.add_round(
            STUDY, Round(len(rounds), len(fitted.train), {**fitted.measures(), "at": time.time()}, 0.0)
        )

    # --- choice ----------------------------------------------------------------------------------------

    def choose(self, fitted: LabelFit, size: int, share: float, map: Any) -> list[Question]:
        """Hold-out items that are due, drawn at random, then those that the strategy chooses."""
        import numpy as np

        from infonn.loop import SELECT, live_rng
        from infonn.maths.holdout import hold_out_due
        from infonn.queries import padded_queries

        answered = self.storage.answers(STUDY, None)
        open_ = self.storage.questions(STUDY, "open")
        waiting = [question for question in open_ if question.purpose == "hold_out"]
        n_held = sum(pair.question.purpose == "hold_out" for pair in answered)
        due = hold_out_due(len(answered), n_held, size, share) if size else 0
        asked = padded_queries(
            [pair.question.query for pair in answered] + [question.query for question in waiting], self.study.candidates
        )
        drawing = live_rng(self.study.seed, SELECT, n_held + len(waiting), 1)
        rng = live_rng(self.study.seed, SELECT, len(answered), 2)  # the same as long as nothing is answered
        for query in self.study.loop.random_queries(max(0, due - len(waiting)), asked, drawing):
            waiting.append(self._question(int(query[0]), "random", "hold_out"))
        asked = padded_queries(
            [pair.question.query for pair in answered] + [question.query for question in waiting], self.study.candidates
        )
        held = waiting[:due]
        queries: IntArray = np.empty((0, 1), np.int32)
        if size > len(held):
            belief, loop = self._belief(fitted), self._loop(fitted)
            queries, _ = loop.choose(belief, fitted.train, asked, size - len(held), rng, map)
        examples = self.study.task.examples(fitted.belief, fitted.learned)
        chosen = [
            self.study.make_question(query, self.study.strategy_name, rng, prefix=f"{query[0]}-", examples=examples)
            for query in queries
        ]
        self.storage.replace_open(STUDY, chosen)
        return [*held, *chosen]

    def _belief(self, fitted: LabelFit) -> Any:
        """What chooses does not know the hold-out: else it would ask for nothing near it, and test itself badly."""
        from infonn.loop import cold_rng

        if len(fitted.train) == len(fitted.learned):
            return fitted.belief
        return self.study.loop.fit(fitted.train, cold_rng(self.study.seed, len(fitted.train)))

    def _loop(self, fitted: LabelFit) -> Any:
        """The study's loop; with labels of fewer than two classes typical items come first, whatever the strategy."""
        from dataclasses import replace

        if len(set(fitted.train.responses.tolist())) > 1:
            return self.study.loop
        from infonn.selection.class_strategies import typicality

        return replace(self.study.loop, strategy=typicality())

    # --- files -----------------------------------------------------------------------------------------

    def write(self, fitted: LabelFit, chosen: Sequence[Question], also: Sequence[Extra]) -> None:
        from infonn.formats.csv import csv_text
        from infonn.formats.labels import write_table
        from infonn.live.label_files import LABEL_COLUMNS, Predictions, label_rows, model_file

        found = Predictions.of_fit(self.items.names, fitted)
        everything = self.storage.answers(STUDY, None, everything=True)
        rows = label_rows(everything, fitted.labels, set())
        _write(self.out / "labels.csv", csv_text(LABEL_COLUMNS, rows).encode())
        told = fitted.knows_two_classes
        guesses = {row[0]: row[2:4] for row in found.rows(question.query[0] for question in chosen)} if told else {}
        held = {question.id for question in chosen if question.purpose == "hold_out"}
        write_table(
            self.out / "next.csv",
            ["item", "label", "prediction", "confidence"],
            [[q.names[0], "", *(guesses.get(q.names[0], ("", "")) if q.id not in held else ("", ""))] for q in chosen],
        )
        self.guesses = {
            name: guess for name, guess in guesses.items() if name not in {q.names[0] for q in chosen if q.id in held}
        }
        if not told:
            (self.out / "predictions.csv").unlink(missing_ok=True)
        else:
            _write(self.out / "predictions.csv", found.csv())
            if Extra.parquet in also:
                _write(self.out / "predictions.parquet", found.parquet())
            if Extra.model in also:
                data, ending = model_file(fitted)
                _write(self.out / f"model{ending}", data)
            if Extra.folders in also:
                self._write_folders(found)
        self.sheet = self._draw(chosen, fitted) if chosen else None

    def _write_folders(self, found: Any) -> None:
        """by_class/CLASS/picture, made anew."""
        import shutil

        from infonn.live.label_files import paths_by_class
        from infonn.live.pictures import open_inside

        target = self.out / "by_class"
        shutil.rmtree(target, ignore_errors=True)
        for path, item in paths_by_class(self.items.items, found):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            with (
                open_inside(self.items.folder or Path(), str(item.image)) as source,
                (target / path).open("wb") as copy,
            ):
                shutil.copyfileobj(source, copy)

    def _draw(self, chosen: Sequence[Question], fitted: LabelFit) -> Path:
        """next.png: the chosen items, each with the nearest labelled item of the nearest classes."""
        from infonn.plots.look import style
        from infonn.plots.sheets import draw_sheet

        labels, rows = fitted.labels, []
        for question in chosen[:60]:
            name = question.names[0]
            says = name + (f": {self.guesses[name][0]}?" if name in self.guesses else "")
            near = [self._card(n, self.classes[labels[n]]) for n in question.query[1:] if n in labels]
            rows.append((self._card(question.query[0], says), near))
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


def _user() -> str:
    """Who labels at this shell."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "me"


def _write(path: Path, data: bytes) -> None:
    """In one step: readers see the old file or the new one."""
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(data)
    beside.replace(path)


# --- what is said ------------------------------------------------------------------------------------------


def _say_labels(console: Any, fitted: LabelFit) -> None:
    import numpy as np

    labels = fitted.labels
    if not labels:
        console.print("No labels yet: the first items are typical ones of different kinds, and some drawn at random.")
        return
    counts = np.bincount(list(labels.values()), minlength=len(fitted.classes))
    said = ", ".join(f"{name} {n}" for name, n in zip(fitted.classes, counts))
    console.print(f"{len(labels)} labels: {said}.", markup=False)
    never = [name for name, n in zip(fitted.classes, counts) if not n]
    if never and len(labels) >= 10:
        console.print(f"No label yet for {', '.join(never)}: what was never seen is never predicted.", markup=False)


def _say_accuracy(console: Any, study: Study, fitted: LabelFit) -> None:
    if not fitted.labels:
        return
    if not fitted.knows_two_classes:
        console.print("All labels are of one class: nothing is predicted before two classes have one.")
        return
    console.print(str(fitted.accuracy), markup=False)
    from infonn.findings import gain_sentences
    from infonn.live.label_fits import label_forecast

    ahead = label_forecast(study, fitted)
    if ahead is not None:
        for sentence in gain_sentences(ahead.gain):
            console.print(sentence.replace("answers", "labels"), markup=False)


def _say_next(console: Any, job: _Job, chosen: Sequence[Question], fitted: LabelFit, wanted: int) -> None:
    from rich.markup import escape
    from rich.table import Table

    if not chosen:
        if wanted:
            console.print("Every item has a label; there is nothing to choose.")
        return
    if len(chosen) < wanted:
        console.print(f"Only {len(chosen)} items are left without a label; all of them are below.")
    rule = job.study.strategy_name if fitted.knows_two_classes else "typicality"
    table = Table(f"label next ({rule})", "prediction", "confidence", box=None, padding=(0, 2, 0, 0))
    for question in chosen:
        guess = job.guesses.get(question.names[0], ("", ""))
        drawn = "drawn at random" if question.purpose == "hold_out" else str(guess[0])
        table.add_row(*map(escape, (question.names[0], drawn, str(guess[1]))))  # names may hold brackets
    console.print(table)
    if job.sheet is not None:
        console.print(f"Pictures and their nearest labelled items: [bold]{escape(str(job.sheet))}[/bold]")
    console.print(f"Fill in the column label of [bold]{escape(str(job.out / 'next.csv'))}[/bold] and run this again.")
