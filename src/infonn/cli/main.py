"""The `infonn` command. Each group of commands is a file beside this one; heavy imports wait inside the commands."""

from __future__ import annotations

import importlib
import os
import sys

import typer

from infonn.errors import InfonnError

app = typer.Typer(
    name="infonn",
    help="Learn what is similar to what, and what belongs to which class, from as few human answers as possible.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Each of these has `register(app)`: the groups, in the order in which `infonn --help` shows them.
GROUPS = [
    *("demo", "run", "compare", "parts"),
    *("serve", "study", "study_results", "features", "label", "label_studio", "plan"),
    *("reproduce", "report", "bench", "doctor"),
]

# module -> what to install of infonn
EXTRAS = {"torch": "deep", "psycopg": "postgres", "pyarrow": "parquet", "umap": "maps", "ipywidgets": "notebook"}

for _group in GROUPS:
    importlib.import_module(f"infonn.cli.{_group}").register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from infonn.cli.doctor import versions

        for name, found in versions():
            typer.echo(f"{name} {found}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", help="Show the versions that a bug report needs.", callback=_show_version, is_eager=True
    ),
) -> None:
    pass


def main() -> None:
    """Run the command; what infonn refuses is one sentence and exit status 2."""
    try:
        app()
    except (InfonnError, OSError, ModuleNotFoundError) as error:
        sentence = _sentence(error)
        if sentence is None or os.environ.get("INFONN_DEBUG"):
            raise
        typer.secho(sentence, fg="red", err=True)
        sys.exit(2)


def _sentence(error: Exception) -> str | None:
    """The sentence a person is shown; None for an error that only a developer can act on."""
    if isinstance(error, OSError):  # a folder that cannot be written, a full disk
        return None if error.filename is None else f"{error.filename}: {error.strerror}."
    if isinstance(error, ModuleNotFoundError):
        module = (error.name or "").partition(".")[0]
        return f'This needs {module}: pip install "infonn[{EXTRAS[module]}]".' if module in EXTRAS else None
    return str(error)
