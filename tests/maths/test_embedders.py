"""The plain density against worked cases, and the kernel of the chains against the plain density."""

import math

import numpy as np
import pytest
from numba import njit

from infonn.maths.embedders import Layout, answer_log_probs, embed, log_density, ordered_answers
from infonn.maths.kernels import chains as kernels
from infonn.maths.kernels.logs import REORDERED, fast_exp, fast_log, precise_exp, precise_log
from infonn.queries import Answers, draw_queries

LAYOUTS = [Layout(9, 3), Layout(9, 1), Layout(9, 3, 4)]


def shape_of(layout: Layout) -> tuple[int, int, int]:
    return layout.n_items, layout.n_dims, layout.n_features


def case(layout: Layout, kind: str, padded: bool = False, n: int = 30):
    rng = np.random.default_rng(5)
    queries = draw_queries(n, layout.n_items, 2 if kind == "odd_one_out" else 3, rng)
    if padded:
        queries[::3, 3] = -1
    responses = rng.integers(0, {"ranking": 6, "odd_one_out": 3}.get(kind, 2), n).astype(np.int32)
    features = rng.standard_normal((layout.n_items, layout.n_features))
    parameters = 0.7 * rng.standard_normal(layout.n_parameters)
    mean, sd = rng.standard_normal(layout.n_parameters), rng.random(layout.n_parameters) + 0.5
    sd[layout.scale] = 0.0
    return Answers(queries, responses, kind), features, parameters, mean, sd


def test_offsets_are_added_to_what_the_features_say_by_their_share() -> None:
    layout = Layout(2, 1, 1)
    parameters = np.array([3.0, 1.0, -1.0, 0.5, math.log(2.0), math.log(0.36 / 0.64), math.log(4.0), 0.0, 0.0])
    points = embed(parameters, layout, np.array([[1.0], [2.0]]))
    np.testing.assert_allclose(points[:, 0], np.array([0.8 * 3 + 0.6, 0.8 * 6 - 0.6]) * 2 * math.exp(4 * 0.5))


def test_without_features_an_embedding_is_its_offsets_scaled() -> None:
    layout = Layout(3, 2)
    parameters = np.zeros((5, layout.n_parameters))
    parameters[:, :6] = np.arange(6)
    parameters[:, layout.scale] = math.log(10)
    points = embed(parameters, layout, np.zeros((3, 0)))
    assert points.shape == (5, 3, 2)
    np.testing.assert_allclose(points[0], 10 * np.arange(6.0).reshape(3, 2))


def test_a_choice_puts_the_chosen_candidate_first() -> None:
    ordered = ordered_answers(Answers(np.array([[0, 1, 2, 3], [4, 5, 6, -1]], np.int32), np.array([2, 1], np.int32)))
    assert ordered.pairs[..., 0].tolist() == [[0, 0, 0], [4, 4, 4]]
    assert ordered.pairs[..., 1].tolist() == [[3, 2, 1], [6, 5, -1]]
    assert ordered.stages.tolist() == [1, 1]
    assert ordered.n_options.tolist() == [3, 2]


def test_a_ranking_becomes_its_order() -> None:
    ordered = ordered_answers(Answers(np.array([[0, 1, 2, 3]], np.int32), np.array([3], np.int32), "ranking"))
    assert ordered.pairs[..., 1].tolist() == [[2, 3, 1]]
    assert (ordered.stages.tolist(), ordered.n_options.tolist()) == ([2], [6])


def test_an_odd_one_chooses_the_pair_of_the_others() -> None:
    ordered = ordered_answers(
        Answers(np.array([[7, 2, 5], [7, 2, 5]], np.int32), np.array([1, 2], np.int32), "odd_one_out")
    )
    assert ordered.pairs.tolist() == [[[5, 7], [5, 2], [7, 2]], [[2, 7], [2, 5], [7, 5]]]
    assert (ordered.stages.tolist(), ordered.n_options.tolist()) == ([1, 1], [3, 3])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["nearest", "ranking", "odd_one_out"])
