"""One suite for every learner with a name: same seed, same belief; a finite place for every item; and its extras."""

from dataclasses import replace

import numpy as np
import pytest

from infonn.arrays import to_numpy
from infonn.contracts.loop import AdjustableLearner, PlacingLearner, StackedLearner
from infonn.errors import InfonnError
from infonn.learners.classifiers.cnn import CNN
from infonn.learners.classifiers.recipes import Recipe
from infonn.loop import checked
from infonn.queries import Answers, draw_queries, no_answers
from infonn.specs.registry import LEARNERS_BY_TASK, build_part, describe

N_ITEMS, N_CLASSES = 14, 3
RNG = np.random.default_rng(7)
FEATURES = RNG.normal(size=(N_ITEMS, 4))
PICTURES = RNG.integers(0, 256, (N_ITEMS, 16, 16)).astype(np.uint8)
CLASSES = (np.arange(N_ITEMS) % N_CLASSES).astype(np.int32)
CONTEXT = {
    "names": [str(item) for item in range(N_ITEMS)],
    "n_items": N_ITEMS,
    "features": FEATURES,
    "n_classes": N_CLASSES,
    "classes": ["a", "b", "c"],
    "candidates": 3,
    "kind": "nearest",
}
QUICK = {  # settings that keep a learner's fit short; one that is not here is fitted as it is
    "mds": {"steps": 20},
    "posterior": {"n_chains": 4},
    "network": {"epochs": 3, "layers": [6, 2]},
    "network_laplace": {"epochs": 3, "layers": [6, 2], "n_draws": 4},
    "logistic": {"members": 2},
    "head": {"members": 2, "steps": 5, "hidden": 4},
}
UNNAMED = {"labels/cnn": lambda: CNN(PICTURES, N_CLASSES, Recipe(steps=1), n_draws=2)}  # needs pictures, so no study
BEYOND_FEATURES = ("similarity/posterior",)  # known items have a part of their own that features do not foresee
NAMED = [f"{task}/{name}" for task, names in LEARNERS_BY_TASK.items() for name in names]


def learner_of(key: str):
    if key in UNNAMED:
        return UNNAMED[key]()
    task, _, name = key.partition("/")
    return build_part("Learner", LEARNERS_BY_TASK[task], name, QUICK.get(name, {}), CONTEXT)


def answers_of(key: str, n: int, seed: int = 3) -> Answers:
    rng = np.random.default_rng(seed)
    if key.startswith("labels/"):
        items = rng.permutation(N_ITEMS)[:n].astype(np.int32)
        return Answers(np.column_stack([items, np.full((n, 3), -1, np.int32)]), CLASSES[items], "label")
    return Answers(draw_queries(n, N_ITEMS, 3, rng), rng.integers(0, 3, n).astype(np.int32))


def assert_same(one, other, tolerance: float = 0.0) -> None:
    rows = np.arange(N_ITEMS)
    np.testing.assert_allclose(to_numpy(one.embedding), to_numpy(other.embedding), atol=tolerance)
    for first, second in (
        (one.draws_of(rows), other.draws_of(rows)),
        (one.log_probs_of(rows), other.log_probs_of(rows)),
    ):
        assert (first is None) == (second is None)
        if first is not None:
            np.testing.assert_allclose(to_numpy(first), to_numpy(second), atol=tolerance)


@pytest.fixture(params=[*NAMED, *UNNAMED], scope="module")
def key(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def learner(key):
    return learner_of(key)


@pytest.fixture(scope="module")
def belief(key, learner):
    return learner.fit(answers_of(key, 8), np.random.default_rng(0))


def test_every_item_has_a_finite_place_and_draws_have_all_items(key, belief) -> None:
    checked(belief, N_ITEMS)
    rows = np.array([3, 1])
    drawn = belief.draws_of(rows)
    if drawn is not None:
        assert drawn.ndim == 3
        assert drawn.shape[1] == 2
        assert np.isfinite(to_numpy(drawn)).all()
    if key.startswith("labels/"):
        log_probs = to_numpy(belief.log_probs_of(rows))
        assert log_probs.shape[1:] == (2, N_CLASSES)
        np.testing.assert_allclose(np.exp(log_probs).sum(axis=2), 1, atol=1e-4)


def test_the_same_seed_gives_the_same_belief(key, belief) -> None:
    assert_same(learner_of(key).fit(answers_of(key, 8), np.random.default_rng(0)), belief)


def test_it_goes_on_from_its_own_belief_with_more_answers(key, learner, belief) -> None:
    more = answers_of(key, 9)
    before = to_numpy(belief.embedding).copy()
    again = [checked(learner.fit(more, np.random.default_rng(1), belief), N_ITEMS) for _ in range(2)]
    assert_same(*again)
    np.testing.assert_array_equal(to_numpy(belief.embedding), before)  # a start is not written to


def test_without_any_answer_there_is_a_belief_too(key, learner) -> None:
    kind = "label" if key.startswith("labels/") else "nearest"
    checked(learner.fit(no_answers(3, kind), np.random.default_rng(0)), N_ITEMS)


def test_answers_of_a_kind_it_does_not_know_are_refused(key, learner) -> None:
    answers = answers_of(key, 4)
    other = replace(answers, kind="nearest" if answers.kind == "label" else "label")
    if answers.kind == "label":
        other = Answers(draw_queries(4, N_ITEMS, 3, np.random.default_rng(0)), answers.responses, "nearest")
    with pytest.raises((InfonnError, ValueError), match=f"(?i){other.kind}.*\\."):
        learner.fit(other, np.random.default_rng(0))


def test_a_stack_gives_what_each_fit_alone_gives(key, learner) -> None:
    if not isinstance(learner, StackedLearner):
        pytest.skip("does not stack")
    assert learner.stacks_with(learner_of(key))
    studies = [answers_of(key, n, seed) for n, seed in ((8, 3), (8, 4), (6, 5))]
    rngs = lambda: [np.random.default_rng(seed) for seed in range(3)]  # noqa: E731
    stacked = learner.fit_many(studies, rngs(), [None] * 3, [learner] * 3)
    for answers, rng, slice_ in zip(studies, rngs(), stacked, strict=True):
        assert_same(slice_, learner.fit(answers, rng), tolerance=1e-4)


def test_one_that_can_do_with_less_keeps_its_contract(key, learner) -> None:
    if not isinstance(learner, AdjustableLearner):
        pytest.skip("has one effort")
    answers = answers_of(key, 8)
    checked(learner.with_effort(0.3).fit(answers, np.random.default_rng(0)), N_ITEMS)
    whole = learner.with_effort(1.0).fit(answers, np.random.default_rng(0))
    assert_same(whole, learner.fit(answers, np.random.default_rng(0)))


def test_one_that_places_new_items_places_its_own_where_they_are(key, learner, belief) -> None:
    if not isinstance(learner, PlacingLearner):
        pytest.skip("places no new items")
    if key not in BEYOND_FEATURES:
        np.testing.assert_allclose(learner.transform(FEATURES, belief), belief.embedding, atol=1e-5)
    new = learner.transform(FEATURES[:2] + 0.1, belief)
    assert new.shape == (2, belief.embedding.shape[1])
    assert np.isfinite(new).all()


@pytest.mark.parametrize("task", LEARNERS_BY_TASK)
def test_every_learner_has_a_line_to_show(task) -> None:
    for name, line in describe("Learner", LEARNERS_BY_TASK[task]).items():
        assert 20 < len(line) < 125, name
        assert line.endswith("."), name
