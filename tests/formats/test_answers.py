"""Answers leave in every format and come back the same; what is no such file is refused in one sentence."""

import contextlib
import io
import json
import math
from csv import reader

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infonn.contracts.storage import Answered
from infonn.errors import DataError
from infonn.formats import cblearn, csv, next, salmon
from infonn.records import Answer, Option, Question

NAMES = ["soup", "bread, fresh", 'the "salad"', "curry\nrice", "käse", "x"]


@st.composite
def answered(draw, kinds=("nearest",), all_answered=False, max_candidates=4) -> Answered:
    kind = draw(st.sampled_from(kinds))
    query = draw(st.permutations(range(len(NAMES))))[: 1 + draw(st.integers(2, max_candidates))]
    labels = ["yes", "no"] if kind == "label" else [NAMES[item] for item in query[1:]]
    items = [None, query[1]] if kind == "label" else list(query[1:])
    outcome = "answered" if all_answered else draw(st.sampled_from(["answered", "skipped", "cannot_tell"]))
    response = draw(st.integers(0, len(labels) - 1)) if outcome == "answered" else None
    number = draw(st.integers(1, 10**6))
    seconds = st.floats(0, 1e9, allow_nan=False)
    question = Question(
        id=f"q{number}",
        study="s",
        query=tuple(query),
        names=tuple(NAMES[item] for item in query),
        options=tuple(Option(label, item) for label, item in zip(labels, items)),
        shown=tuple(draw(st.permutations(range(len(labels))))),
        kind=kind,
        purpose="train" if all_answered else draw(st.sampled_from(["train", "hold_out", "catch", "practice"])),
        expected=draw(st.none() | st.integers(0, 1)),
        strategy_asked="info_nn",
        strategy_used=draw(st.sampled_from(["info_nn", "random"])),
        model_version=draw(st.integers(0, 50)),
        score=draw(st.none() | st.floats(0, 2)),
        unseen_answers=draw(st.integers(0, 9)),
        created_at=draw(seconds),
        respondent="p-1",
        asked_at=draw(st.none() | seconds),
    )
    answer = Answer(
        id=f"a{number}",
        question_id=question.id,
        respondent="p-1",
        response=response,
        outcome=outcome,
        response_time_s=draw(st.none() | st.floats(0, 100)),
        received_at=draw(st.floats(0, 4e9)),
        late=draw(st.booleans()),
        undone=draw(st.booleans()),
        context=draw(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=2)),
        number=number,
    )
    return Answered(question, answer)


def unique(strategy):
    return st.lists(strategy, max_size=6, unique_by=lambda pair: pair.question.id)


def judged(pairs) -> dict:
    """What a triplet file can keep of an answer."""
    return {
        pair.question.id: (
            pair.question.query[0],
            frozenset(pair.question.query[1:]),
            pair.question.options[pair.answer.response].item,
            pair.answer.respondent,
        )
        for pair in pairs
    }


@given(unique(answered(kinds=("nearest", "label"))))
def test_our_csv_and_json_lines_keep_everything(pairs) -> None:
    rows = list(csv.answer_rows(pairs, NAMES, set()))
    assert csv.read_csv(csv.write_csv(rows), "s", NAMES) == pairs
    assert csv.read_json_lines(csv.write_json_lines(rows), "s", NAMES) == pairs


@given(unique(answered(kinds=("nearest", "label"))))
def test_our_parquet_keeps_everything(pairs) -> None:
    rows = list(csv.answer_rows(pairs, NAMES, set()))
    assert csv.read_parquet(csv.write_parquet(rows), "s", NAMES) == pairs


@given(st.binary(max_size=300) | st.binary(max_size=100).map(lambda middle: b"PAR1" + middle + b"PAR1"))
def test_any_bytes_are_no_parquet(data) -> None:
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        csv.read_parquet(data, "s", NAMES)


def test_our_csv_names_items_so_that_it_fits_a_study_with_another_order(rng) -> None:
    question = Question(
        "q", "s", (0, 1, 5), ("soup", "bread, fresh", "x"), (Option("bread, fresh", 1), Option("x", 5)), (1, 0)
    )
    text = csv.write_csv(csv.answer_rows([Answered(question, Answer("a", "q", "p", 1))], NAMES, {"p"}))
    (back,) = csv.read_csv(text, "t", NAMES[::-1])
    assert back.question.query == (5, 4, 0)
    assert [option.item for option in back.question.options] == [4, 0]
    assert "true" in text.splitlines()[1]  # excluded


