"""`infonn study`, `infonn storage` and `infonn token`: what the server offers, from the shell."""

from __future__ import annotations

import getpass
import json
import sys
import time
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infonn.cli.serve import PANEL, STORAGE, Storage
from infonn.formats.named import ANSWERS, READ, WRITTEN, format_of_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from infonn.contracts.storage import LiveStorage
    from infonn.records import ItemFile, StudyRecord

study_app = typer.Typer(no_args_is_help=True, help="Create, look at, export and import studies that people answer.")
storage_app = typer.Typer(no_args_is_help=True, help="Upgrade, back up or restore a storage; its secret and its log.")
token_app = typer.Typer(no_args_is_help=True, help="Keys to the owners' pages: for each person one, with a role.")


ExportFormat = StrEnum("ExportFormat", [*WRITTEN, "people", "reliability", "embedding", "bundle"])  # type: ignore[misc]
ImportFormat = StrEnum("ImportFormat", [*READ, "bundle"])  # type: ignore[misc]
CSV = ExportFormat("csv")


class QuestionKind(StrEnum):
    nearest = "nearest"
    ranking = "ranking"
    odd_one_out = "odd_one_out"


class Role(StrEnum):
    owner = "owner"
    reader = "reader"


_OF_LABELS = ("labels", "predictions", "predictions_parquet", "model", "folders")
_NO_TEXT = ("bundle", "predictions_parquet", "model", "folders")


def register(app: typer.Typer) -> None:
    for name, group in (("study", study_app), ("storage", storage_app), ("token", token_app)):
        app.add_typer(group, name=name, rich_help_panel=PANEL)


Name = Annotated[str, typer.Argument(help="The study's name.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask whether this is meant.")]


def _existing(url: str) -> LiveStorage:
    """A storage that is there: a mistyped name is said, and makes no file."""
    from infonn.errors import StorageError
    from infonn.specs.build import open_live_storage
    from infonn.storage.database import normal_url

    if url.startswith("sqlite") and not Path(str(normal_url(url).database)).exists():
        raise StorageError(f"There is no storage at {url}. `infonn study create` and `infonn serve` make one.")
    return open_live_storage(url)


def _user() -> str:
    """Who is at the shell, for the audit log."""
    try:
        return f"shell: {getpass.getuser()}"
    except (KeyError, OSError):
        return "shell"


@study_app.command()
def create(
    items: Annotated[Path | None, typer.Argument(help="items.csv with a column `name`, or a folder of images.")] = None,
    pictures: Annotated[
        Path | None, typer.Option(help="A folder whose pictures stay where they are, and are served from there.")
    ] = None,
    classes: Annotated[str | None, typer.Option(help="Ask for labels: the classes, with commas.")] = None,
    model: Annotated[str | None, typer.Option(help="Your own classifier for labels, as module:Class.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call the study [default: as in the settings].")] = None,
    settings: Annotated[Path | None, typer.Option(help="A study.toml with more settings.")] = None,
    features: Annotated[Path | None, typer.Option(help="A .npy or .parquet file, one row per item.")] = None,
    kind: Annotated[
        QuestionKind | None, typer.Option(help="What is asked: the nearest, a ranking, or the odd one of three.")
    ] = None,
    candidates: Annotated[int | None, typer.Option(help="Candidates in a question.", min=2)] = None,
    answers: Annotated[int | None, typer.Option(help="Answers the study is meant to have.", min=1)] = None,
    at_random: Annotated[
        float | None,
        typer.Option(help="Share of random questions among those that train, to compare.", min=0.0, max=1.0),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0)] = None,
    media: Annotated[
        Path | None, typer.Option(help="A folder of pictures, sounds and videos that the texts show.", file_okay=False)
    ] = None,
    storage: Storage = STORAGE,
    public_url: Annotated[
        str, typer.Option("--url", "--public-url", help="How people reach the server [default: as it was started].")
    ] = "",
) -> None:
    """Create a study that people answer, and show its participants' link."""
    from infonn.errors import DataError
    from infonn.live.transfer import put_study
    from infonn.live.uploads import items_in, items_in_place, text_media
    from infonn.specs.build import open_live_storage
    from infonn.specs.settings import read_spec

    spec = read_spec(settings) if settings is not None else {}
    given = {
        ("study", "name"): name,
        ("queries", "kind"): None if kind is None else kind.value,
        ("queries", "candidates"): candidates,
        ("budget", "answers"): answers,
        ("people", "at_random"): at_random,
        ("study", "seed"): seed,
    }
    for (table, key), value in given.items():
        if value is not None:
            spec.setdefault(table, {})[key] = value
    if classes is not None:
        spec.setdefault("study", {})["task"] = "labels"
        spec.setdefault("queries", {})["classes"] = [label.strip() for label in classes.split(",")]
    if model is not None:
        spec["learner"] = {"name": "own_model", "model": model}
    files: list[ItemFile] = []
    if pictures is not None:
        read = items_in_place(pictures, items, features)
        spec["items"] = {"pictures": str(pictures.resolve())}
        if features is not None and features.suffix.lower() == ".npy":
            spec["items"]["mapped"] = str(features.resolve())
    elif items is None:
        raise DataError("Say what to ask about: items.csv, a folder of images, or --pictures FOLDER.")
    else:
        read, files = items_in(items, features)
    if media is not None:
        files += text_media([(file.name, file.read_bytes()) for file in sorted(media.iterdir()) if file.is_file()])
    opened = open_live_storage(storage)
    record = put_study(opened, spec, read, files)
    typer.echo(f'Study "{record.name}" of {len(read)} items.')
    _show_link(opened, record, public_url)


