"""`infonn study`, `infonn storage` and `infonn token`: what the server offers, from the shell."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from infonn.cli.serve import PANEL, STORAGE, Storage

study_app = typer.Typer(no_args_is_help=True, help="Create, look at, export and import studies that people answer.")
storage_app = typer.Typer(no_args_is_help=True, help="Upgrade or back up a storage.")
token_app = typer.Typer(no_args_is_help=True, help="The owner token of a storage.")


class ExportFormat(StrEnum):
    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"
    salmon = "salmon"
    next = "next"
    cblearn = "cblearn"
    embedding = "embedding"
    bundle = "bundle"


class ImportFormat(StrEnum):
    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"
    salmon = "salmon"
    next = "next"
    cblearn = "cblearn"
    bundle = "bundle"


def register(app: typer.Typer) -> None:
    for name, group in (("study", study_app), ("storage", storage_app), ("token", token_app)):
        app.add_typer(group, name=name, rich_help_panel=PANEL)


Name = Annotated[str, typer.Argument(help="The study's name.")]


@study_app.command()
def create(
    items: Annotated[Path, typer.Argument(help="items.csv with a column `name`, or a folder of images.")],
    name: Annotated[str | None, typer.Option(help="What to call the study [default: as in the settings].")] = None,
    settings: Annotated[Path | None, typer.Option(help="A study.toml with more settings.")] = None,
    features: Annotated[Path | None, typer.Option(help="A .npy file, one row per item.")] = None,
    candidates: Annotated[int | None, typer.Option(help="Candidates in a question.", min=2)] = None,
    answers: Annotated[int | None, typer.Option(help="Answers the study is meant to have.", min=1)] = None,
    at_random: Annotated[
        float | None,
        typer.Option(help="Share of random questions among those that train, to compare.", min=0.0, max=1.0),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0)] = None,
    storage: Storage = STORAGE,
    public_url: Annotated[str, typer.Option(help="How people reach the server.")] = "http://127.0.0.1:8000",
) -> None:
    """Create a study that people answer, and show its participants' link."""
    from infonn.live.transfer import put_study
    from infonn.live.uploads import items_in
    from infonn.specs.build import open_live_storage
    from infonn.specs.settings import read_spec

    spec = read_spec(settings) if settings is not None else {}
    given = {
        ("study", "name"): name,
        ("queries", "candidates"): candidates,
        ("budget", "answers"): answers,
        ("people", "at_random"): at_random,
        ("study", "seed"): seed,
    }
    for (table, key), value in given.items():
        if value is not None:
            spec.setdefault(table, {})[key] = value
    read, files = items_in(items, features)
    record = put_study(open_live_storage(storage), spec, read, files)
    typer.echo(f'Study "{record.name}" of {len(read)} items.')
    typer.echo(f"Participants: {public_url.rstrip('/')}/s/{record.key}")


@study_app.command("list")
def list_studies(storage: Storage = STORAGE) -> None:
    """All studies of a storage."""
    from infonn.specs.build import open_live_storage

    opened = open_live_storage(storage)
    for record in opened.studies():
        counts = opened.counts(record.name)
        state = "ended" if record.archived else "open"
        typer.echo(
            f"{record.name}\t{state}\t{counts.answered['train']} answers\t{counts.people} people\t/s/{record.key}"
        )


@study_app.command()
def status(name: Name, storage: Storage = STORAGE) -> None:
    """Where a study stands."""
    from infonn.live.status import study_status
    from infonn.specs.build import open_live_storage

    opened = open_live_storage(storage)
    shown = study_status(opened, opened.study(name)).model_dump()
    for key, value in shown.items():
        if key not in ("warnings", "error"):
            typer.echo(f"{key}: {json.dumps(value)}")
    for warning in shown["warnings"]:
        typer.secho(warning, fg="yellow", err=True)
    if shown["error"]:
        typer.secho(shown["error"], fg="red", err=True)


