"""Writes `files/schema_<HEAD>.sqlite`, the kept database of a schema that is about to be released.

Run it once per release that changes the tables: python tests/storage/keep_schema.py
"""

from pathlib import Path

from infonn.contracts.storage import Serving
from infonn.records import Answer, Item, Option, Question, Round, StudyRecord
from infonn.storage import schema
from infonn.storage.sql import SqlStorage

NAMES = ["soup", "bread", "salad", "curry", "stew", "rice", "cake", "tart"]


def main() -> None:
    path = Path(__file__).parent / "files" / f"schema_{schema.HEAD}.sqlite"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    storage = SqlStorage(f"sqlite:///{path}")
    spec = {"study": {"name": "dishes", "task": "similarity", "seed": 4}, "people": {"hold_out": 0.1}}
    storage.create_study(StudyRecord("dishes", spec, seed=4, key="kept-key"), [Item(name) for name in NAMES])
    questions = []
    for i in range(16):
        query = (i % 8, (i + 1) % 8, (i + 2) % 8, (i + 3 + i // 8) % 8)
        options = tuple(Option(NAMES[item], item) for item in query[1:])
        names = tuple(NAMES[item] for item in query)
        questions.append(Question(f"q{i}", "dishes", query, names, options, (0, 1, 2), score=0.1 * i))
    storage.add_questions("dishes", questions)
    person = storage.join("dishes", "outside-1", {"STUDY_ID": "x"}).name
    served = storage.serve("dishes", person, 1, Serving(3600))
    for i in range(13):
        outcome = "skipped" if i == 5 else "answered"
        answer = Answer(
            f"a{i}", served[0].id, person, None if i == 5 else i % 3, outcome, 1.5, context={"device": "phone"}
        )
        _, served, _ = storage.exchange("dishes", answer, 1, Serving(3600))
    storage.undo("dishes", "a12")
    storage.add_round("dishes", Round(0, 12, {"hold_out_accuracy": 0.5}, 0.1))
    storage.close()


if __name__ == "__main__":
    main()
