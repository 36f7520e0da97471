"""Study: ask, tell, run, and going on after an interruption."""

import json
import warnings
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from infonn.beliefs import Belief
from infonn.contracts.loop import Strategy
from infonn.errors import AlreadyAnsweredError, DataError, InvalidQueryError, ResultsFileError, UnknownQuestionError
from infonn.records import Item, StudyRecord
from infonn.storage.jsonl import JsonlStorage
from infonn.storage.memory import MemoryStorage
from infonn.study import Study
from infonn.tasks.similarity import SimilarityTask

NAMES = [f"item {i}" for i in range(8)]


@dataclass(frozen=True)
class WalkingLearner:
    """A belief that remembers its start, so that a lost or repeated fit shows."""

    def fit(self, answers, rng, start=None):
        before = np.zeros((len(NAMES), 2)) if start is None else start.embedding
        return Belief(before / 2 + rng.normal(size=before.shape) + len(answers))


@dataclass(frozen=True)
class CountingLearner:
    """How often each item was chosen."""

    def fit(self, answers, rng, start=None):
        chosen = answers.queries[np.arange(len(answers)), 1 + answers.responses]
        return Belief(np.bincount(chosen, minlength=len(NAMES))[:, None].astype(float))


@dataclass(frozen=True)
class FirstItemOracle:
    def answer(self, queries, rng):
        return rng.integers(0, queries.shape[1] - 1, len(queries))


def by_embedding(queries, situation, rng):
    return situation.belief.embedding[queries[:, 1], 0] + rng.random(len(queries)) * 1e-3


def best(scores, situation, size, rng):
    return np.argsort(-scores)[:size]


def make_study(storage, name="s", **settings) -> Study:
    if name not in {record.name for record in storage.studies()}:
        storage.create_study(StudyRecord(name, {}), [Item(n) for n in NAMES])
    settings = {"first": 4, "seed": 3, "strategy_name": "test", **settings}
    return Study(name, storage, SimilarityTask(NAMES), WalkingLearner(), Strategy(by_embedding, best), **settings)


def test_questions_name_their_items_and_options() -> None:
    question = make_study(MemoryStorage()).ask()[0]
    assert question.names == tuple(NAMES[i] for i in question.query)
    assert [option.item for option in question.options] == list(question.query[1:])
    assert sorted(question.shown) == [0, 1, 2]


def test_what_was_taken_back_is_told_anew() -> None:
    storage = MemoryStorage()
    study = make_study(storage, first=10)
    told = [study.tell(question, 0) for question in study.ask(6)]
    for response in (1, 2):
        storage.undo("s", told[-1].id)
        (question,) = study.ask()
        assert question.id == told[-1].question_id
        told.append(study.tell(question, response))
        assert told[-1] == study.tell(question, response)  # the same again is one answer
        assert study.answers().responses.tolist() == [0, 0, 0, 0, 0, response]


def test_scripts_that_choose_at_the_same_time_share_the_questions() -> None:
    storage = MemoryStorage()
    one, other = make_study(storage), make_study(storage)
    chosen = other.new_questions(3)  # from the same answers as `one`, a moment earlier
    asked = one.ask(3, "anna")
    storage.add_questions("s", chosen)
    assert {question.id for question in chosen} == {question.id for question in asked}
    assert not {question.id for question in other.ask(3, "bert")} & {question.id for question in asked}


def test_asking_again_before_telling_gives_the_same_question() -> None:
    study = make_study(MemoryStorage())
    assert study.ask() == study.ask()
    assert study.ask(respondent="another") != study.ask()


def test_first_questions_are_random_then_the_strategy_chooses() -> None:
    study = make_study(MemoryStorage())
    used = []
    for _ in range(6):
        question = study.ask()[0]
        used.append(question.strategy_used)
        study.tell(question.id, 0)
    assert used == ["random"] * 4 + ["test"] * 2


def test_no_query_is_asked_twice() -> None:
    study = make_study(MemoryStorage())
    list(study.run(FirstItemOracle(), rounds=10, size=5))
    keys = {(q.query[0], frozenset(q.query[1:])) for q in study.storage.questions("s")}
    assert len(keys) == len(study.storage.questions("s")) == 54


