"""Items as people bring them: a CSV file, a folder of images, a list of names; features beside them or not."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infonn.arrays import FloatArray
from infonn.errors import DataError, MissingPartError
from infonn.records import Item

IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
NOT_SHOWN = (".tif", ".tiff", ".heic", ".heif", ".psd", ".raw", ".dng")  # pictures that browsers do not show
CHUNK = 1 << 14  # rows of features that are checked at once
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
    for first in range(0, n_items, CHUNK):
        bad = np.argwhere(~np.isfinite(features[first : first + CHUNK]))
        if len(bad):
            row, column = first + int(bad[0, 0]), int(bad[0, 1])
            value = features[row, column]
            raise DataError(f"Feature {column} of item {row} is {value}; features must be finite numbers.")
    return features


def as_items(items: ItemSet | Sequence[str] | str | Path, features: FloatArray | None = None) -> ItemSet:
    """Whatever a caller has, as an ItemSet: names, the path of a CSV file or of a folder of images."""
    if isinstance(items, ItemSet):
        return items if features is None else ItemSet(items.items, as_features(features), items.folder)
    if isinstance(items, str | Path):
        return load_items(items, features)
    return ItemSet(tuple(Item(str(name)) for name in items), None if features is None else as_features(features))


def as_features(features: object) -> FloatArray:
    """Rows of numbers as an array; refuses text, complex numbers, and rows of different lengths.

    A file that is mapped into memory stays there, as it is.
    """
    try:
        array = np.asanyarray(features)
        _check_kind(array.dtype, "Features")
        return array if isinstance(array, np.memmap) and array.dtype.kind == "f" else np.asarray(array, float)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"Features must be one row of numbers per item, all rows of the same length: {error}"
        ) from error


def _check_kind(dtype: np.dtype[Any], what: str) -> None:
    if dtype.kind == "c":
        raise DataError(f"{what} are complex numbers ({dtype}); use their real and imaginary parts, or their sizes.")
    if dtype.kind not in "fiubO":
        raise DataError(
            f"{what} are of type {dtype}; one row of numbers per item, all rows of the same length, is right."
        )


def load_items(path: str | Path, features: FloatArray | str | Path | None = None) -> ItemSet:
    """Items from `items.csv` (column `name`, optional `text`, `image`, `audio`, other numeric columns are features)
    or from a folder of images. `features`, an array or a `.npy` or `.parquet` file in row order, replaces columns."""
    path = Path(path)
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.suffix.lower() in IMAGE_ENDINGS + NOT_SHOWN)
        for file in found:
            _check_picture_file(file)
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
    return ItemSet(loaded.items, load_features(features, loaded.names), loaded.folder)


def _check_picture_file(file: Path) -> None:
    """Refuse what could not be shown later, before anything is made of it."""
    if file.is_symlink():
        raise DataError(f"{file} is a link; pictures lie in the folder itself. Copy the file there, or move the link.")
    if file.suffix.lower() in NOT_SHOWN:
        raise DataError(
            f"{file} is a picture that browsers do not show. Convert it to PNG or JPEG, or move it out of the folder."
        )


def load_features(features: FloatArray | str | Path, names: Sequence[str] | None = None) -> FloatArray:
    """Features from an array, from a `.npy` file, which is mapped and not read, or from a `.parquet` file.

    A parquet file has numeric columns, or one column of lists; where it has a column `name`, that must name the items
    in their order.
    """
    if not isinstance(features, str | Path):
        return as_features(features)
    if Path(features).suffix.lower() == ".parquet":
        return _read_parquet(Path(features), names)
    try:
        mapped = np.load(features, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{features} cannot be read as a .npy array of numbers: {error}") from error
    if not isinstance(mapped, np.ndarray):
        raise DataError(f"{features} is an archive of several arrays (.npz); save the features alone, with np.save.")
    _check_kind(mapped.dtype, f"The features in {features}")
    return mapped if mapped.dtype.kind == "f" else np.asarray(mapped, float)


def _read_parquet(path: Path, names: Sequence[str] | None) -> FloatArray:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise MissingPartError('Parquet files need pyarrow: pip install "infonn[parquet]".') from error
    try:
        table = parquet.read_table(path)
    except (OSError, ArrowException) as error:
        raise DataError(f"{path} cannot be read as a parquet file: {error}") from error
    if "name" in table.column_names:
        _check_names(path, table.column("name").to_pylist(), names)
        table = table.drop_columns(["name"])
    columns = [_parquet_column(path, name, table.column(name)) for name in table.column_names]
    if not columns:
        raise DataError(f"{path} has no column of numbers; features are numeric columns, or one column of lists.")
    return np.concatenate(columns, axis=1)


def _check_names(path: Path, found: Sequence[Any], names: Sequence[str] | None) -> None:
    for row, (one, other) in enumerate(zip(found, names if names is not None else found)):
        if one != other:
            raise DataError(f'Row {row} of {path} is named "{one}"; item {row} is "{other}". Put them in one order.')


def _parquet_column(path: Path, name: str, column: Any) -> FloatArray:
    """(rows, width): a column of numbers has width 1, one of lists the length of its lists."""
    from pyarrow import types

    kind = column.type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        lengths = {len(entry) if entry is not None else 0 for entry in column}
        if len(lengths) != 1:
            raise DataError(f'The lists in column "{name}" of {path} differ in length; all need equally many numbers.')
        array = column.combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
    else:
        array = column.to_numpy()[:, None]
    if array.dtype.kind not in "fiub":
        raise DataError(f'Column "{name}" of {path} is of type {kind}; features are numbers.')
    return np.asarray(array, np.float64 if array.dtype == np.float64 else np.float32)


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
