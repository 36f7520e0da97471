"""pytorch-metric-learning's losses train on our answers: against the real package."""

import numpy as np
import pytest

pytest.importorskip("pytorch_metric_learning", reason="make test-ecosystem builds the environment that has it")

import torch
from pytorch_metric_learning import losses

from infonn import create_study
from infonn.adapters.metric_learning import MetricLearner, indices_tuple
from infonn.maths.accuracy import triplet_accuracy
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, draw_queries, split_into_triplets

RNG = np.random.default_rng(0)
FEATURES = RNG.standard_normal((40, 6))
TRUTH = FEATURES[:, :2] * [3.0, 1.0]  # two features matter, four do not


def answers(n: int, seed: int = 1) -> Answers:
    queries = draw_queries(n, 40, 3, np.random.default_rng(seed))
    return Answers(queries, DistanceOracle(TRUTH).answer(queries, np.random.default_rng(seed)))


def test_answers_are_triplets_of_indices() -> None:
    one = Answers(np.array([[4, 7, 2, 9]], np.int32), np.array([1], np.int32))
    anchors, positives, negatives = indices_tuple(one)
    assert anchors.tolist() == [4, 4]
    assert positives.tolist() == [2, 2]
    assert negatives.tolist() == [7, 9]


@pytest.mark.parametrize(
    "loss",
    [losses.TripletMarginLoss(margin=0.2), losses.NTXentLoss(), losses.MarginLoss()],
    ids=lambda loss: type(loss).__name__,
)
def test_a_loss_that_takes_triplets_learns_the_features_that_matter(loss: torch.nn.Module) -> None:
    learner = MetricLearner(FEATURES, loss, dims=2)
    belief = learner.fit(answers(300), np.random.default_rng(0))
    test = split_into_triplets(answers(500, seed=2))
    assert triplet_accuracy(belief.embedding, test) > max(0.8, triplet_accuracy(FEATURES, test))


def test_new_items_are_placed_by_their_features() -> None:
    learner = MetricLearner(FEATURES, dims=2, epochs=20)
    belief = learner.fit(answers(100), np.random.default_rng(0))
    np.testing.assert_allclose(learner.transform(FEATURES, belief), belief.embedding, rtol=1e-5)


def test_the_same_seed_gives_the_same_embedding_and_leaves_torch_alone() -> None:
    state = torch.random.get_rng_state()
    learner = MetricLearner(
        FEATURES,
        epochs=5,
        module=lambda n: torch.nn.Sequential(torch.nn.Linear(n, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)),
    )
    one, two = (learner.fit(answers(50), np.random.default_rng(3)).embedding for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_study_learns_with_their_loss() -> None:
    study = create_study([f"item {i}" for i in range(40)], features=FEATURES, learner="mds", seed=2)
    study.learner = MetricLearner(FEATURES, dims=2, epochs=50)
    *_, last = study.run(DistanceOracle(TRUTH), rounds=3, size=20)
    assert last.n_answers == 80
    assert triplet_accuracy(study.belief().embedding, split_into_triplets(answers(500, seed=2))) > 0.75
