"""Packed files from people: unpacked without following them out of the folder, and never larger than they may be."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from infonn.errors import DataError

MAX_FILES = 20_000
MAX_BYTES = 1 << 30  # unpacked
MAX_RATIO = 200  # unpacked bytes per packed byte: beyond, a bomb
MAX_ANSWERS = 2_000_000  # of one file
_IGNORED = ("__MACOSX", ".DS_Store", "Thumbs.db")


def unpack(data: bytes, folder: Path, endings: tuple[str, ...], max_bytes: int = MAX_BYTES) -> list[Path]:
    """The archive's files below `folder`, which is empty before; every entry is checked before it is written."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise DataError("The file cannot be read as a ZIP archive.") from error
    entries = [entry for entry in archive.infolist() if not _ignored(entry.filename)]
    if len(entries) > MAX_FILES:
        raise DataError(f"The archive has {len(entries):,} files; at most {MAX_FILES:,} are taken.")
    check_size(entries, len(data), max_bytes)
    written: list[Path] = []
    for entry in entries:
        target = folder / _safe_path(entry, endings)
        if target in written:
            raise DataError(f'The archive holds "{entry.filename}" twice.')
        content = _read(archive, entry)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as error:
            raise DataError(f'"{entry.filename}" in the archive has a name that cannot be used.') from error
        written.append(target)
    return written


def check_size(entries: Sequence[zipfile.ZipInfo], n_bytes: int, max_bytes: int, max_ratio: float = MAX_RATIO) -> None:
    """Refuse what unpacks to more than `max_bytes`, or to far more than the `n_bytes` it came in."""
    check_unpacked(sum(entry.file_size for entry in entries), n_bytes, max_bytes, max_ratio)


def check_unpacked(n_unpacked: int, n_bytes: int, max_bytes: int, max_ratio: float = MAX_RATIO) -> None:
    if n_unpacked > max_bytes or n_unpacked > max_ratio * max(n_bytes, 1 << 16):
        raise DataError(f"The file unpacks to {n_unpacked:,} bytes or more; that is more than is taken.")


def check_number(n_answers: int) -> None:
    """Refuse a file that stands for more answers than anybody has; a few packed bytes can stand for any number."""
    if n_answers > MAX_ANSWERS:
        raise DataError(f"The file holds {n_answers:,} answers; at most {MAX_ANSWERS:,} are taken.")


def _ignored(name: str) -> bool:
    return name.endswith("/") or any(part in _IGNORED for part in name.split("/"))


def _safe_path(entry: zipfile.ZipInfo, endings: tuple[str, ...]) -> PurePosixPath:
    path = PurePosixPath(entry.filename)
    climbs = path.is_absolute() or ".." in path.parts or "\\" in entry.filename or ":" in entry.filename
    if climbs or "\0" in entry.filename or not path.name:
        raise DataError(f'"{entry.filename}" in the archive points outside of it.')
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise DataError(f'"{entry.filename}" in the archive is a link; only files are taken.')
    if path.suffix.lower() not in endings:
        raise DataError(f'"{entry.filename}" in the archive is not of a kind that is taken: {", ".join(endings)}.')
    return path


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The entry's bytes, never more than it announced."""
    try:
        with archive.open(entry) as file:
            content = file.read(entry.file_size + 1)
    except Exception as error:  # zipfile raises anything on damaged or encrypted entries
        raise DataError(f'"{entry.filename}" in the archive cannot be read.') from error
    if len(content) != entry.file_size:
        raise DataError(f'"{entry.filename}" in the archive is not as large as it says.')
    return content
