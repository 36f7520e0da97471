"""Chains against posteriors that quadrature can give. Tolerances are 4.5 standard errors: a check that is true fails
with chance 7e-6, and the seeds are fixed."""

from dataclasses import replace

import numba
import numpy as np
import pytest

from infonn.learners.posterior.chains import Target, follow, fresh, split_r_hat
from infonn.learners.posterior.gibbs import settled_anew
from infonn.maths.embedders import Layout, embed, ordered_answers, scales_of
from infonn.maths.responses import ResponseSettings, nearest_log_probs
from infonn.queries import Answers

N_CHAINS = 1500
LAYOUT = Layout(3, 1)
SETTINGS = ResponseSettings(1.0, 3.0, 0.1)


def target() -> Target:
    mean, sd = np.zeros(LAYOUT.n_parameters), np.ones(LAYOUT.n_parameters)
    sd[LAYOUT.n_coordinates :] = 0.0
    mean[LAYOUT.sharpness] = np.log(SETTINGS.sharpness)
    mean[LAYOUT.lapse] = np.log(SETTINGS.lapse / (1 - SETTINGS.lapse))
    return Target(LAYOUT, np.zeros((3, 0)), mean, sd)


def answers(kind: str = "nearest") -> Answers:
    queries = np.array([[0, 1, 2], [0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 1, 2]], np.int32)
    return Answers(queries, np.array([0, 0, 0, 1, 0], np.int32), kind)


@pytest.mark.parametrize("kind", ["nearest", "odd_one_out"])
def test_chains_meet_the_posterior_that_quadrature_gives(kind: str) -> None:
    given = answers(kind)
    axis = np.linspace(-5, 5, 101)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    log_density = -0.5 * (grid**2).sum(axis=1)
    for query, response in zip(given.queries, given.responses):
        others = {"nearest": (query[1:], query[:1]), "odd_one_out": (query[[1, 0, 0]], query[[2, 2, 1]])}[kind]
        squared = (grid[:, others[0]] - grid[:, others[1]]) ** 2
        log_density += nearest_log_probs(squared, SETTINGS)[:, response]
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()

    rng = np.random.default_rng(1)
    ordered = ordered_answers(given)
    population = follow(fresh(target(), N_CHAINS, rng), target(), ordered, 0, 60, 6, rng)  # 60 moves: as if independent
    points = population.parameters[:, :3]
    for quantity in (
        lambda z: (z**2).sum(axis=1),
        lambda z: (z[:, 0] - z[:, 1]) ** 2,
        lambda z: np.abs(z[:, 0] - z[:, 2]),
        lambda z: (np.abs(z[:, 0] - z[:, 1]) < np.abs(z[:, 0] - z[:, 2])).astype(float),
        lambda z: z[:, 0] * z[:, 1],
    ):
        exact = (weights * quantity(grid)).sum()
        sampled = quantity(points)
        assert abs(sampled.mean() - exact) < 4.5 * sampled.std() / np.sqrt(N_CHAINS) + 1e-3  # the grid's own error


def test_answers_in_two_parts_lead_to_the_same_posterior() -> None:
    rng = np.random.default_rng(2)
    ordered = ordered_answers(answers())
    at_once = follow(fresh(target(), N_CHAINS, rng), target(), ordered, 0, 60, 6, rng).parameters
    part = follow(fresh(target(), N_CHAINS, rng), target(), ordered.take(slice(0, 2)), 0, 40, 6, rng)
    in_parts = follow(part, target(), ordered, 2, 40, 6, rng).parameters
    for first, second in (
        (at_once[:, i] * at_once[:, j], in_parts[:, i] * in_parts[:, j]) for i in range(3) for j in range(i)
    ):
        error = np.sqrt((first.var() + second.var()) / N_CHAINS)
        assert abs(first.mean() - second.mean()) < 4.5 * error


def test_threads_change_nothing() -> None:
    results = []
    threads = numba.get_num_threads()
    try:
        for n in (1, threads):
            numba.set_num_threads(n)
            rng = np.random.default_rng(3)
            results.append(follow(fresh(target(), 20, rng), target(), ordered_answers(answers()), 0, 12, 4, rng))
    finally:
        numba.set_num_threads(threads)
    assert np.array_equal(results[0].parameters, results[1].parameters)
    assert results[0].step == results[1].step


def test_r_hat_is_one_for_like_chains_and_large_for_unlike_ones() -> None:
    rng = np.random.default_rng(4)
    like = rng.standard_normal((40, 200, 1))
    assert split_r_hat(like)[0] < 1.02
    assert split_r_hat(like + np.arange(40)[:, None, None])[0] > 5


