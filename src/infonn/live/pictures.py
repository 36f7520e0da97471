"""Pictures that stay in a folder on the server: read when somebody looks, made safe and small, and kept ready."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from infonn.errors import DataError
from infonn.formats.media import safe_image
from infonn.records import ItemFile

LARGEST_FILE = 64 << 20  # bytes of a picture that is read
KEPT = 20_000  # thumbnails on disk; the half that was made first goes when there are more
_CHECK_EVERY = 500  # thumbnails made before they are counted again


class PictureFolder:
    """Pictures of one folder by their path in it. Nothing outside it is read, and no link is followed."""

    def __init__(self, folder: str | Path, cache: Path | None = None) -> None:
        self.folder = Path(folder)
        self.cache = default_cache() if cache is None else cache
        self._made = 0

    def picture(self, relative: str) -> ItemFile:
        """The picture, decoded and written anew, at most 1,600 pixels wide and tall."""
        with open_inside(self.folder, relative) as file:
            seen = os.fstat(file.fileno())
            if seen.st_size > LARGEST_FILE:
                raise DataError(f"{relative} has {seen.st_size:,} bytes; pictures of up to {LARGEST_FILE:,} are shown.")
            key = f"{self.folder.resolve()}\0{relative}\0{seen.st_size}\0{seen.st_mtime_ns}"
            kept = self.cache / hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()
            found = _read_kept(kept)
            if found is None:
                found = safe_image(file.read(), relative)
                self._keep(kept, *found)
        return ItemFile(relative, *found)

    def _keep(self, path: Path, content_type: str, data: bytes) -> None:
        try:
            self.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = path.with_name(f"{path.name}.{os.getpid()}.new")
            beside.write_bytes(content_type.encode() + b"\n" + data)
            beside.replace(path)
        except OSError:
            return  # a full disk makes pages slower, and nothing else
        self._made += 1
        if self._made % _CHECK_EVERY == 0:
            self._make_room()

    def _make_room(self) -> None:
        kept = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(self.cache) if entry.is_file()]
        if len(kept) > KEPT:
            for _, path in sorted(kept)[: len(kept) // 2]:
                Path(path).unlink(missing_ok=True)


@lru_cache(maxsize=64)
def picture_folder(folder: str) -> PictureFolder:
    """The one for a folder, so that all who ask share what was made ready."""
    return PictureFolder(folder)


def default_cache() -> Path:
    """The user's own folder for what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "infonn" / "thumbnails"


def _read_kept(path: Path) -> tuple[str, bytes] | None:
    try:
        content_type, _, data = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content_type.decode(), data


def open_inside(folder: Path, relative: str) -> BinaryIO:
    """A plain file below a folder, opened part by part: no link leads out, not even one put there meanwhile."""
    parts = PurePosixPath(relative.replace(os.sep, "/")).parts
    if not parts or PurePosixPath(relative).is_absolute() or ".." in parts or "\0" in relative:
        raise DataError(f'"{relative}" lies outside the folder of the pictures.')
    where = -1
    try:
        where = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=where)
            os.close(where)
            where = inner
        opened = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=where)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
            raise DataError(f"{relative} is a link or leads through one; pictures lie in the folder itself.") from None
        raise DataError(f"{relative} cannot be opened: {error.strerror}.") from None
    finally:
        if where >= 0:
            os.close(where)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise DataError(f"{relative} is no plain file.")
    return os.fdopen(opened, "rb")