def test_a_pool_that_runs_out_ends_the_run() -> None:
    storage = MemoryStorage()
    study = make_study(storage)
    study.task = SimilarityTask(
        NAMES, pool=np.array([[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6], [4, 5, 6, 7]])
    )
    rounds = list(study.run(FirstItemOracle(), rounds=5, size=3))
    assert [r.n_answers for r in rounds] == [4, 5]


def test_a_run_may_begin_without_random_questions() -> None:
    rounds = list(make_study(MemoryStorage(), first=0).run(FirstItemOracle(), rounds=2, size=3))
    assert [each.n_answers for each in rounds] == [0, 3, 6]


def test_what_is_believed_follows_an_answer_that_was_changed() -> None:
    study = make_study(MemoryStorage())
    study.learner = CountingLearner()
    question = study.ask()[0]
    answer = study.tell(question.id, 0)
    assert study.belief().embedding[question.query[1], 0] == 1
    study.storage.undo(study.name, answer.id)
    study.tell(question.id, 2, answer_id="again")
    assert study.belief().embedding[question.query[3], 0] == 1


@pytest.mark.parametrize(
    ("embedding", "sentence"),
    [
        (np.ones((7, 2)), r"embedding has shape \(7, 2\); of 8 items it is \(8, dims\)"),
        (np.ones(8), r"embedding has shape \(8,\)"),
        (np.full((8, 2), np.nan), r"embedding of item 0 is \[nan nan\]"),
    ],
)
def test_a_learner_without_a_place_for_every_item_is_refused(embedding, sentence) -> None:
    study = make_study(MemoryStorage(), first=0)
    study.learner = SimpleNamespace(fit=lambda answers, rng, start=None: Belief(embedding))
    with pytest.raises(DataError, match=sentence):
        study.ask()


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        (lambda queries: np.ones(3), r"scores of shape \(3,\); 280 queries need \(280,\)"),
        (lambda queries: np.where(queries[:, 0] == 2, np.nan, 1.0), r"score of query \[2, 0, 1, 3\] is nan"),
    ],
)
def test_a_criterion_without_a_score_for_every_query_is_refused(score, sentence) -> None:
    study = make_study(MemoryStorage(), first=0)
    study.strategy = Strategy(lambda queries, situation, rng: score(queries), best)
    with pytest.raises(DataError, match=sentence):
        study.ask()