@given(unique(answered(all_answered=True)))
def test_salmon_and_next_keep_question_answer_and_person(pairs) -> None:
    for back in (
        salmon.read(salmon.write(pairs, NAMES, 10.0), "s", NAMES),
        next.read(next.write(pairs, NAMES, "s"), "s", NAMES),
    ):
        assert judged(back) == judged(pairs)
        times = {pair.question.id: pair.answer.response_time_s for pair in pairs}
        assert {pair.question.id: pair.answer.response_time_s for pair in back} == times
        received = {pair.question.id: pair.answer.received_at for pair in pairs}
        for pair in back:
            assert pair.answer.received_at == pytest.approx(received[pair.question.id], abs=1e-5)


@given(unique(answered(all_answered=True)))
def test_cblearn_keeps_question_and_answer(pairs) -> None:
    triplets, question_ids = cblearn.list_order(pairs)
    assert triplets.dtype == np.uint32
    assert len(triplets) == sum(len(pair.question.options) - 1 for pair in pairs)
    back = cblearn.read(cblearn.write(pairs, NAMES), "s", NAMES)
    assert {key: value[:3] for key, value in judged(back).items()} == {key: v[:3] for key, v in judged(pairs).items()}
    asked = {(pair.question.kind, pair.question.query[0], *sorted(pair.question.query[1:])) for pair in pairs}
    assert len(set(question_ids.tolist())) == len(asked)


def test_cblearn_groups_copies_of_a_question_and_reads_all_of_them_back() -> None:
    options = (Option("b", 1), Option("c", 2))
    pairs = []
    for number, (query, response) in enumerate([((0, 1, 2), 0), ((0, 2, 1), 0), ((0, 1, 2), 0), ((1, 0, 2), 1)]):
        shown = options if query[1] == 1 else options[::-1]
        question = Question(f"q{number}", "s", query, ("",) * 3, shown, (0, 1))
        pairs.append(Answered(question, Answer(f"a{number}", question.id, f"p{number}", response)))
    triplets, question_ids = cblearn.list_order(pairs)
    assert question_ids.tolist() == ["q0", "q0", "q0", "q3"]
    back = cblearn.read(cblearn.write(pairs, ["a", "b", "c"]), "s", ["a", "b", "c"])
    assert [pair.question.id for pair in back] == ["q0", "q1", "q2", "q3"]
    again, _ = cblearn.list_order(back)
    assert again.tolist() == triplets.tolist() == [[0, 1, 2], [0, 2, 1], [0, 1, 2], [1, 2, 0]]


def test_a_table_of_answers_says_where_on_the_screen_the_chosen_option_stood() -> None:
    question = Question("q", "s", (0, 1, 2, 3), ("a", "b", "c", "d"), tuple(map(Option, "bcd")), (2, 0, 1))
    rows = csv.answer_rows([Answered(question, Answer("a", "q", "p", 0, response_time_s=1.5))], list("abcd"), set())
    row = dict(zip(*reader(io.StringIO(csv.write_csv(rows)))))
    assert (row["chosen"], row["chosen_place"], row["response_time_s"]) == ("b", "2", "1.5")


@given(unique(answered(all_answered=True)))
def test_reading_a_file_twice_gives_the_same_ids(pairs) -> None:
    text = salmon.write(pairs, NAMES)
    first, again = (salmon.read(text, "s", NAMES) for _ in range(2))
    assert [pair.answer.id for pair in first] == [pair.answer.id for pair in again]
    assert len({pair.answer.id for pair in first}) == len(first)


def test_salmon_writes_the_columns_of_its_first_version() -> None:
    header = salmon.write([], NAMES).splitlines()[0].split(",")
    assert len(header) == 27
    assert {"head", "left", "right", "winner", "loser", "sampler", "score", "puid", "winner_html"} <= set(header)
    assert {"response_time", "network_latency", "time_received", "datetime_received"} <= set(header)
    assert header[-1] == "question_id"


