"""Images, sounds and videos made safe to serve: images are decoded and written anew, others known by first bytes."""

from __future__ import annotations

import io
import warnings

from infonn.errors import DataError

MAX_PIXELS = 40_000_000
LONGEST_SIDE = 1600  # larger images are scaled down: a page shows four at a time

SOUND_ENDINGS = (".mp3", ".ogg", ".flac", ".wav", ".m4a")
VIDEO_ENDINGS = (".mp4", ".webm")

_VIDEOS = {(b"ftyp", 4): "video/mp4", (b"\x1a\x45\xdf\xa3", 0): "video/webm"}
_SOUNDS = {  # first bytes, where they stand -> content type
    (b"ID3", 0): "audio/mpeg",
    (b"\xff\xfb", 0): "audio/mpeg",
    (b"\xff\xf3", 0): "audio/mpeg",
    (b"OggS", 0): "audio/ogg",
    (b"fLaC", 0): "audio/flac",
    (b"WAVE", 8): "audio/wav",
    (b"ftyp", 4): "audio/mp4",
}


def safe_image(data: bytes, name: str) -> tuple[str, bytes]:
    """(content type, bytes) of the image, decoded and encoded again: no metadata, nothing hidden behind it."""
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=["PNG", "JPEG", "GIF", "WEBP", "BMP"]) as opened:
                if opened.width * opened.height > MAX_PIXELS:
                    raise DataError(
                        f"Image {name} has {opened.width} x {opened.height} pixels; at most {MAX_PIXELS:,} are taken."
                    )
                image: Image.Image = ImageOps.exif_transpose(opened)
                image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
                return _encoded(image)
    except DataError:
        raise
    except Exception as error:  # decoders raise anything on damaged input
        raise DataError(f"{name} cannot be read as an image. Use PNG, JPEG, GIF, WebP or BMP.") from error


def _encoded(image: object) -> tuple[str, bytes]:
    from PIL import Image

    assert isinstance(image, Image.Image)
    see_through = image.mode in ("RGBA", "LA", "PA", "P", "1") or "transparency" in image.info
    plain = image.convert("RGBA" if see_through else "RGB")
    plain.info.clear()  # comments and the like, which would be written again
    buffer = io.BytesIO()
    if see_through or image.width * image.height <= 64 * 64:  # JPEG would smear small drawings and digits
        plain.save(buffer, "PNG", optimize=True)
        return "image/png", buffer.getvalue()
    plain.save(buffer, "JPEG", quality=88)
    return "image/jpeg", buffer.getvalue()


def safe_sound(data: bytes, name: str) -> tuple[str, bytes]:
    """(content type, bytes) of a sound; the type follows from its first bytes, not from its name."""
    return _known(data, _SOUNDS, f"{name} is no sound we know. Use MP3, Ogg, FLAC, WAV or M4A.")


def safe_video(data: bytes, name: str) -> tuple[str, bytes]:
    """(content type, bytes) of a video, likewise."""
    return _known(data, _VIDEOS, f"{name} is no video we know. Use MP4 or WebM.")


def _known(data: bytes, starts: dict[tuple[bytes, int], str], refusal: str) -> tuple[str, bytes]:
    for (start, offset), content_type in starts.items():
        if data[offset : offset + len(start)] == start:
            return content_type, data
    raise DataError(refusal)