def test_same_seed_same_study() -> None:
    first, second = (list(make_study(MemoryStorage()).run(FirstItemOracle(), 3, 2)) for _ in range(2))
    assert [r.n_answers for r in first] == [r.n_answers for r in second] == [4, 6, 8, 10]
    studies = [make_study(MemoryStorage()) for _ in range(2)]
    for study in studies:
        list(study.run(FirstItemOracle(), 3, 2))
    a, b = (study.answers() for study in studies)
    np.testing.assert_array_equal(a.queries, b.queries)
    np.testing.assert_array_equal(a.responses, b.responses)
    np.testing.assert_array_equal(studies[0].embedding(), studies[1].embedding())


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.8, 0.97])
def test_an_interrupted_run_resumes_to_the_same_end(tmp_path, share) -> None:
    whole = JsonlStorage(tmp_path / "whole.jsonl")
    list(make_study(whole).run(FirstItemOracle(), 5, 3))
    content = (tmp_path / "whole.jsonl").read_bytes()
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(content[: max(int(len(content) * share), content.index(b"\n") + 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resumed = JsonlStorage(cut)
    study = make_study(resumed)
    list(study.run(FirstItemOracle(), 5, 3))
    expected = make_study(whole)
    np.testing.assert_array_equal(study.answers().queries, expected.answers().queries)
    np.testing.assert_array_equal(study.answers().responses, expected.answers().responses)
    np.testing.assert_array_equal(study.belief().embedding, expected.belief().embedding)
    np.testing.assert_array_equal(study.warm_belief().embedding, expected.warm_belief().embedding)


def test_a_cut_off_last_line_is_said_and_the_rest_kept(tmp_path) -> None:
    path = tmp_path / "r.jsonl"
    study = make_study(JsonlStorage(path))
    study.tell(study.ask()[0].id, 1)
    study.storage.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"event": "answ')
    with pytest.warns(UserWarning, match="cut off in its last line"):
        storage = JsonlStorage(path)
    assert len(storage.answers("s")) == 1
    storage.close()
    assert path.read_bytes() == whole


def test_damage_in_the_middle_is_an_error_and_changes_nothing(tmp_path) -> None:
    path = tmp_path / "r.jsonl"
    study = make_study(JsonlStorage(path))
    study.tell(study.ask()[0].id, 1)
    study.storage.close()
    lines = path.read_text().splitlines()
    damaged = "\n".join([lines[0], lines[1][:20], *lines[2:]]) + "\n"
    path.write_text(damaged)
    with pytest.raises(ResultsFileError, match=r"Line 2 of .* cannot be read"):
        JsonlStorage(path)
    assert path.read_text() == damaged


def test_a_file_of_something_else_is_not_overwritten(tmp_path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("a line that never ended")
    with pytest.raises(ResultsFileError, match=r"notes.txt is no results file; it was not changed"):
        JsonlStorage(path)
    assert path.read_text() == "a line that never ended"


def test_of_two_that_have_a_results_file_open_one_is_refused_and_nothing_lost(tmp_path) -> None:
    path = tmp_path / "r.jsonl"
    first = make_study(JsonlStorage(path))
    first.tell(first.ask()[0].id, 0)
    second = make_study(JsonlStorage(path))
    second.tell(second.ask()[0].id, 1)
    with pytest.raises(ResultsFileError, match="written to by another study that has it open"):
        first.ask()
    assert second.answers().responses.tolist() == [0, 1]
    assert make_study(JsonlStorage(path)).answers().responses.tolist() == [0, 1]


def test_the_results_file_is_json_lines(tmp_path) -> None:
    path = tmp_path / "r.jsonl"
    list(make_study(JsonlStorage(path)).run(FirstItemOracle(), 1, 2, {"mean": lambda belief: belief.embedding.mean()}))
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["event"] for event in events] == [
        *["study", "questions"],
        *["answer"] * 4,
        *["round", "questions", "answer", "answer", "round"],
    ]
    assert set(events[-1]["measures"]) == {"mean"}


def test_unknown_question_is_refused() -> None:
    with pytest.raises(UnknownQuestionError, match='Question "812" was never asked in study "s"'):
        make_study(MemoryStorage()).tell("812", 0)


def test_a_second_answer_is_refused_and_the_first_kept() -> None:
    study = make_study(MemoryStorage())
    question = study.ask(respondent="p-17")[0]
    study.tell(question.id, 1, respondent="p-17")
    with pytest.raises(AlreadyAnsweredError, match="already answered"):
        study.tell(question.id, 2, respondent="p-17")
    with pytest.raises(AlreadyAnsweredError, match="already answered by participant p-17"):
        study.tell(question.id, 2, respondent="p-18")
    assert study.answers().responses.tolist() == [1]


def test_the_same_answer_again_is_one_answer() -> None:
    study = make_study(MemoryStorage())
    question = study.ask()[0]
    assert study.tell(question.id, 1) == study.tell(question.id, 1)
    assert len(study.answers()) == 1


@pytest.mark.parametrize("response", [-1, 3, 99, 1.5, "1", float("nan")])
def test_a_response_outside_its_options_is_refused(response) -> None:
    study = make_study(MemoryStorage())
    question = study.ask()[0]
    with pytest.raises(InvalidQueryError, match="none of its 3 options, numbered 0 to 2"):
        study.tell(question.id, response)
    assert len(study.answers()) == 0


def test_skipped_questions_are_kept_and_teach_nothing() -> None:
    study = make_study(MemoryStorage())
    question = study.ask()[0]
    study.tell(question.id, None, outcome="skipped")
    assert len(study.answers()) == 0
    assert study.storage.answers("s")[0].answer.outcome == "skipped"
    assert study.ask()[0].id != question.id
    with pytest.raises(InvalidQueryError, match="have none"):
        study.tell(study.ask()[0].id, 1, outcome="skipped")


def test_embedding_has_item_names() -> None:
    frame = make_study(MemoryStorage()).embedding()
    assert list(frame.index) == NAMES
    assert list(frame.columns) == ["x0", "x1"]