def test_salmon_of_the_older_generation_is_read() -> None:
    text = (
        "alg_ident,head,head_object,left,left_object,loser,network_latency,puid,response_time,right,right_object,score,"
        "time_received,winner,winner_object\n"
        "RandomSampling,0,soup,1,bread,1,0.1,anna,1.25,4,cheese,-9999,1600000000.5,4,cheese\n"
    )
    (pair,) = salmon.read(text, "s", NAMES)
    assert (pair.question.query, pair.answer.response) == ((0, 1, 4), 1)
    assert (pair.answer.respondent, pair.answer.response_time_s, pair.question.score) == ("anna", 1.25, None)
    assert pair.question.strategy_used == "RandomSampling"
    assert pair.question.shown == (0, 1)  # bread stood on the left


def test_next_is_read_as_it_writes() -> None:
    text = (
        ",exp_uid,participant_uid,alg_id,alg_label,query_uid,timestamp_query_generated,timestamp_answer_received,"
        "response_time,network_delay,target_winner,winner_id,target_center,target_left,target_right,"
        "center_id,left_id,right_id\n"
        "0,e,anna,CrowdKernel,Test,u1,2015-05-31 14:02:01.000000,2015-05-31 14:02:03.500000,"
        "1.5,0.2,soup,0,x,bread,soup,5,1,0\n"
    )
    (pair,) = next.read(text, "s", NAMES)
    assert (pair.question.id, pair.question.query, pair.answer.response) == ("u1", (5, 0, 1), 0)
    assert pair.answer.received_at == pytest.approx(1433080923.5)
    assert pair.question.strategy_used == "Test"


def test_cblearn_counts_and_booleans() -> None:
    triplets = np.array([[0, 1, 2], [3, 4, 5], [0, 1, 3]])
    counted = cblearn.from_list_count(triplets, np.array([2, -1, 0]), "s", NAMES)
    chosen = [(pair.question.query[0], pair.question.options[pair.answer.response].item) for pair in counted]
    assert chosen == [(0, 1), (0, 1), (3, 5)]
    agreed = cblearn.from_list_boolean(triplets, np.array([True, False, True]), "s", NAMES)
    assert [pair.question.options[pair.answer.response].item for pair in agreed] == [1, 5, 1]
    with pytest.raises(DataError, match=r"\(n, 3\) and \(n,\) is right"):
        cblearn.from_list_count(triplets[:, :2], np.ones(3, int), "s", NAMES)


def test_triplets_of_one_ranking_stay_apart_by_what_was_nearer() -> None:
    orders = tuple(Option(f"order {i}") for i in range(6))
    names = ("soup", "bread, fresh", 'the "salad"', "curry\nrice")
    question = Question("q", "s", (0, 1, 2, 3), names, orders, tuple(range(6)), kind="ranking")
    triplets, ids = cblearn.list_order([Answered(question, Answer("a", "q", "p", 0))])
    assert triplets.tolist() == [[0, 1, 2], [0, 1, 3], [0, 2, 3]]
    assert set(ids.tolist()) == {"q"}


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (salmon.read, "a,b\n1,2\n", "no column `head`"),
        (salmon.read, "head,left,right,winner\n0,1,2,3\n", "neither the left item 1 nor the right 2"),
        (salmon.read, "head,left,right,winner\n0,1,99,1\n", "the study's items are 0 to 5"),
        (salmon.read, "head,left,right,winner\n0,1,1,1\n", "the three must differ"),
        (salmon.read, "head,left,right,winner\n0,x,2,2\n", 'Line 2: column "left" is "x"'),
        (salmon.read, "head,left,right,winner\n0,1\n", "Line 2 does not have as many cells"),
        (next.read, "center_id,left_id,right_id,target_winner\n0,1,2,zebra\n", "neither the left item"),
        (csv.read_csv, "x\n1\n", "no column `answer_id`"),
        (csv.read_json_lines, "{nonsense\n", "Line 1 is not JSON"),
        (csv.read_json_lines, "[1]\n", "Line 1 is not a JSON object"),
        (csv.read_json_lines, json.dumps({"answer_id": "a"}) + "\n", "Line 1 cannot be read"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(read, text, sentence) -> None:
    with pytest.raises(DataError) as raised:
        read(text, "s", NAMES)
    assert sentence in str(raised.value)


HEADERS = ["head,left,right,winner", "answer_id,question_id,reference,candidates", "center_id,left_id,right_id"]
CELLS = ["\n", ",", "0", "1", "nan", "1e400", "-1", '"', "soup", "[]", '["soup"]', "{}", "\0", "\ufeff"]
any_text = st.text(max_size=200) | st.lists(st.sampled_from(HEADERS + CELLS), max_size=30).map("".join)


@settings(max_examples=200)
@given(any_text)
def test_any_text_is_read_or_refused_in_one_sentence(text) -> None:
    for read in (salmon.read, next.read, csv.read_csv, csv.read_json_lines):
        with contextlib.suppress(DataError):
            read(text, "s", NAMES)


any_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=4) | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(csv.COLUMNS), any_json, max_size=12))
def test_any_json_row_is_read_or_refused_in_one_sentence(row) -> None:
    full = {
        "answer_id": "a",
        "question_id": "q",
        "reference": "soup",
        "candidates": ["x", "käse"],
        "response": 0,
        **row,
    }
    with contextlib.suppress(DataError):
        csv.read_json_lines(json.dumps(full) + "\n", "s", NAMES)


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes_are_no_arrays(data) -> None:
    with pytest.raises(DataError):
        cblearn.read(data, "s", NAMES)


