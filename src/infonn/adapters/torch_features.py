"""Features of pictures by any torch module, into a memory-mapped file; items of torch and Hugging Face datasets."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from infonn.arrays import FloatArray
from infonn.datasets.items import ItemSet
from infonn.errors import DataError, MissingPartError
from infonn.records import Item

# What networks trained on photographs expect: the mean and deviation of ImageNet's colours.
_MEAN, _DEVIATION = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)

# --- models ----------------------------------------------------------------------------------------


def load_model(name: str) -> torch.nn.Module:
    """The module that `name` stands for, without its classifier, ready to predict.

    "torchvision:resnet18", "timm:vit_small_patch14_dinov2", "open_clip:ViT-B-32" with their trained weights; or
    "package.module:Class", anything that makes a module when it is called.
    """
    where, _, what = name.partition(":")
    if not what:
        raise DataError(f'Model "{name}" has no colon. Examples: torchvision:resnet18, timm:resnet50, my_file:MyNet.')
    try:
        model = _NAMED[where](what) if where in _NAMED else getattr(importlib.import_module(where), what)()
    except ModuleNotFoundError as error:
        raise MissingPartError(f'Model "{name}" needs {error.name}, which is not installed.') from error
    except AttributeError as error:
        raise DataError(f'Model "{name}" is unknown: {error}.') from error
    if not isinstance(model, torch.nn.Module):
        raise DataError(f'"{name}" makes a {type(model).__name__}; it must make a torch.nn.Module.')
    return model.eval()


def _torchvision(name: str) -> torch.nn.Module:
    import torchvision

    model: torch.nn.Module = torchvision.models.get_model(name, weights="DEFAULT")
    for head in ("fc", "classifier", "heads", "head"):
        if hasattr(model, head):
            setattr(model, head, torch.nn.Identity())
            return model
    raise DataError(f"torchvision's {name} has no classifier to take off; name a model for classification.")


def _timm(name: str) -> torch.nn.Module:
    import timm

    model: torch.nn.Module = timm.create_model(name, pretrained=True, num_classes=0)
    return model


def _open_clip(name: str) -> torch.nn.Module:
    import open_clip

    visual: torch.nn.Module = open_clip.create_model(name, pretrained="openai").visual
    return visual


_NAMED: dict[str, Callable[[str], torch.nn.Module]] = {
    "torchvision": _torchvision,
    "timm": _timm,
    "open_clip": _open_clip,
}

# --- features --------------------------------------------------------------------------------------


def picture_batch(paths: Sequence[Path], size: int) -> torch.Tensor:
    """Pictures as a batch (n, 3, size, size), cut to their middle square and in the colours networks expect."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    rows = []
    for path in paths:
        try:
            with Image.open(path) as image:
                square = ImageOps.fit(image.convert("RGB"), (size, size), Image.Resampling.BICUBIC)
        except (OSError, UnidentifiedImageError) as error:
            raise DataError(f"{path} cannot be read as a picture: {error}") from error
        rows.append((np.asarray(square, np.float32) / 255 - _MEAN) / _DEVIATION)
    return torch.from_numpy(np.stack(rows).transpose(0, 3, 1, 2).copy())


