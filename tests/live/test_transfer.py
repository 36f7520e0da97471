"""Whole studies come in as they went out, or not at all."""

import io
import json
import zipfile

import pytest

from infonn.errors import DataError, StudyError
from infonn.formats import bundle
from infonn.live.transfer import bundle_of, exported, imported, put_study, restored
from infonn.records import Answer
from infonn.specs.build import items_of
from infonn.storage.memory import MemoryStorage


@pytest.fixture
def storage() -> MemoryStorage:
    kept = MemoryStorage()
    put_study(kept, {"study": {"name": "s"}, "queries": {"first": 4}}, items_of([(n, None) for n in "abcdef"]), [])
    for number, question in enumerate(kept.questions("s")):
        kept.add_answer("s", Answer(f"a{number}", question.id, f"p{number}", 0))
    return kept


def changed(data: bytes, change) -> bytes:
    """The bundle with other settings."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "study.json":
                study = json.loads(content)
                change(study)
                content = json.dumps(study).encode()
            new.writestr(name, content)
    return buffer.getvalue()


def test_a_study_comes_in_as_it_went_out(storage) -> None:
    storage.exclude("s", "p1")
    storage.delete_person("s", "p2")
    storage.change_study("s", retention_days=30)
    record = restored(storage, bundle.write(bundle_of(storage, storage.study("s"))), "t")
    assert record.retention_days == 30
    assert [pair.answer.id for pair in storage.answers("t")] == ["a0", "a3"]
    assert len(storage.answers("t", None, everything=True)) == 3
    assert storage.deletions("t") == storage.deletions("s")
    with pytest.raises(StudyError, match='"t" exists already'):
        restored(storage, bundle.write(bundle_of(storage, record)), None)


@pytest.mark.parametrize(
    "people", [{"hold_out": 7.0}, {"lease_s": -1.0}, {"catch": [{"position": 0, "reference": "none", "expected": "b"}]}]
)
def test_low_a_bundle_whose_people_cannot_be_served_is_refused(storage, people) -> None:
    data = bundle.write(bundle_of(storage, storage.study("s")))
    wrong = changed(data, lambda study: study["study"]["spec"]["people"].update(people))
    with pytest.raises(DataError):
        restored(storage, wrong, "t")
    assert [record.name for record in storage.studies()] == ["s"]


def test_point_7_one_odd_context_on_record_breaks_no_export(storage) -> None:
    """As an earlier version took it in."""
    stored = storage._studies["s"]
    stored.answers["a1"] = Answer(**{**stored.answers["a1"].to_json(), "context": ["odd"]})
    for format in ("csv", "jsonl"):
        data, *_ = exported(storage, storage.study("s"), format)
        assert b"odd" in data
    assert len(bundle.read(bundle.write(bundle_of(storage, storage.study("s")))).answered) == 4


def test_point_6_a_file_with_one_bad_answer_stores_nothing(storage) -> None:
    data, *_ = exported(storage, storage.study("s"), "jsonl")
    rows = [json.loads(line) for line in data.decode().splitlines()]
    for number, row in enumerate(rows):
        row |= {"answer_id": f"new{number}", "question_id": f"new{number}"}
    rows[-1]["context"] = {"x": "\0"}
    before = storage.revision("s")
    with pytest.raises(DataError, match="NUL"):
        imported(storage, storage.study("s"), "\n".join(map(json.dumps, rows)).encode(), "jsonl")
    assert storage.revision("s") == before
