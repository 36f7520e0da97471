"""Items as people bring them: a CSV file, a folder of images, a list of names; features beside them or not."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from infonn.arrays import FloatArray
from infonn.errors import DataError
from infonn.records import Item

IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
_TEXT_COLUMNS = ("name", "text", "image", "audio")


@dataclass(frozen=True)
class ItemSet:
    """Items and, where there are some, their features (items, columns); `folder` holds the files they name."""

    items: tuple[Item, ...]
    features: FloatArray | None = None
    folder: Path | None = None

    def __post_init__(self) -> None:
        for name, count in Counter(self.names).items():
            if count > 1:
                raise DataError(f'Item name "{name}" occurs more than once. Every item needs a name of its own.')
            if not name.strip():
                raise DataError(f"Item {self.names.index(name)} has no name. Every item needs a name of its own.")
        if self.features is not None:
            check_features(self.features, len(self.items))

    @property
    def names(self) -> list[str]:
        return [item.name for item in self.items]

    def __len__(self) -> int:
        return len(self.items)


def check_features(features: FloatArray, n_items: int) -> FloatArray:
    """Refuse features that are not one finite row per item."""
    if features.ndim != 2 or len(features) != n_items or not features.shape[1]:
        raise DataError(
            f"Features have shape {features.shape}; there are {n_items} items, so ({n_items}, columns) is right."
        )
    bad = np.argwhere(~np.isfinite(features))
    if len(bad):
        row, column = (int(i) for i in bad[0])
        raise DataError(f"Feature {column} of item {row} is {features[row, column]}; features must be finite numbers.")
    return features


def as_items(items: ItemSet | Sequence[str] | str | Path, features: FloatArray | None = None) -> ItemSet:
    """Whatever a caller has, as an ItemSet: names, the path of a CSV file or of a folder of images."""
    if isinstance(items, ItemSet):
        return items if features is None else ItemSet(items.items, as_features(features), items.folder)
    if isinstance(items, str | Path):
        return load_items(items, features)
    return ItemSet(tuple(Item(str(name)) for name in items), None if features is None else as_features(features))


def as_features(features: object) -> FloatArray:
    """Rows of numbers as an array; refuses text, and rows of different lengths."""
    try:
        return np.asarray(features, float)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"Features must be one row of numbers per item, all rows of the same length: {error}"
        ) from error


def load_items(path: str | Path, features: FloatArray | str | Path | None = None) -> ItemSet:
    """Items from `items.csv` (column `name`, optional `text`, `image`, `audio`, other numeric columns are features)
    or from a folder of images. `features`, an array or a `.npy` file in row order, stands in for columns."""
    path = Path(path)
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.suffix.lower() in IMAGE_ENDINGS)
        if not found:
            raise DataError(f"{path} holds no images. Images end in {', '.join(IMAGE_ENDINGS)}.")
        relative = [str(file.relative_to(path)) for file in found]
        loaded = ItemSet(
            tuple(Item(Path(name).with_suffix("").as_posix(), image=name) for name in relative), None, path
        )
    elif path.is_file():
        loaded = _read_csv(path)
    else:
        raise DataError(f"{path} does not exist. Give a CSV file with a column `name`, or a folder of images.")
    if features is None:
        return loaded
    return ItemSet(loaded.items, load_features(features), loaded.folder)


def load_features(features: FloatArray | str | Path) -> FloatArray:
    """Features from an array, or from a `.npy` file that holds no pickled objects."""
    if not isinstance(features, str | Path):
        return as_features(features)
    try:
        return np.asarray(np.load(features, allow_pickle=False), float)
    except (OSError, ValueError) as error:
        raise DataError(f"{features} cannot be read as a .npy array of numbers: {error}") from error


def _read_csv(path: Path) -> ItemSet:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            if "name" not in columns:
                raise DataError(f"{path} has the columns {', '.join(columns) or 'none'}; it needs a column `name`.")
            if "" in columns or len(set(columns)) < len(columns):
                raise DataError(
                    f'{path} has the columns "{", ".join(columns)}"; each needs a name of its own. '
                    "From pandas: to_csv(..., index=False)."
                )
            rows = list(reader)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text; save it as CSV in UTF-8.") from error
    except csv.Error as error:
        raise DataError(f"{path} cannot be read as CSV: {error}.") from error
    items = []
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise DataError(f"Line {number} of {path} does not have the {len(columns)} columns of the header.")
        if not row["name"].strip():
            raise DataError(f"Line {number} of {path} has no name.")
        items.append(Item(**{key: row[key].strip() or None for key in _TEXT_COLUMNS if key in row}))  # type: ignore[arg-type]
    return ItemSet(tuple(items), _feature_columns(path, columns, rows), path.parent)


def _feature_columns(path: Path, columns: Sequence[str], rows: Sequence[dict[str, str]]) -> FloatArray | None:
    numeric = [column for column in columns if column not in _TEXT_COLUMNS]
    values = np.empty((len(rows), len(numeric)))
    for j, column in enumerate(numeric):
        for i, row in enumerate(rows):
            try:
                values[i, j] = float(row[column])
            except ValueError:
                raise DataError(
                    f'Line {i + 2} of {path}: column "{column}" is "{row[column]}". Columns other than '
                    f"{', '.join(_TEXT_COLUMNS)} are features and must be numbers."
                ) from None
    return values if numeric else None