def picture_features(
    model: torch.nn.Module,
    paths: Sequence[Path],
    out: Path,
    *,
    name: str = "",
    size: int = 224,
    batch: int = 64,
    device: str = "cpu",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> FloatArray:
    """One row per picture, float32, memory-mapped from the .npy file `out`.

    What was computed before an interruption is kept, and a file that holds all rows of the same model and pictures is
    given back as it is.
    """
    if not paths:
        raise DataError("There are no pictures to take features of.")
    identity = _identity(name or type(model).__name__, paths, size)
    beside = out.with_suffix(".progress.json")
    done = _rows_done(beside, identity, out)
    model = model.to(device).eval()
    rows: Any = np.lib.format.open_memmap(out, mode="r+") if done else None
    with torch.inference_mode():
        for first in range(done, len(paths), batch):
            made = model(picture_batch(paths[first : first + batch], size).to(device)).flatten(1).float().cpu().numpy()
            if rows is None:
                out.parent.mkdir(parents=True, exist_ok=True)
                rows = np.lib.format.open_memmap(out, mode="w+", dtype=np.float32, shape=(len(paths), made.shape[1]))
            rows[first : first + len(made)] = made
            rows.flush()  # rows first, then the count of them: a count never promises what is not there
            beside.write_text(json.dumps({**identity, "done": first + len(made)}))
            progress(first + len(made), len(paths))
    found: FloatArray = np.load(out, mmap_mode="r")
    return found


def _identity(name: str, paths: Sequence[Path], size: int) -> dict[str, Any]:
    listed = "\n".join(f"{path.name} {path.stat().st_size}" for path in paths)
    return {"model": name, "pictures": hashlib.sha256(listed.encode()).hexdigest(), "size": size}


def _rows_done(beside: Path, identity: dict[str, Any], out: Path) -> int:
    if not (beside.is_file() and out.is_file()):
        return 0
    kept = json.loads(beside.read_text(encoding="utf-8"))
    done = kept.pop("done", 0)
    return int(done) if kept == identity else 0


# --- items of a dataset ----------------------------------------------------------------------------


def items_of(
    dataset: Any, folder: Path | str | None = None, *, key: str | int | None = None, names: Sequence[str] | None = None
) -> ItemSet:
    """The samples of a `torch.utils.data.Dataset` or a `datasets.Dataset` as items.

    `key` says which part of a sample is the thing itself: a column of a row, or a place in a tuple (the first unless
    told). Text becomes the item's text, rows of numbers become features, and pictures (PIL, or tensors from 0 to 1)
    are written into `folder`.
    """
    n_items = len(dataset)
    labels = list(names) if names is not None else [f"{i:0{len(str(max(1, n_items - 1)))}d}" for i in range(n_items)]
    if len(labels) != n_items:
        raise DataError(f"{len(labels)} names for {n_items} samples; there must be one for each.")
    samples = [_part(dataset[i], key) for i in range(n_items)]
    if all(isinstance(sample, str) for sample in samples):
        return ItemSet(tuple(Item(name, text) for name, text in zip(labels, samples)))
    if all(_is_row(sample) for sample in samples):
        return ItemSet(tuple(Item(name) for name in labels), np.stack([np.asarray(s, float) for s in samples]))
    if folder is None:
        raise DataError("The samples are pictures: name a folder to write them into.")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, sample in zip(labels, samples):
        _as_picture(sample, name).save(place / f"{name}.png")
    return ItemSet(tuple(Item(name, image=f"{name}.png") for name in labels), None, place)


def _part(sample: Any, key: str | int | None) -> Any:
    if isinstance(sample, dict):
        if key is None and len(sample) > 1:
            key = next((name for name in ("image", "img", "text") if name in sample), None)
        if key is None and len(sample) == 1:
            key = next(iter(sample))
        if key not in sample:
            raise DataError(f"A sample has the columns {', '.join(map(str, sample))}; say which one to show: key=...")
        return sample[key]
    return sample[int(key or 0)] if isinstance(sample, tuple | list) else sample


def _is_row(sample: Any) -> bool:
    return np.ndim(sample) == 1 and np.issubdtype(np.asarray(sample).dtype, np.number)


def _as_picture(sample: Any, name: str) -> Any:
    from PIL import Image

    if isinstance(sample, Image.Image):
        return sample.convert("RGB")
    array = np.asarray(sample, np.float32)
    if array.ndim != 3 or array.shape[0] not in (1, 3) or array.min() < 0 or array.max() > 1:
        raise DataError(
            f"Sample {name} is no text, row of numbers or picture: a tensor (3, height, width) from 0 to 1."
        )
    colours = np.repeat(array, 3, axis=0) if array.shape[0] == 1 else array
    return Image.fromarray((colours.transpose(1, 2, 0) * 255).round().astype(np.uint8))