def _show_link(storage: LiveStorage, record: StudyRecord, said: str = "") -> None:
    """The participants' link, as the server that uses this storage was started last."""
    from infonn.live.addresses import SETTING

    known = said or storage.setting(SETTING)
    link = f"{(known or '').rstrip('/')}/s/{record.key}"
    typer.echo(f"Participants: {link}" if known else f"Participants: {link} on the server, once `infonn serve` runs.")
    for condition in record.spec.get("people", {}).get("conditions", []):
        typer.echo(f"Condition {condition['name']}: {link}?condition={condition['name']}")


@study_app.command("list")
def list_studies(storage: Storage = STORAGE) -> None:
    """All studies of a storage."""
    opened = _existing(storage)
    for record in opened.studies():
        counts = opened.counts(record.name)
        state = "ended" if record.archived else "paused" if record.paused else "open"
        typer.echo(
            f"{record.name}\t{state}\t{counts.answered['train']} answers\t{counts.people} people\t/s/{record.key}"
        )


@study_app.command()
def status(name: Name, storage: Storage = STORAGE) -> None:
    """Where a study stands."""
    from infonn.live.results import date
    from infonn.live.status import study_status

    opened = _existing(storage)
    shown = study_status(opened, opened.study(name)).model_dump()
    for key, value in shown.items():
        if key not in ("warnings", "error"):
            typer.echo(f"{key}: {date(value) or 'never' if key.endswith('_at') else json.dumps(value)}")
    for warning in shown["warnings"]:
        typer.secho(warning, fg="yellow", err=True)
    if shown["error"]:
        typer.secho(shown["error"], fg="red", err=True)


@study_app.command()
def export(
    name: Name,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; the terminal without.")] = None,
    format: Annotated[ExportFormat, typer.Option("--format", "-f")] = CSV,  # type: ignore[valid-type]
    storage: Storage = STORAGE,
) -> None:
    """Write a study's answers, its people, its reliability, its embedding (a fresh fit), or all of it as one file.

    Of a study of labels also: labels (who, when), predictions (with probabilities), the model (skops, or weights of
    torch), and folders (a ZIP of the pictures by class).
    """
    from infonn.errors import DataError
    from infonn.formats import bundle
    from infonn.live.label_fits import fit_labels
    from infonn.live.results import people_csv, people_export
    from infonn.live.transfer import bundle_of, exported, exported_labels
    from infonn.specs.build import load_study

    opened = _existing(storage)
    record = opened.study(name)
    if format in _OF_LABELS:
        data, _, _ = exported_labels(opened, record, format, fit_labels(load_study(opened, name)))
    elif format == "people":
        data = people_csv(people_export(opened, record))
    elif format == "reliability":
        data = (json.dumps(load_study(opened, name).reliability().to_json(), indent=1) + "\n").encode()
    elif format == "embedding":
        study = load_study(opened, name)
        data = study.embedding().to_csv().encode()
        for sentence in study.findings().sentences:
            typer.echo(sentence, err=True)
    elif format == "bundle":
        data = bundle.write(bundle_of(opened, record))
    else:
        data, _, _ = exported(opened, record, format)
    if deleted := opened.deletions(name):
        n_answers = sum(deletion.answers for deletion in deleted)
        typer.echo(f"Without {n_answers} answers of {len(deleted)} people, whose data were deleted.", err=True)
    if out is not None:
        out.write_bytes(data)
        typer.echo(f"Wrote {out} ({len(data):,} bytes).", err=True)
    elif sys.stdout.isatty() and (format in _NO_TEXT or (format in ANSWERS and not ANSWERS[format].is_text)):
        raise DataError(f"{format} is no text for a terminal. Name a file with --out.")
    else:
        sys.stdout.buffer.write(data)