# --- settings drawn anew with the places held --------------------------------------------------------------

LAYOUT_OF_FEATURES = Layout(5, 2, 3)
PRIORS = {"scale": (0.0, 1.0), "share": (-1.0, 2.0), "spread": (np.log(0.3), 1.0)}


def with_features(n: int, rng: np.random.Generator) -> tuple[np.ndarray, Target]:
    """Parameters drawn from the prior, and features of which one column is a sum of the others."""
    features = np.random.default_rng(0).standard_normal((5, 3))
    features[:, 2] = features[:, 0] + features[:, 1]
    layout = LAYOUT_OF_FEATURES
    mean, sd = np.zeros(layout.n_parameters), np.ones(layout.n_parameters)
    for name, prior in PRIORS.items():
        mean[getattr(layout, name)], sd[getattr(layout, name)] = prior
    return mean + sd * rng.standard_normal((n, layout.n_parameters)), Target(layout, features, mean, sd)


def anew(parameters: np.ndarray, target: Target, rng: np.random.Generator) -> np.ndarray:
    return settled_anew(
        parameters, target.layout, target.features, target.directions, target.prior_mean, target.prior_sd, rng
    )


def test_places_stay_where_they_are_when_settings_are_drawn_anew() -> None:
    rng = np.random.default_rng(4)
    parameters, target = with_features(50, rng)
    again, layout = anew(parameters, target, rng), target.layout
    np.testing.assert_allclose(
        embed(again, layout, target.features), embed(parameters, layout, target.features), atol=1e-8
    )
    changed = (again != parameters).any(axis=0)
    assert changed[: layout.sharpness].all()
    assert not changed[layout.sharpness :].any()  # the response model is not theirs to change


def test_drawing_anew_keeps_the_prior() -> None:
    """Draws of the prior, drawn anew, are draws of the prior: means and second moments within 4.5 errors."""
    rng = np.random.default_rng(5)
    before, target = with_features(20_000, rng)
    after, layout = anew(before, target, rng), target.layout
    other = with_features(20_000, rng)[0]
    own = slice(layout.n_weights, layout.n_coordinates)
    for quantity in (
        lambda p: p[:, layout.share],
        lambda p: p[:, layout.share] ** 2,
        lambda p: p[:, layout.scale],
        lambda p: p[:, layout.scale] ** 2,
        lambda p: p[:, layout.spread],
        lambda p: p[:, layout.spread] ** 2,
        lambda p: p[:, layout.stretch.start] ** 2,
        lambda p: p[:, layout.stretch.start] * p[:, layout.scale],
        lambda p: p[:, 0] ** 2,
        lambda p: p[:, 0] * p[:, 4],
        lambda p: p[:, own.start] ** 2,
        lambda p: p[:, 0] * p[:, own.start],
        lambda p: p[:, layout.share] * p[:, 2] ** 2,
        lambda p: p[:, layout.share] * (p[:, own] ** 2).mean(axis=1),
        lambda p: p[:, layout.scale] * (p[:, own] ** 2).mean(axis=1),
    ):
        first, second = quantity(other), quantity(after)
        error = np.sqrt((first.var() + second.var()) / 20_000)
        assert abs(first.mean() - second.mean()) < 4.5 * error


def test_the_share_of_given_places_is_what_quadrature_says() -> None:
    rng = np.random.default_rng(6)
    parameters, target = with_features(1, rng)
    layout, features = target.layout, target.features
    sd = target.prior_sd.copy()
    sd[layout.scale] = sd[layout.spread] = sd[layout.stretch] = 0.0  # the share alone
    target = replace(target, prior_sd=sd)
    chains = np.repeat(parameters, 4000, axis=0)
    for _ in range(40):
        chains = anew(chains, target, rng)
    drawn = chains[:, layout.share]

    points = embed(parameters, layout, features)[0] / scales_of(parameters, layout)[0]
    logits = np.linspace(-11, 11, 2201)
    log_density = -0.5 * ((logits - PRIORS["share"][0]) / PRIORS["share"][1]) ** 2
    for place, part in enumerate(1 / (1 + np.exp(-logits))):
        covariance = (1 - part) * features @ features.T + part * np.eye(5)
        inverse = np.linalg.inv(covariance)
        log_density[place] -= 0.5 * np.trace(points.T @ inverse @ points) + np.linalg.slogdet(covariance)[1]  # 2 dims
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    for power in (1, 2):
        exact = (density * logits**power).sum()
        sampled = drawn**power
        assert abs(sampled.mean() - exact) < 4.5 * sampled.std() / np.sqrt(4000)
