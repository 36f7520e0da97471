"""Items from an upload or a folder: read, checked, and their images and sounds made safe."""

from __future__ import annotations

import io
import math
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from infonn.datasets.items import IMAGE_ENDINGS
from infonn.errors import DataError
from infonn.formats.archives import unpack
from infonn.formats.media import SOUND_ENDINGS, VIDEO_ENDINGS, safe_image, safe_sound, safe_video
from infonn.records import ItemFile
from infonn.specs.build import read_items

if TYPE_CHECKING:
    from infonn.datasets.items import ItemSet

MEDIA = ".media/"  # where the files are that a study's texts show
TABLE_ENDINGS = (".csv",)
MAX_IMAGES = 5000


def items_from_uploads(uploads: list[tuple[str, bytes]], features: bytes | None) -> tuple[ItemSet, list[ItemFile]]:
    """Items from one CSV, one ZIP, or images; `features` are the bytes of a .npy file."""
    if not uploads:
        raise DataError("No file came with the request. Send a CSV with a column `name`, a ZIP, or images.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "items"
        folder.mkdir()
        for filename, data in uploads:
            _place(folder, filename, data, alone=len(uploads) == 1)
        rows = None
        if features is not None:
            check_array(features)
            rows = Path(name) / "features.npy"
            rows.write_bytes(features)
        try:
            return items_in(_table_or_folder(folder), rows)
        except DataError as error:  # people know their files by name, not by where we put them for a moment
            raise DataError(str(error).replace(f"{folder}/", "").replace(str(folder), "The upload")) from error


def items_in(path: Path, features: Path | None = None) -> tuple[ItemSet, list[ItemFile]]:
    """Items of a CSV file or a folder of images, with the files they name; every problem is a sentence."""
    items = read_items(path, features)
    for number, item in enumerate(items.items):
        check_text(f"Item {number}", item.name, item.text, item.image, item.audio)
    named = [(item.image, safe_image) for item in items.items if item.image]
    named += [(item.audio, safe_sound) for item in items.items if item.audio]
    if len(named) > MAX_IMAGES:
        raise DataError(f"There are {len(named):,} images and sounds; at most {MAX_IMAGES:,} are taken.")
    files: dict[str, ItemFile] = {}
    for relative, make_safe in named:
        if relative not in files:
            files[relative] = ItemFile(relative, *make_safe(_read(items.folder, relative), relative))
    return items, list(files.values())


def items_in_place(pictures: Path, items: Path | None = None, features: Path | None = None) -> ItemSet:
    """Items whose pictures stay in a folder: all there are, or those that `items`, a CSV file, names."""
    if not pictures.is_dir():
        raise DataError(f"{pictures} is no folder. Pictures that stay where they are lie in a folder of the server.")
    read = read_items(pictures if items is None else items, features)
    for number, item in enumerate(read.items):
        check_text(f"Item {number}", item.name, item.text, item.image)
        if item.audio:
            raise DataError(f'Item "{item.name}" has a sound; a folder of pictures holds pictures only.')
        if items is not None and item.image and not (pictures / item.image).is_file():
            raise DataError(f'Item "{item.name}" names {item.image}, which is not in {pictures}.')
    return read


def text_media(uploads: list[tuple[str, bytes]]) -> list[ItemFile]:
    """Pictures, sounds and videos that a study's texts show: `![words](name.png)`."""
    files: dict[str, ItemFile] = {}
    for filename, data in uploads:
        name = PurePosixPath(filename.replace("\\", "/")).name
        sorts = ((IMAGE_ENDINGS, safe_image), (SOUND_ENDINGS, safe_sound), (VIDEO_ENDINGS, safe_video))
        make_safe = next((make for endings, make in sorts if name.lower().endswith(endings)), None)
        if make_safe is None or len(name.encode()) > 190:
            raise DataError(f'"{filename}" is no picture, sound or video that a text can show.')
        if name in files:
            raise DataError(f'Two files for the texts are called "{name}".')
        check_text("A file for the texts", name)
        files[name] = ItemFile(f"{MEDIA}{name}", *make_safe(data, name))
    return list(files.values())


def check_array(data: bytes) -> None:
    """Refuse what is no .npy file of a matrix of real numbers, before memory is taken for what its header promises."""
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, kind = read_header[version](file)
    except Exception as error:  # whatever numpy's parser makes of bytes that mean harm
        raise DataError("The features cannot be read as a .npy file (version 1 or 2).") from error
    if kind.kind not in "fiub" or len(shape) != 2 or min(shape) < 1:
        raise DataError(
            f"The features cannot be read as a .npy matrix of real numbers: their shape is {shape}, their type {kind}."
        )
    if math.prod(shape) * kind.itemsize != len(data) - file.tell():
        raise DataError(f"The features should have shape {shape}, and the file is not of that length.")


def check_text(whose: str, *texts: str | None) -> None:
    """Refuse characters that no database holds."""
    for text in texts:
        if text is not None and ("\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text)):
            raise DataError(f"{whose} has a NUL character or half a letter in {text!r}, which no storage holds.")


def _place(folder: Path, filename: str, data: bytes, alone: bool) -> None:
    name = PurePosixPath(filename.replace("\\", "/")).name
    ending = PurePosixPath(name).suffix.lower()
    if ending == ".zip" and alone:
        unpack(data, folder, IMAGE_ENDINGS + SOUND_ENDINGS + TABLE_ENDINGS)
    elif ending in IMAGE_ENDINGS + SOUND_ENDINGS + TABLE_ENDINGS and len(name.encode()) < 200 and "\0" not in name:
        if (folder / name).exists():
            raise DataError(f'Two files are called "{name}".')
        (folder / name).write_bytes(data)
    else:
        raise DataError(f'"{filename}" is not taken. Send a CSV with a column `name`, one ZIP, or images.')


def _table_or_folder(folder: Path) -> Path:
    """The one CSV file in the upload, else the folder with its images."""
    tables = sorted(folder.rglob("*.csv"))
    if len(tables) > 1:
        preferred = [table for table in tables if table.name == "items.csv"]
        if len(preferred) != 1:
            raise DataError(f"There are {len(tables)} CSV files; name the one with the items items.csv.")
        return preferred[0]
    return tables[0] if tables else folder


def _read(folder: Path | None, relative: str) -> bytes:
    """The file an item names, which lies in the items' own folder."""
    if folder is None:
        raise DataError(f'"{relative}" is named, and no files came with the items.')
    path = (folder / relative).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise DataError(f'"{relative}" lies outside the folder of the items.')
    if not path.is_file():
        raise DataError(f'"{relative}" is named in the items and is not among the files.')
    return path.read_bytes()
