"""cblearn's arrays: triplets in list order, list count and list boolean, and multiselect queries; as .npz files.

Triplets of one question are not independent, be they of one answer or of several people's: keep `question_id` beside
them and split by it (GroupKFold). All copies of a question have the same.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from infonn.arrays import IntArray
from infonn.contracts.storage import Answered
from infonn.errors import DataError
from infonn.formats.archives import MAX_BYTES, check_number, check_size
from infonn.formats.triplets import Triplet, answered_from, triplets_of
from infonn.queries import question_key


def list_order(answered: Iterable[Answered]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.str_]]:
    """(n, 3) rows (i, j, k), i nearer to j than to k; and each row's question, one id for all its copies."""
    rows, question_ids, _ = _grouped(answered)
    return rows, question_ids


def _grouped(
    answered: Iterable[Answered],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.str_], npt.NDArray[np.str_]]:
    """Triplets; the first question that asked the same; and the copy that was answered."""
    pairs = list(answered)
    first: dict[str, str] = {}  # what is asked -> the first question that did
    asked = {}
    for pair in pairs:
        question = pair.question
        asked[question.id] = first.setdefault(
            f"{question.kind} {question_key(question.query, question.kind)}", question.id
        )
    triplets = triplets_of(pairs)
    rows = np.array([(t.reference, t.near, t.far) for t in triplets], np.uint32).reshape(-1, 3)
    copies = [t.question_id for t in triplets]
    return rows, np.array([asked[copy] for copy in copies], np.str_), np.array(copies, np.str_)


def from_list_order(
    triplets: IntArray, study: str, item_names: Sequence[str], question_ids: Sequence[str] | None = None
) -> list[Answered]:
    """Answers of (n, 3) rows (i, j, k): i nearer to j than to k."""
    return from_list_count(triplets, np.ones(len(triplets), np.int64), study, item_names, question_ids)


def from_list_boolean(
    triplets: IntArray,
    agrees: npt.NDArray[np.bool_],
    study: str,
    item_names: Sequence[str],
    question_ids: Sequence[str] | None = None,
) -> list[Answered]:
    """Answers of (n, 3) rows and whether i is nearer to j."""
    return from_list_count(triplets, np.where(agrees, 1, -1), study, item_names, question_ids)


def from_list_count(
    triplets: IntArray,
    counts: IntArray,
    study: str,
    item_names: Sequence[str],
    question_ids: Sequence[str] | None = None,
) -> list[Answered]:
    """Answers of (n, 3) rows and counts: above 0 i is nearer to j, below 0 to k, 0 is undecided and left out.

    A count beyond 1 stands for that many answers.
    """
    triplets, counts = np.asarray(triplets), np.asarray(counts)
    if triplets.ndim != 2 or triplets.shape[1] != 3 or counts.shape != (len(triplets),):
        raise DataError(f"Triplets have shape {triplets.shape} and responses {counts.shape}; (n, 3) and (n,) is right.")
    if not np.issubdtype(triplets.dtype, np.integer):
        raise DataError(f"Triplets are {triplets.dtype}; they must be whole numbers, the indices of items.")
    if not np.issubdtype(counts.dtype, np.integer):
        raise DataError(f"Responses are {counts.dtype}; they must be booleans or whole numbers.")
    check_number(sum(map(abs, counts.tolist())))
    rows = []
    for row, (i, j, k) in enumerate(triplets.tolist()):
        near, far = (j, k) if counts[row] > 0 else (k, j)
        for repeat in range(abs(int(counts[row]))):
            own = question_ids[row] if question_ids is not None else ""
            rows.append(Triplet(i, near, far, str(own), "" if repeat == 0 else f"repeat {repeat}"))
    return answered_from(rows, study, item_names, "cblearn")


def write(answered: Iterable[Answered], item_names: Sequence[str]) -> bytes:
    """An .npz with `triplets` in list order, their `question_id` and `copy_id`, and the `items`."""
    triplets, question_ids, copies = _grouped(answered)
    buffer = io.BytesIO()
    items = np.array(item_names, np.str_)
    np.savez_compressed(buffer, triplets=triplets, question_id=question_ids, copy_id=copies, items=items)
    return buffer.getvalue()


def read(data: bytes, study: str, item_names: Sequence[str]) -> list[Answered]:
    """Answers of an .npz with `triplets`, and maybe `responses` (booleans or counts), `question_id` and `copy_id`."""
    kept = _load(data)
    if "triplets" not in kept:
        raise DataError(f"The file holds {', '.join(sorted(kept)) or 'nothing'}; it needs an array `triplets`.")
    ids = kept.get("copy_id", kept.get("question_id"))  # copies are answers of their own
    question_ids = None if ids is None or len(ids) != len(kept["triplets"]) else [str(value) for value in ids]
    responses = kept.get("responses")
    if responses is None:
        return from_list_order(kept["triplets"], study, item_names, question_ids)
    if responses.dtype == np.bool_:
        return from_list_boolean(kept["triplets"], responses, study, item_names, question_ids)
    return from_list_count(kept["triplets"], responses, study, item_names, question_ids)


def _load(data: bytes) -> Mapping[str, npt.NDArray[Any]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_size(archive.infolist(), len(data), MAX_BYTES)
        with np.load(io.BytesIO(data), allow_pickle=False) as kept:
            return {name: kept[name] for name in kept.files}
    except DataError:
        raise
    except Exception as error:  # numpy raises anything on what is no .npz
        raise DataError("The file cannot be read as an .npz of arrays.") from error