@study_app.command("import")
def import_file(
    file: Annotated[
        Path, typer.Argument(help="Answers, or a whole study (--format bundle).", exists=True, dir_okay=False)
    ],
    name: Annotated[str | None, typer.Option(help="The study; for a bundle, what to call it here.")] = None,
    format: Annotated[
        ImportFormat | None,  # type: ignore[valid-type]
        typer.Option("--format", "-f", help="By default from the ending."),
    ] = None,
    storage: Storage = STORAGE,
) -> None:
    """Read earlier answers into a study, or a whole study from one file."""
    from infonn.errors import DataError
    from infonn.live.transfer import imported, restored
    from infonn.specs.build import open_live_storage

    chosen = format or ("bundle" if file.suffix.lower() == ".zip" else format_of_file(file.suffix))
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
    opened = _existing(storage)
    opened.change_study(name, archived=not reopen)
    opened.add_act(_user(), "opened the study again" if reopen else "ended the study", name)
    typer.echo(f'Study "{name}" is {"open again" if reopen else "ended"}.')


@study_app.command()
def pause(name: Name, storage: Storage = STORAGE) -> None:
    """Let a study wait: nobody is asked until `infonn study resume`; what people answered is kept."""
    _set_paused(storage, name, True)


@study_app.command()
def resume(name: Name, storage: Storage = STORAGE) -> None:
    """Let a paused study go on."""
    _set_paused(storage, name, False)


def _set_paused(storage: str, name: str, paused: bool) -> None:
    opened = _existing(storage)
    opened.change_study(name, paused=paused)
    opened.add_act(_user(), "let the study pause" if paused else "let the study go on", name)
    typer.echo(f'Study "{name}" {"pauses" if paused else "goes on"}.')


@study_app.command()
def edit(
    name: Name,
    changes: Annotated[
        list[str],
        typer.Argument(help="KEY=VALUE of [people], budget.answers=VALUE, as in TOML; @FILE reads a text from a file."),
    ],
    storage: Storage = STORAGE,
) -> None:
    """Change a study that people answer: its texts, goal, limits and last day."""
    from infonn.contracts.storage import changed_spec
    from infonn.live.studies import servings_for
    from infonn.records import StudyRecord
    from infonn.specs.settings import check_settings

    opened = _existing(storage)
    record = opened.study(name)
    tables = _changes_of(changes)

    def change(spec: Mapping[str, Any]) -> Mapping[str, Any]:
        changed = changed_spec(spec, tables)
        check_settings(changed)
        servings_for(opened, StudyRecord(name, changed, record.seed))  # refuses what cannot be served
        return changed

    opened.change_study(name, change)
    opened.add_act(_user(), "changed the study", name, {"keys": [word.partition("=")[0] for word in changes]})
    typer.echo(f'Study "{name}" is changed: {", ".join(word.partition("=")[0] for word in changes)}.')


