"""`infonn features`: what a trained network sees in pictures, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Label")(features)


def features(
    model: Annotated[str, typer.Option(help="torchvision:resnet18, timm:NAME, open_clip:NAME, or module:Class.")],
    items: Annotated[Path, typer.Option(help="A folder of pictures, or a CSV file with a column `image`.")],
    out: Annotated[Path, typer.Option(help="The .npy file to write, one row per item in order of name.")] = Path(
        "features.npy"
    ),
    size: Annotated[int, typer.Option(help="Pictures are cut to squares of this many pixels.", min=8)] = 224,
    batch: Annotated[int, typer.Option(help="Pictures at a time.", min=1)] = 64,
    device: Annotated[str, typer.Option(help="cpu, cuda, or mps.")] = "cpu",
) -> None:
    """Write the features of pictures by any torch network; an interrupted run goes on where it ended.

    The file is memory-mapped: `infonn label --features features.npy` reads it, however many pictures there are.
    """
    import sys

    from rich.console import Console
    from rich.progress import Progress

    from infonn.adapters.torch_features import load_model, picture_features
    from infonn.datasets.items import load_items
    from infonn.errors import DataError

    sys.path.insert(0, "")  # so that module:Class may be a file in this folder
    found = load_items(items)
    if found.folder is None or any(item.image is None for item in found.items):
        raise DataError(f"Not every item of {items} has a picture; features are taken of pictures.")
    paths = [found.folder / str(item.image) for item in found.items]
    network = load_model(model)
    with Progress(console=Console(stderr=True)) as bar:
        job = bar.add_task("pictures", total=len(paths))
        table = picture_features(
            network,
            paths,
            out,
            name=model,
            size=size,
            batch=batch,
            device=device,
            progress=lambda done, total: bar.update(job, completed=done),
        )
    typer.echo(f"{out}: {table.shape[0]} pictures, {table.shape[1]} features each.")