def test_a_lease_without_end_is_no_number_in_json() -> None:
    options = (Option("bread, fresh", 1), Option("x", 5))
    asked = Question("q", "s", (0, 1, 5), ("soup", "bread, fresh", "x"), options, (0, 1), lease_until=float("inf"))
    text = csv.write_json_lines(csv.answer_rows([Answered(asked, Answer("a", "q", "", 0))], NAMES, set()))
    assert json.loads(text, parse_constant=pytest.fail)["lease_until"] is None


@pytest.mark.parametrize("no_response", ["", "nan"])
def test_tables_that_went_through_other_tools_are_read_alike(no_response) -> None:
    columns = "answer_id,question_id,reference,candidates,response,outcome,undone"
    cells = """"[""käse"", ""x""]\""""
    text = f"{columns}\na,q,soup,{cells},1.0,answered,TRUE\nb,r,soup,{cells},{no_response},skipped,False\n"
    first, second = (pair.answer for pair in csv.read_csv(text, "s", NAMES))
    assert (first.response, first.undone, second.response, second.undone) == (1, True, None, False)
    with pytest.raises(DataError, match='Line 2 cannot be read: column "response" is 1.5'):
        csv.read_csv(text.replace("1.0", "1.5"), "s", NAMES)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"candidates": ["soup", "x"]}, "Line 1 cannot be read: the items of a question must differ"),
        ({"shown": [0, 0]}, "Line 1 cannot be read: `shown` must hold the number of every option once"),
    ],
)
def test_questions_that_nobody_can_have_seen_are_refused(changes, sentence) -> None:
    row = {"answer_id": "a", "question_id": "q", "reference": "soup", "candidates": ["käse", "x"], "response": 0}
    with pytest.raises(DataError, match=sentence):
        csv.read_json_lines(json.dumps(row | changes), "s", NAMES)


def test_json_lines_may_hold_what_unicode_calls_a_line_end() -> None:
    row = {"answer_id": "a", "question_id": "q", "reference": "soup", "candidates": ["käse", "x"], "response": 0}
    text = json.dumps({**row, "respondent": "anna\u2028b"}, ensure_ascii=False)
    assert csv.read_json_lines(f"{text}\r\n", "s", NAMES)[0].answer.respondent == "anna\u2028b"


def plain_pair(**changes) -> Answered:
    """One answer, changed where a test needs it."""
    options = tuple(Option(NAMES[item], item) for item in (1, 2))
    question = Question("q", "s", (0, 1, 2), tuple(NAMES[:3]), options, (0, 1), respondent="p")
    answer = Answer("a", "q", "p", 1, **changes)
    return Answered(question, answer)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "'=1", "''-x", "'quoted'", "plain", "-"])