def _changes_of(words: list[str]) -> dict[str, dict[str, Any]]:
    """Words such as `per_person=40` as tables; what is no TOML value is text."""
    import tomllib

    from infonn.errors import DataError

    tables: dict[str, dict[str, Any]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        table, dot, inner = key.strip().rpartition(".")
        if not equals or (dot and table not in ("people", "budget")):
            raise DataError(
                f'A change is written KEY=VALUE, such as per_person=40 or budget.answers=600, not "{word}".'
            )
        if value.startswith("@"):
            given: Any = Path(value[1:]).read_text(encoding="utf-8")
        else:
            try:
                given = tomllib.loads(f"value = {value}")["value"]
            except tomllib.TOMLDecodeError:
                given = value
        tables.setdefault(table or "people", {})[inner] = given.isoformat() if isinstance(given, date) else given
    return tables


@study_app.command("copy")
def copy_study(
    name: Name,
    new_name: Annotated[str, typer.Argument(help="What to call the copy.")],
    storage: Storage = STORAGE,
) -> None:
    """A new study of the same items and settings, without people and answers."""
    from infonn.live.transfer import copied

    opened = _existing(storage)
    record = copied(opened, opened.study(name), new_name)
    opened.add_act(_user(), "copied the study", name, {"to": new_name})
    typer.echo(f'Study "{record.name}" is a copy of "{name}".')
    _show_link(opened, record)


@study_app.command()
def links(
    name: Name,
    people: Annotated[
        Path, typer.Argument(help="A CSV whose first column names people, or a name a line.", exists=True)
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV to write; the terminal without.")] = None,
    storage: Storage = STORAGE,
    public_url: Annotated[
        str, typer.Option("--url", "--public-url", help="How people reach the server [default: as it was started].")
    ] = "",
) -> None:
    """A link of their own for each person of a panel, as CSV: it leads back to their answers from any device."""
    import csv

    from infonn.live.addresses import SETTING
    from infonn.live.secrets import session_secret
    from infonn.web.security import Credentials

    opened = _existing(storage)
    known = public_url or opened.setting(SETTING) or "http://127.0.0.1:8000"
    with people.open(newline="", encoding="utf-8-sig") as file:
        named = [row[0].strip() for row in csv.reader(file) if row and row[0].strip()]
    if named[:1] in (["participant"], ["name"], ["id"]):
        named = named[1:]
    credentials, key = Credentials(opened, session_secret(storage, opened)), opened.study(name).key
    link = f"{known.rstrip('/')}/s/{key}"
    target = out.open("w", newline="", encoding="utf-8") if out is not None else sys.stdout
    writer = csv.writer(target)
    writer.writerow(["participant", "link"])
    writer.writerows((person, credentials.own_link(link, key, person)) for person in named)
    if out is not None:
        target.close()
        typer.echo(f"Wrote {out} ({len(named)} links).", err=True)


@study_app.command()
def delete(name: Name, yes: Yes = False, storage: Storage = STORAGE) -> None:
    """Delete a study with its items and answers, for good. To end one and keep everything: `infonn study archive`."""
    opened = _existing(storage)
    n_answers = opened.revision(opened.study(name).name)[0]
    if not yes:
        typer.confirm(f'Delete study "{name}" with {n_answers} answers for good?', abort=True)
    opened.delete_study(name)
    opened.add_act(_user(), "deleted the study", name, {"answers": n_answers})
    typer.echo(f'Study "{name}" and its {n_answers} answers are deleted. Backups still hold them.')


@study_app.command()
def forget(
    name: Name,
    person: Annotated[str, typer.Argument(help='The person\'s name in the study, such as "p-1f0c22ab93de".')],
    yes: Yes = False,
    storage: Storage = STORAGE,
) -> None:
    """Delete a person with all answers, for good; exports say so, and the model is fitted anew."""
    opened = _existing(storage)
    if not yes:
        typer.confirm(f'Delete "{person}" and all their answers in study "{name}" for good?', abort=True)
    n_answers = opened.delete_person(name, person)
    opened.add_act(_user(), "deleted a person", name, {"answers": n_answers})
    typer.echo(f'"{person}" and {n_answers} answers are deleted. Backups still hold them.')


@study_app.command()
def retention(
    name: Name,
    days: Annotated[float, typer.Option(help="Days after which it is forgotten who a person is; 0: never.", min=0.0)],
    storage: Storage = STORAGE,
) -> None:
    """Say how long it is kept who people are (platform ids, link parameters), once they were last seen."""
    opened = _existing(storage)
    opened.change_study(name, retention_days=days)
    opened.add_act(_user(), "set the retention time", name, {"days": days})
    n_people = opened.forget_expired().get(name, 0)
    kept = f"for {days:g} days after they were last seen" if days else "until somebody deletes it"
    typer.echo(f'Study "{name}" keeps who people are {kept}; {n_people} were forgotten now.')


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
    from infonn.storage.backups import backup as run

    run(storage, target)
    typer.echo(f"Wrote {target} ({target.stat().st_size:,} bytes).")


@storage_app.command()
def restore(
    copy: Annotated[Path, typer.Argument(help="A file that `infonn storage backup` wrote.")],
    storage: Storage = STORAGE,
) -> None:
    """Put a backup in the storage's place. Stop the server and its workers first."""
    from infonn.storage.backups import restore as run

    replaced = run(storage, copy)
    typer.echo(f"{storage} is as it was in {copy}.")
    if replaced is not None:
        typer.echo(f"What was there before is kept as {replaced}.")


@storage_app.command()
def secret(
    new: Annotated[bool, typer.Option("--new", help="Start with a new one: every session ends.")] = False,
    storage: Storage = STORAGE,
) -> None:
    """Where the secret is that sessions are signed with; an earlier version's is shown, for INFONN_SECRET."""
    from infonn.live.secrets import VARIABLE, new_secret, secret_file, stored_secret

    opened = _existing(storage)
    if new:
        file = new_secret(storage, opened)
        opened.add_act(_user(), "made a new secret")
        typer.echo(f"The secret is new, in {file}." if file else f"Give every server a new {VARIABLE}.")
    elif kept := stored_secret(opened):
        typer.echo(f"Set {VARIABLE} to this; the next start takes it out of the database:", err=True)
        typer.echo(kept)
    else:
        typer.echo(f"The secret is in {VARIABLE}, where that is set, else in {secret_file(storage) or 'no file'}.")


@storage_app.command()
def log(
    study: Annotated[str | None, typer.Option(help="Only what concerns this study.")] = None,
    storage: Storage = STORAGE,
) -> None:
    """The audit log: what owners did, and when."""
    opened, after = _existing(storage), 0
    while acts := opened.acts(study, after):
        for act in acts:
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(act.at))
            details = json.dumps(act.details) if act.details else ""
            typer.echo(f"{at}\t{act.who}\t{act.what}\t{act.study or ''}\t{details}")
        after = acts[-1].number


@token_app.command("new")
def new_token(
    person: Annotated[str, typer.Argument(help="Whom it is for.")],
    role: Annotated[Role, typer.Option(help="An owner may change things, a reader may look.")] = Role.owner,
    study: Annotated[str | None, typer.Option(help="The one study it is good for [default: all].")] = None,
    storage: Storage = STORAGE,
) -> None:
    """Make a token for a person."""
    from infonn.live.tokens import make_token

    opened = _existing(storage)
    text, token = make_token(opened, person, role.value, study)
    opened.add_act(_user(), "made a token", study, {"token": token.id, "person": person, "role": role.value})
    typer.echo(f"Token {token.id} for {person}, shown this once:", err=True)
    typer.echo(text)


@token_app.command("list")
def list_tokens(storage: Storage = STORAGE) -> None:
    """All tokens: for whom, for what, and whether they are in force. Their text is not kept."""
    for token in _existing(storage).tokens():
        made = time.strftime("%Y-%m-%d", time.gmtime(token.made_at))
        state = "in force" if token.revoked_at is None else "revoked"
        typer.echo(f"{token.id}\t{token.person}\t{token.role}\t{token.study or 'all studies'}\t{made}\t{state}")


@token_app.command()
def revoke(
    token: Annotated[str, typer.Argument(help="The token's id, as `infonn token list` shows it.")],
    storage: Storage = STORAGE,
) -> None:
    """End a token at once."""
    opened = _existing(storage)
    ended = opened.revoke_token(token)
    opened.add_act(_user(), "revoked a token", ended.study, {"token": token, "person": ended.person})
    typer.echo(f"Token {token} of {ended.person} has ended.")


@token_app.command()
def reset(storage: Storage = STORAGE) -> None:
    """Make a new owner token; the old one ends at once."""
    from infonn.specs.build import open_live_storage
    from infonn.web.security import reset_owner_token

    token = reset_owner_token(open_live_storage(storage))
    typer.echo("The new owner token, shown this once:", err=True)
    typer.echo(token)
