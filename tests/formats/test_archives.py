"""ZIP files and media from anywhere: read whole, or refused."""

import contextlib
import io
import stat
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from infonn.errors import DataError
from infonn.formats import bundle
from infonn.formats.archives import unpack
from infonn.formats.media import safe_image, safe_sound
from infonn.records import Deletion, Item, StudyRecord

names = st.text(alphabet="ab/.\\:é ", min_size=1, max_size=12).map(lambda name: name + ".png")


@settings(max_examples=100)
@given(st.dictionaries(names | st.just("../x.png") | st.just("/x.png"), st.binary(max_size=20), max_size=4))
def test_nothing_is_written_outside_the_folder(tmp_path_factory, files) -> None:
    folder = tmp_path_factory.mktemp("outer") / "inner"
    folder.mkdir()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    try:
        written = unpack(buffer.getvalue(), folder, (".png",))
    except DataError:
        pass
    else:
        assert all(path.resolve().is_relative_to(folder.resolve()) for path in written)
    assert [path.name for path in folder.parent.iterdir()] == ["inner"]


@settings(max_examples=100)
@given(st.binary(max_size=400), st.integers(0, 300))
def test_damaged_archives_are_refused(tmp_path_factory, noise, place) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.png", b"x" * 100)
        archive.writestr("b.png", b"y" * 100)
    data = buffer.getvalue()
    damaged = data[:place] + noise + data[place + len(noise) :]
    with contextlib.suppress(DataError):
        unpack(damaged, tmp_path_factory.mktemp("zip"), (".png",))
    with contextlib.suppress(DataError):
        bundle.read(damaged)


def test_links_and_lies_about_size_are_refused(tmp_path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("link.png")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="is a link"):
        unpack(buffer.getvalue(), tmp_path, (".png",))


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_any_bytes_are_no_image_and_no_sound(data) -> None:
    with pytest.raises(DataError):
        safe_image(data, "x.png")
    if data[:3] not in (b"ID3",) and data[:2] not in (b"\xff\xfb", b"\xff\xf3"):
        with contextlib.suppress(DataError):
            safe_sound(data, "x.mp3")


def test_images_lose_what_is_not_picture_and_are_scaled() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (3000, 1000), (9, 9, 9)).save(buffer, "JPEG", comment=b"home address")
    content_type, data = safe_image(buffer.getvalue() + b"<script>", "x.jpg")
    assert content_type == "image/jpeg"
    assert b"home address" not in data
    assert b"<script>" not in data
    with Image.open(io.BytesIO(data)) as image:
        assert image.size == (1600, 533)


def test_small_drawings_stay_exact_and_see_through() -> None:
    buffer = io.BytesIO()
    Image.new("L", (8, 8), 77).save(buffer, "PNG")
    content_type, data = safe_image(buffer.getvalue(), "digit.png")
    with Image.open(io.BytesIO(data)) as image:
        assert (content_type, image.getpixel((3, 3))) == ("image/png", (77, 77, 77))
    buffer = io.BytesIO()
    Image.new("RGBA", (200, 200), (1, 2, 3, 128)).save(buffer, "PNG")
    assert safe_image(buffer.getvalue(), "x.png")[0] == "image/png"


def test_a_bundle_of_another_format_is_refused() -> None:
    data = bundle.write(bundle.Bundle(StudyRecord("s", {"study": {"name": "s"}}), [Item("a"), Item("b")]))
    assert bundle.read(data).items == [Item("a"), Item("b")]
    assert bundle.read(data, "t").record.spec["study"]["name"] == "t"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("study.json", '{"format": 99}')
    with pytest.raises(DataError, match="reads format 1"):
        bundle.read(buffer.getvalue())


def test_low_a_bundle_that_unpacks_to_far_more_than_it_is_is_refused() -> None:
    for name, content in (("study.json", "[" + "[]," * 3_000_000 + "[]]"), ("answers.jsonl", "[]," * 10_000_000)):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("study.json", "{}") if name != "study.json" else None
            archive.writestr(name, content)
        with pytest.raises(DataError, match="that is more than is taken"):
            bundle.read(buffer.getvalue())


def test_a_bundle_of_features_that_pack_well_is_read() -> None:
    features = np.zeros((1_000, 2_000))
    items = [Item(str(i)) for i in range(1_000)]
    data = bundle.write(bundle.Bundle(StudyRecord("s", {"study": {"name": "s"}}), items, features))
    assert bundle.read(data).features.shape == features.shape


def test_a_bundle_says_what_was_deleted() -> None:
    data = bundle.write(bundle.Bundle(StudyRecord("s", {}), [Item("a")], deletions=[Deletion(7.0, 3)]))
    assert bundle.read(data).deletions == [Deletion(7.0, 3)]