@study_app.command()
def export(
    name: Name,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; the terminal without.")] = None,
    format: Annotated[ExportFormat, typer.Option("--format", "-f")] = ExportFormat.csv,
    storage: Storage = STORAGE,
) -> None:
    """Write a study's answers, its embedding (a fresh fit of all answers), or all of it as one file."""
    from infonn.errors import DataError
    from infonn.formats import bundle
    from infonn.live.transfer import bundle_of, exported
    from infonn.specs.build import load_study, open_live_storage

    opened = open_live_storage(storage)
    record = opened.study(name)
    if format is ExportFormat.embedding:
        data = load_study(opened, name).embedding().to_csv().encode()
    elif format is ExportFormat.bundle:
        data = bundle.write(bundle_of(opened, record))
    else:
        data, _, _ = exported(opened, record, format.value)
    if out is not None:
        out.write_bytes(data)
        typer.echo(f"Wrote {out} ({len(data):,} bytes).", err=True)
    elif format in (ExportFormat.parquet, ExportFormat.cblearn, ExportFormat.bundle) and sys.stdout.isatty():
        raise DataError(f"{format.value} is no text for a terminal. Name a file with --out.")
    else:
        sys.stdout.buffer.write(data)


@study_app.command("import")
def import_file(
    file: Annotated[
        Path, typer.Argument(help="Answers, or a whole study (--format bundle).", exists=True, dir_okay=False)
    ],
    name: Annotated[str | None, typer.Option(help="The study; for a bundle, what to call it here.")] = None,
    format: Annotated[ImportFormat | None, typer.Option("--format", "-f", help="By default from the ending.")] = None,
    storage: Storage = STORAGE,
) -> None:
    """Read earlier answers into a study, or a whole study from one file."""
    from infonn.errors import DataError
    from infonn.live.transfer import imported, restored
    from infonn.specs.build import open_live_storage

    endings = {".zip": "bundle", ".jsonl": "jsonl", ".npz": "cblearn", ".parquet": "parquet"}
    chosen = format.value if format is not None else endings.get(file.suffix.lower(), "csv")
    opened = open_live_storage(storage)
    if chosen == "bundle":
        record = restored(opened, file.read_bytes(), name)
        typer.echo(f'Study "{record.name}" with {opened.revision(record.name)[0]} answers: /s/{record.key}')
        return
    if name is None:
        raise DataError("Say which study the answers belong to: --name NAME.")
    n_read, n_new = imported(opened, opened.study(name), file.read_bytes(), chosen)
    typer.echo(f"{n_new} answers imported; {n_read - n_new} were there already.")


@study_app.command()
def archive(
    name: Name,
    reopen: Annotated[bool, typer.Option("--reopen", help="Open it again.")] = False,
    storage: Storage = STORAGE,
) -> None:
    """End a study: nobody is asked any more, and everything stays."""
    from infonn.specs.build import open_live_storage

    open_live_storage(storage).change_study(name, archived=not reopen)
    typer.echo(f'Study "{name}" is {"open again" if reopen else "ended"}.')


@storage_app.command()
def upgrade(storage: Annotated[str, typer.Argument(help="The storage's URL.")] = STORAGE) -> None:
    """Bring a storage to the tables of this version."""
    from infonn.storage.upgrade import upgrade as run

    before, after = run(storage)
    typer.echo(f"The storage is at schema {after}" + ("." if before in (None, after) else f" (before: {before})."))


@storage_app.command()
def backup(
    target: Annotated[Path, typer.Argument(help="File to write; it must not exist.")],
    storage: Storage = STORAGE,
) -> None:
    """Copy a storage while it is in use."""
    from infonn.storage.upgrade import backup as run

    run(storage, target)
    typer.echo(f"Wrote {target} ({target.stat().st_size:,} bytes).")


@token_app.command()
def reset(storage: Storage = STORAGE) -> None:
    """Make a new owner token; the old one ends at once."""
    from infonn.specs.build import open_live_storage
    from infonn.web.security import reset_owner_token

    token = reset_owner_token(open_live_storage(storage))
    typer.echo("The new owner token, shown this once:", err=True)
    typer.echo(token)