def test_the_kernel_gives_the_plain_density_and_autograds_gradient(layout: Layout, kind: str) -> None:
    import torch

    answers, features, parameters, mean, sd = case(layout, kind)
    ordered = ordered_answers(answers)
    value, gradient = kernels.density(
        parameters, shape_of(layout), features, ordered.pairs, ordered.stages, ordered.n_options, mean, sd
    )
    leaf = torch.tensor(parameters, requires_grad=True)
    plain = log_density(leaf, layout, torch.tensor(features), answers, torch.tensor(mean), torch.tensor(sd))
    plain.backward()
    free = sd > 0
    assert value == pytest.approx(plain.item(), abs=2e-4)  # answers are worked on in float32
    np.testing.assert_allclose(gradient[free], leaf.grad.numpy()[free], rtol=1e-4, atol=2e-4)
    assert (gradient[~free] == 0).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_padding_changes_nothing_in_the_kernel(layout: Layout) -> None:
    answers, features, parameters, mean, sd = case(layout, "nearest", padded=True)
    ordered = ordered_answers(answers)
    arguments = (shape_of(layout), features, ordered.pairs, ordered.stages, ordered.n_options, mean, sd)
    value, gradient = kernels.density(parameters, *arguments)
    plain = (layout, features, answers, mean, sd)
    assert value == pytest.approx(log_density(parameters, *plain), abs=2e-4)
    for p in range(0, layout.n_parameters, 4):
        step = np.zeros_like(parameters)
        step[p] = 1e-5 if sd[p] > 0 else 0.0
        up, down = log_density(parameters + step, *plain), log_density(parameters - step, *plain)
        assert gradient[p] == pytest.approx((up - down) / 2e-5, abs=2e-4)


@pytest.mark.parametrize("kind", ["nearest", "ranking", "odd_one_out"])
def test_the_kernel_gives_the_plain_answer_probabilities(kind: str) -> None:
    layout = LAYOUTS[-1]
    answers, features, _, _, _ = case(layout, kind)
    many = np.random.default_rng(0).standard_normal((4, layout.n_parameters))
    ordered = ordered_answers(answers)
    fused = kernels.answer_log_probs(many, shape_of(layout), features, ordered.pairs, ordered.stages, ordered.n_options)
    for row, parameters in zip(fused, many):
        np.testing.assert_allclose(row, answer_log_probs(parameters, layout, features, answers), atol=1e-5)


def test_no_lapse_and_a_hopeless_answer_stay_finite() -> None:
    layout = Layout(3, 1)
    parameters = np.zeros(layout.n_parameters)
    parameters[:3] = 0.0, 1.0, 1e6
    parameters[layout.sharpness], parameters[layout.lapse] = 8.0, -np.inf
    ordered = ordered_answers(Answers(np.array([[0, 1, 2]], np.int32), np.array([1], np.int32)))
    value, gradient = kernels.density(
        parameters,
        shape_of(layout),
        np.zeros((3, 0)),
        ordered.pairs,
        ordered.stages,
        ordered.n_options,
        np.zeros(layout.n_parameters),
        np.zeros(layout.n_parameters),
    )
    assert value < -1e4
    assert np.isfinite(gradient).all()


def test_the_vectorised_logarithm_and_exponential_are_exact_to_the_last_digits() -> None:
    values = np.concatenate([np.random.default_rng(0).uniform(0.01, 50, 1000), [1.0, 1e300, 1e-300]])
    logs, exps = logarithms(values)
    np.testing.assert_allclose(logs, np.log(values), rtol=1e-15, atol=5e-16)
    np.testing.assert_allclose(exps, np.exp(-np.minimum(values, 708.0)), rtol=1e-14)


def test_the_fast_logarithm_and_exponential_are_exact_to_a_float32() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.uniform(1e-6, 86, 2000), [1.0, 1e-30, 1e30]]).astype(np.float32)
    logs, exps = fast_logarithms(values)
    exact = values.astype(np.float64)
    np.testing.assert_allclose(logs, np.log(exact), rtol=2e-7, atol=2e-7)
    np.testing.assert_allclose(exps, np.exp(-np.minimum(exact, 87.0)), rtol=5e-7)


@njit(fastmath=REORDERED)
def fast_logarithms(values):
    """As in the kernels."""
    logs, exps = np.empty(len(values), np.float32), np.empty(len(values), np.float32)
    for i in range(len(values)):
        logs[i] = fast_log(values[i])
    for i in range(len(values)):
        exps[i] = fast_exp(-values[i])
    return logs, exps


@njit(fastmath=REORDERED)
def logarithms(values):
    """As in the kernels: within loops whose sums may be reordered."""
    logs, exps = np.empty(len(values)), np.empty(len(values))
    for i in range(len(values)):
        logs[i] = precise_log(values[i])
    for i in range(len(values)):
        exps[i] = precise_exp(-values[i])
    return logs, exps
