"""`infonn label-studio`: a model behind a Label Studio project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("label-studio", rich_help_panel="Label")(label_studio)


def label_studio(
    items: Annotated[Path, typer.Option(help="A folder of pictures, or a CSV file with a column `name`.")],
    features: Annotated[Path | None, typer.Option(help="A .npy file, one row per item in order of name.")] = None,
    strategy: Annotated[str, typer.Option(help="How to choose; `infonn strategies` names them.")] = "info_nn",
    labels: Annotated[Path, typer.Option(help="CSV with `item` and `label`; read at the start and kept up.")] = Path(
        "labelling/labels.csv"
    ),
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 9090,
    server: Annotated[str, typer.Option(help="Address of Label Studio, to have it sort again by itself.")] = "",
    token: Annotated[str, typer.Option(envvar="LABEL_STUDIO_API_KEY", help="Your access token there.")] = "",
    every: Annotated[int, typer.Option(help="Sort again after this many labels.", min=1)] = 5,
    seed: Annotated[int, typer.Option(help="Same seed and labels, same order.", min=0)] = 0,
) -> None:
    """Serve the ML backend of a Label Studio project: tasks are sorted by what their label would tell.

    Connect it in the project's settings under Model, with the address that is printed. The classes are those of the
    project's <Choices>. With --server and --token Label Studio fetches predictions anew as people label; without,
    use "Retrieve predictions" there.
    """
    import uvicorn

    from infonn.adapters.label_studio import Labelling, Server, create_app
    from infonn.datasets.items import load_items
    from infonn.specs.registry import CLASS_STRATEGIES, load_part

    load_part("Strategy", CLASS_STRATEGIES, strategy)  # a wrong name shows now
    labelling = Labelling(load_items(items, features), labels, strategy, seed)
    typer.echo(f"{len(labelling.items)} items. Connect Label Studio to http://{host}:{port}")
    studio = Server(server, token, every) if server and token else None
    uvicorn.run(create_app(labelling, studio), host=host, port=port, log_level="warning")
