"""`infonn study ...`: what came of a study. Reliability, dimensions, maps by group, a report, and who is left out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infonn.cli.serve import STORAGE, Storage
from infonn.cli.study import Name, _existing, _user, study_app

if TYPE_CHECKING:
    from infonn.analysis.groups import GroupMaps

Splits = Annotated[int, typer.Option(help="Splits into halves; each takes two fits.", min=1, max=100)]


def register(app: typer.Typer) -> None:
    """The commands join those of `infonn study`."""
    for command in (reliability, dims, maps, report, exclude):
        study_app.command()(command)


def reliability(name: Name, splits: Splits = 5, storage: Storage = STORAGE) -> None:
    """How far a study can be trusted: agreement, noise ceiling, Krippendorff's alpha, split halves of the map."""
    from infonn.specs.build import load_study

    typer.echo(str(load_study(_existing(storage), name).reliability(splits)))


def dims(
    name: Name,
    most: Annotated[int, typer.Option(help="Try 1 to so many dimensions.", min=1, max=50)] = 6,
    folds: Annotated[int, typer.Option(help="Parts that are held out in turn.", min=2, max=50)] = 5,
    storage: Storage = STORAGE,
) -> None:
    """How many dimensions the map needs, by how well held-out answers are foreseen."""
    from infonn.cli.progress import counting
    from infonn.specs.build import load_study

    study = load_study(_existing(storage), name)
    with counting("fits") as watch:
        found = study.choose_dims(range(1, most + 1), folds, watch)
    typer.echo(str(found))


def maps(
    name: Name,
    by: Annotated[
        str, typer.Option(help='"respondent", or a key of the answers\' context, such as "condition".')
    ] = "respondent",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV to write; the terminal without.")] = None,
    storage: Storage = STORAGE,
) -> None:
    """A map for each person or condition, laid on the map of all, and how far they lie apart."""
    from infonn.specs.build import load_study

    found: GroupMaps = load_study(_existing(storage), name).maps(by)
    text = found.to_pandas().to_csv(index=False)
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text, encoding="utf-8")
        typer.echo(f"Wrote {out}: {len(found.groups)} maps.", err=True)
    typer.echo(found.sentence, err=True)


def report(
    name: Name,
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path("report.html"),
    by: Annotated[str | None, typer.Option(help='Add maps by "respondent" or a key such as "condition".')] = None,
    splits: Splits = 5,
    storage: Storage = STORAGE,
) -> None:
    """Write a report to read and print: summary, map, curve, reliability, people, methods, how to cite.

    The map and the reliability are fitted anew from the stored answers.
    """
    from importlib.resources import files

    import numpy as np

    from infonn.arrays import to_numpy
    from infonn.live.report import study_report
    from infonn.maths.prediction import plane_of, spread_of
    from infonn.plots.study_report import report_html
    from infonn.specs.build import load_study

    opened = _existing(storage)
    study = load_study(opened, name)
    plane = None
    if len(study.answers()):
        belief = study.belief()
        embedding = to_numpy(belief.embedding).astype(float)
        draws = belief.draws_of(np.arange(len(embedding)))
        spread = None if draws is None else spread_of(to_numpy(draws).astype(float), embedding)
        plane = plane_of(embedding), spread
    told = study_report(
        opened,
        opened.study(name),
        embedding_plane=plane,
        reliability=study.reliability(splits),
        maps=None if by is None else study.maps(by),
    )
    css = files("infonn.web").joinpath("static/owner/report.css").read_text(encoding="utf-8")
    out.write_text(report_html(told, f"<style>\n{css}</style>"), encoding="utf-8")
    typer.echo(f"Wrote {out}. Open it in a browser; its print is a PDF.", err=True)


def exclude(
    name: Name,
    person: Annotated[str, typer.Argument(help='The person\'s name in the study, such as "p-1f0c22ab93de".')],
    why: Annotated[str, typer.Option(help="Kept in the audit log, and told in the table of people.")] = "",
    back: Annotated[bool, typer.Option("--back", help="Take the person in again.")] = False,
    storage: Storage = STORAGE,
) -> None:
    """Leave a person's answers out of the model; nothing is deleted, and they can come back."""
    from infonn.errors import StudyError
    from infonn.live.results import EXCLUDE

    opened = _existing(storage)
    if person not in {known.name for known in opened.respondents(opened.study(name).name)}:
        raise StudyError(f'"{person}" has not taken part in study "{name}".')
    opened.exclude(name, person, not back)
    opened.add_act(_user(), EXCLUDE, name, {"respondent": person, "excluded": not back, "why": why})
    typer.echo(f'"{person}" is {"in again" if back else "left out"}; the worker fits the model again.')
