"""Queries as integer arrays: what is refused, and what goes there and back."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infonn.errors import InvalidQueryError
from infonn.queries import (
    Answers,
    all_queries,
    check_kind,
    check_length,
    check_queries,
    check_responses,
    count_queries,
    count_triplets,
    draw_queries,
    enumerate_queries,
    no_answers,
    not_among,
    option_counts,
    orders,
    queries_from_triplets,
    question_key,
    question_keys,
    rank_of_orders,
    split_into_triplets,
    stack_queries,
)

shapes = st.integers(2, 5).flatmap(lambda c: st.tuples(st.integers(c + 1, 12), st.just(c)))
seeds = st.integers(0, 2**32 - 1)


# --- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "queries, sentence",
    [
        ([[4, 9, 4, 2]], "Query 0 is [4, 9, 4, 2]: item 4 occurs twice. A reference and its candidates must differ."),
        ([[0, 1, 2], [3, 5, 5]], "Query 1 is [3, 5, 5]: item 5 occurs twice."),
        ([[0, 1, 10]], "Query 0 is [0, 1, 10]: item 10 is out of range. Items are numbered 0 to 9."),
        ([[0, -2, 1]], "item -2 is out of range"),
        ([[0, -1, 1, 2]], "-1 only fills the end of a short row"),
        ([[0, 1, -1]], "after a reference and at least 2 candidates"),
        ([[0.5, 1, 2]], "Queries are float64; they must be whole numbers"),
        ([0, 1, 2], "Queries have shape (3,)"),
        ([[0, 1, 2], [0, 1, 2, 3]], "Queries are rows of different lengths; fill short rows with -1 at their end."),
        ([[0, 1]], "at least 2 candidates"),
        ([list(range(11))], "Queries of 10 candidates need 11 items, and there are 10. Use at most 9 candidates."),
    ],
)
def test_a_query_that_cannot_be_asked_is_shown_and_explained(queries, sentence):
    with pytest.raises(InvalidQueryError) as caught:
        check_queries(queries, 10)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("n_candidates, n_items", [(1, 10), (0, 10), (5, 5), (3, 0)])
def test_lengths_that_items_cannot_fill_are_refused(n_candidates, n_items):
    with pytest.raises(InvalidQueryError):
        check_length(n_candidates, n_items)


@pytest.mark.parametrize(
    "responses, kind, sentence",
    [
        ([0, 3], "nearest", "Response 1 is 3; query [1, 0, 2, 3] has 3 options, numbered 0 to 2."),
        ([-1, 0], "nearest", "Response 0 is -1"),
        ([2, 0], "nearest", "Response 0 is 2; query [0, 1, 2, -1] has 2 options"),
        ([0], "nearest", "(1,) responses for 2 queries; there must be one per query."),
        ([0.0, 1.0], "nearest", "Responses are float64"),
        ([1, 6], "ranking", "Response 1 is 6; query [1, 0, 2, 3] has 6 options"),
        ([0, 10], "label", "has 10 options"),
    ],
)
def test_a_response_outside_its_options_is_refused(responses, kind, sentence):
    queries = np.array([[0, 1, 2, -1], [1, 0, 2, 3]], np.int32)
    with pytest.raises(InvalidQueryError) as caught:
        check_responses(responses, queries, kind, n_classes=10)
    assert sentence in str(caught.value)


def test_more_than_six_are_not_ranked():
    with pytest.raises(InvalidQueryError, match="A ranking of 7 items; at most 6 can be ranked"):
        orders(7)
    with pytest.raises(InvalidQueryError, match="A ranking of 7 items"):
        option_counts(np.arange(8)[None], "ranking")


def test_label_answers_have_no_triplets():
    with pytest.raises(InvalidQueryError, match="no triplets"):
        split_into_triplets(Answers(np.array([[0, 1, 2]]), np.array([4]), "label"))


def test_good_queries_and_responses_come_back_as_int32():
    queries = check_queries([[0, 1, 2, 3], [4, 2, 1, -1]], 5)
    assert queries.dtype == np.int32
    assert check_responses([2, 1], queries).dtype == np.int32
    assert check_responses([], np.empty((0, 4), np.int32)).shape == (0,)


# --- drawing and enumerating -------------------------------------------------------------------------


@given(shapes, st.integers(0, 50), seeds)
def test_drawn_queries_can_be_asked(shape, n, seed):
    n_items, n_candidates = shape
    queries = draw_queries(n, n_items, n_candidates, np.random.default_rng(seed))
    assert queries.shape == (n, 1 + n_candidates)
    check_queries(queries, n_items)


def test_drawn_queries_are_uniform(rng):
    """24 different rows: chi-square with 23 degrees of freedom stays below 58.6 with probability 0.9999."""
    drawn = draw_queries(24_000, 4, 2, rng)
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 24
    assert ((counts - 1000) ** 2 / 1000).sum() < 58.6


@given(shapes, st.sampled_from([1, 3, 7, 50, 10_000]))
def test_every_query_is_enumerated_once_in_chunks(shape, chunk):
    n_items, n_candidates = shape
    chunks = list(enumerate_queries(n_items, n_candidates, chunk))
    rows = np.concatenate(chunks)
    assert all(len(part) <= max(chunk, 1) for part in chunks)
    assert len(rows) == count_queries(n_items, n_candidates)
    assert len(np.unique(question_keys(rows, "nearest"), axis=0)) == len(rows)
    check_queries(rows, n_items)


def test_all_queries_of_four_items():
    expected = {(r, *pair) for r in range(4) for pair in itertools.combinations([i for i in range(4) if i != r], 2)}
    assert set(map(tuple, all_queries(4, 2).tolist())) == expected


# --- orders ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(2, 7))
def test_an_order_and_its_response_go_there_and_back(k):
    np.testing.assert_array_equal(rank_of_orders(orders(k)), np.arange(math.factorial(k)))
    assert orders(k).tolist() == [list(order) for order in itertools.permutations(range(k))]


# --- the same question -------------------------------------------------------------------------------


@given(shapes, seeds)
def test_candidate_order_does_not_make_a_new_question(shape, seed):
    rng = np.random.default_rng(seed)
    queries = draw_queries(20, *shape, rng)
    shuffled = np.hstack([queries[:, :1], rng.permuted(queries[:, 1:], axis=1)])
    np.testing.assert_array_equal(question_keys(queries, "nearest"), question_keys(shuffled, "nearest"))
    assert not not_among(shuffled, queries, "nearest").any()


@pytest.mark.parametrize("kind", ["nearest", "label", "odd_one_out"])
def test_keys_as_text_and_as_numbers_agree(kind, rng):
    queries = draw_queries(300, 6, 3, rng)
    texts = [question_key(query, kind) for query in queries.tolist()]
    same_text = np.equal.outer(texts, texts)
    keys = question_keys(queries, kind)
    np.testing.assert_array_equal(np.equal.outer(keys, keys), same_text)


def test_not_among_finds_what_was_never_asked():
    asked = np.array([[0, 1, 2], [3, 1, 2]], np.int32)
    pool = np.array([[0, 2, 1, -1], [1, 0, 2, -1], [0, 1, 2, 3]], np.int32)
    assert not_among(pool, asked, "nearest").tolist() == [False, True, True]
    assert not_among(pool, asked, "label").tolist() == [False, True, False]
    assert not_among(pool, asked[:0], "nearest").all()


# --- triplets ----------------------------------------------------------------------------------------


def test_a_nearest_answer_of_c_candidates_is_c_minus_1_triplets():
    answers = Answers(np.array([[0, 5, 6, 7], [1, 2, 3, -1]]), np.array([1, 0]))
    assert split_into_triplets(answers).tolist() == [[0, 6, 5], [0, 6, 7], [1, 2, 3]]


def test_an_odd_one_is_two_triplets():
    answers = Answers(np.array([[4, 2, 7], [0, 1, 2]], np.int32), np.array([1, 2], np.int32), "odd_one_out")
    assert split_into_triplets(answers).tolist() == [[4, 7, 2], [7, 4, 2], [0, 1, 2], [1, 0, 2]]
    assert count_triplets(answers) == 4
    assert len(split_into_triplets(no_answers(2, "odd_one_out"))) == 0


def test_every_triple_is_asked_once_whatever_its_order():
    triples = all_queries(6, 2, "odd_one_out")
    assert len(triples) == count_queries(6, 2, "odd_one_out") == 20
    assert len({frozenset(row) for row in triples.tolist()}) == 20
    turned = triples[:, [2, 0, 1]]
    assert not not_among(turned, triples, "odd_one_out").any()
    assert not_among(turned, triples, "nearest").any()
    assert option_counts(triples, "odd_one_out").tolist() == [3] * 20


def test_an_odd_one_is_asked_for_among_three():
    check_kind(2, "odd_one_out")
    with pytest.raises(InvalidQueryError, match="among 3 items, and these queries have 4. Use candidates = 2"):
        check_kind(3, "odd_one_out")


def test_a_ranking_is_all_its_pairs():
    response = orders(3).tolist().index([2, 0, 1])
    answers = Answers(np.array([[9, 5, 6, 7]]), np.array([response]), "ranking")
    assert split_into_triplets(answers).tolist() == [[9, 7, 5], [9, 7, 6], [9, 5, 6]]


@given(shapes, seeds)
def test_triplets_agree_with_the_distances_that_answered(shape, seed):
    rng = np.random.default_rng(seed)
    n_items, n_candidates = shape
    queries = draw_queries(15, n_items, n_candidates, rng)
    distances = rng.random((n_items, n_items))
    asked = np.take_along_axis(distances[queries[:, 0]], queries[:, 1:].astype(int), axis=1)
    ranking = Answers(queries, rank_of_orders(np.argsort(asked, axis=1)), "ranking")
    nearest = Answers(queries, np.argmin(asked, axis=1))
    for answers, per_query in ((nearest, n_candidates - 1), (ranking, n_candidates * (n_candidates - 1) // 2)):
        reference, near, far = split_into_triplets(answers).T
        assert len(reference) == 15 * per_query
        assert (distances[reference, near] < distances[reference, far]).all()


@given(st.integers(2, 4), seeds)
def test_queries_formed_from_triplets_are_all_those_the_triplets_imply(n_candidates, seed):
    rng = np.random.default_rng(seed)
    triplets = np.unique(draw_queries(40, 6, 2, rng), axis=0)
    answers = queries_from_triplets(triplets, n_candidates)
    found = {
        (q[0], q[1 + r], frozenset(q[1:]) - {q[1 + r]})
        for q, r in zip(answers.queries.tolist(), answers.responses.tolist())
    }
    known = {(r, n): {f for a, b, f in triplets.tolist() if (a, b) == (r, n)} for r, n, _ in triplets.tolist()}
    expected = {
        (r, n, frozenset(far))
        for (r, n), fars in known.items()
        for far in itertools.combinations(fars, n_candidates - 1)
    }
    assert found == expected
    assert len(answers) == len(expected)
    assert (np.diff(answers.queries[:, 1:], axis=1) > 0).all(), "ascending, so that order does not tell the answer"


# --- putting together --------------------------------------------------------------------------------


def test_stacked_queries_end_in_padding():
    stacked = stack_queries([np.array([[0, 1, 2]]), np.array([[3, 4, 5, 6]])])
    assert stacked.tolist() == [[0, 1, 2, -1], [3, 4, 5, 6]]
    assert stacked.dtype == np.int32


def test_answers_join_and_are_taken():
    first = Answers(np.array([[0, 1, 2]], np.int32), np.array([1], np.int32))
    joined = no_answers(2).joined(first).joined(Answers(np.array([[1, 2, 3, 4]], np.int32), np.array([2], np.int32)))
    assert joined.queries.tolist() == [[0, 1, 2, -1], [1, 2, 3, 4]]
    assert joined.take(joined.responses == 2).queries.tolist() == [[1, 2, 3, 4]]
    assert len(joined.take(slice(0, 1))) == 1