def test_low_cells_that_a_spreadsheet_would_run_are_text_and_come_back_unchanged(name) -> None:
    names = [name, "b", "c"]
    options = (Option("b", 1), Option("c", 2))
    pair = Answered(
        Question("q", "s", (0, 1, 2), tuple(names), options, (0, 1), respondent=name, score=-1.5),
        Answer(name, "q", name, 0, response_time_s=-0.5),
    )
    text = csv.write_csv(csv.answer_rows([pair], names, set()))
    cells = list(reader(io.StringIO(text)))[1]
    assert not any(cell[:1] in tuple("=+-@\t\r") for cell in cells if cell not in ("-1.5", "-0.5"))
    back = csv.read_csv(text, "s", names)[0]
    assert (back.answer.id, back.answer.respondent, back.question.names) == (name, name, tuple(names))
    assert (back.question.score, back.answer.response_time_s) == (-1.5, -0.5)


def test_low_a_small_parquet_file_of_many_rows_is_refused_before_it_is_read(monkeypatch) -> None:
    """32 KB of equal rows took a minute and 1.5 GB."""
    import pyarrow
    import pyarrow.parquet as parquet

    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table({"answer_id": pyarrow.array(["a"]).take(pyarrow.array([0] * 2_000_001))}), buffer)
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(DataError, match="2,000,001 answers; at most 2,000,000 are taken"):
        csv.read_parquet(buffer.getvalue(), "s", NAMES)
    buffer = io.BytesIO()
    long = pyarrow.array(["a" * 20_000_000]).dictionary_encode().take(pyarrow.array([0] * 2000))
    parquet.write_table(pyarrow.table({"answer_id": long}), buffer, compression="zstd")
    with pytest.raises(DataError, match="unpacks to"):
        csv.read_parquet(buffer.getvalue(), "s", NAMES)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"triplets": np.zeros((3_000_000, 3), np.uint32)}, "unpacks to"),
        ({"triplets": np.array([[0, 1, 2]]), "responses": np.array([2**40])}, "at most 2,000,000 are taken"),
        ({"triplets": np.array([[0, 1, 2]] * 2), "responses": np.array([2**63 - 1] * 2)}, "at most 2,000,000"),
        ({"triplets": np.array([[0, 1, 2]]), "responses": np.array([-(2**63)])}, "at most 2,000,000"),
        ({"triplets": np.array([[0, 1, 2]]), "responses": np.array([np.nan])}, "whole numbers"),
        ({"triplets": np.array([[0, 1, 2]]), "responses": np.array(["x"])}, "whole numbers"),
    ],
)
def test_low_arrays_that_stand_for_too_many_answers_are_refused(arrays, problem) -> None:
    """230 KB took minutes; one count of a million millions never ended."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    with pytest.raises(DataError, match=problem):
        cblearn.read(buffer.getvalue(), "s", NAMES)


@pytest.mark.parametrize("context", [[1, 2], "text", 7, True])
def test_point_7_a_context_that_is_no_object_is_refused_and_breaks_no_export(context) -> None:
    rows = list(csv.answer_rows([plain_pair(context=context)], NAMES, set()))
    assert json.loads(csv.write_json_lines(rows))["context"] == {"value": context}
    assert csv.read_csv(csv.write_csv(rows), "s", NAMES)[0].answer.context == {"value": context}
    row = json.dumps({**rows[0], "context": context})
    with pytest.raises(DataError, match="`context` is .* it must be an object"):
        csv.read_json_lines(row, "s", NAMES)


def test_point_9_numbers_that_are_none_leave_as_null_and_are_refused_coming_in() -> None:
    rows = list(csv.answer_rows([plain_pair(context={"x": [math.nan, math.inf, 1.5]})], NAMES, set()))
    text = csv.write_json_lines(rows)
    assert json.loads(text, parse_constant=pytest.fail)["context"] == {"x": [None, None, 1.5]}
    for wrong in (
        '"context": {"x": NaN}',
        '"context": {}, "response_time_s": 1e999',
        '"context": {}, "score": Infinity',
    ):
        with pytest.raises(DataError, match="Line 1"):
            csv.read_json_lines(text.replace('"context": {"x": [null, null, 1.5]}', wrong), "s", NAMES)
    for column, value in (("response_time_s", "1e999"), ("model_version", "99999999999"), ("score", "-inf")):
        table = csv.write_csv([{**rows[0], column: value}])
        with pytest.raises(DataError, match=column):
            csv.read_csv(table, "s", NAMES)
