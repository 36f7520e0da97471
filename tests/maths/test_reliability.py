"""Agreement, ceiling, alpha and split halves against published values, enumeration and plain loops."""

from itertools import product

import numpy as np
import pytest
from numpy.random import default_rng

from infonn.maths.reliability import (
    Judged,
    agreement,
    alpha_with_interval,
    ceiling_bounds,
    cells_of,
    distance_correlation,
    halves,
    krippendorff_alpha,
    noise_ceiling,
    pairs_of,
    spearman_brown,
)


def judged_table(*people: str) -> Judged:
    """A row of letters for each person, a column for each question; a dot where there is no answer."""
    rows = [(u, p, ord(letter)) for p, row in enumerate(people) for u, letter in enumerate(row) if letter != "."]
    units, who, letters = (np.array(column) for column in zip(*rows))
    return Judged(units, who, np.unique(letters, return_inverse=True)[1])


def random_judged(rng, n=60, units=8, people=6, choices=3) -> Judged:
    return Judged(rng.integers(0, units, n), rng.integers(0, people, n), rng.integers(0, choices, n))


# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability": examples A, B and C; and the one of Wikipedia.
PUBLISHED = {
    "binary, two observers": (("0100000010", "1110010000"), 0.095),
    "nominal, two observers": (("aabbdcccedda", "babbbccceddd"), 0.692),
    "nominal, four observers, gaps": (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),
    "nominal, three coders, gaps": ((".....34121133.3", "1.213343.......", "..21344.21133.4"), 0.691),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_alpha_is_that_of_published_examples(name: str) -> None:
    people, alpha = PUBLISHED[name]
    assert krippendorff_alpha(judged_table(*people)) == pytest.approx(alpha, abs=6e-4)


def test_alpha_is_one_for_all_alike_about_zero_for_chance_and_undefined_without_variety() -> None:
    assert krippendorff_alpha(judged_table("abcabc", "abcabc", "abc...")) == 1
    guesses = Judged(np.repeat(np.arange(4000), 2), np.tile([0, 1], 4000), default_rng(0).integers(0, 3, 8000))
    assert abs(krippendorff_alpha(guesses)) < 4 * np.sqrt(2 / 9 / 4000) / (2 / 3)  # 4 standard errors: one in 16,000
    assert np.isnan(krippendorff_alpha(judged_table("aaa", "aaa")))
    assert alpha_with_interval(judged_table("aaa", "aaa"), default_rng(0)) is None
    assert alpha_with_interval(judged_table("abc.", "...a"), default_rng(0)) is None


def test_alpha_by_pairs_counted_one_by_one() -> None:
    judged = random_judged(default_rng(3)).first_of_each_person()
    by_unit = [judged.choices[judged.units == u] for u in range(judged.n_units)]
    values = [unit for unit in by_unit if len(unit) > 1]
    n = sum(map(len, values))
    observed = sum(
        (a != b) / (len(unit) - 1) for unit in values for i, a in enumerate(unit) for j, b in enumerate(unit) if i != j
    )
    pooled = np.concatenate(values)
    expected = sum(a != b for i, a in enumerate(pooled) for j, b in enumerate(pooled) if i != j)
    assert krippendorff_alpha(judged) == pytest.approx(1 - (observed / n) / (expected / (n * (n - 1))))
    told = alpha_with_interval(judged, default_rng(0))
    assert told.low <= told.value <= told.high
    assert told.n == len(values)


def test_pairs_are_every_two_answers_to_a_question() -> None:
    judged = random_judged(default_rng(1), n=40)
    pairs = pairs_of(judged)
    wanted = sorted(
        (judged.units[i], *sorted((judged.people[i], judged.people[j])), judged.choices[i] == judged.choices[j])
        for i in range(len(judged))
        for j in range(i)
        if judged.units[i] == judged.units[j]
    )
    told = sorted(
        (u, *sorted((p, q)), same) for u, p, q, same in zip(pairs.units, pairs.first, pairs.second, pairs.same)
    )
    assert told == wanted


def test_agreement_with_others_and_with_oneself_count_different_pairs() -> None:
    judged = Judged(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 1]), np.array([2, 2, 1, 0, 0]))
    with_others, with_oneself = (agreement(judged, oneself, default_rng(0)) for oneself in (False, True))
    assert (with_others.value, with_others.n) == (pytest.approx(1 / 3), 3)
    assert (with_oneself.value, with_oneself.n) == (1, 1)
    assert with_others.over == "questions"  # two people are too few to be resampled
    assert agreement(judged.take(np.array([0, 3])), False, default_rng(0)) is None


def test_the_interval_covers_the_true_agreement_as_often_as_it_says() -> None:
    """20 people with like-mindedness of their own; 95 of 100 intervals, at least 86 by chance in all but 1 of 5,000."""
    rng, covered = default_rng(5), 0
    right, wrong = 0.7 + 0.3 / 3, 0.3 / 3  # a person drawn at random looks with the chance 0.7, or guesses
    expected = right**2 + 2 * wrong**2
    for _ in range(100):
        careful = rng.random(20) * 0.6 + 0.4
        units, people = np.repeat(np.arange(200), 3), np.concatenate([rng.permutation(20)[:3] for _ in range(200)])
        guess = rng.random(600) > careful[people]
        choices = np.where(guess, rng.integers(0, 3, 600), 0)
        told = agreement(Judged(units, people, choices), False, rng)
        covered += told.low <= expected <= told.high
    assert covered >= 86


# --- the ceiling -----------------------------------------------------------------------------------------------


def plain_bounds(judged: Judged) -> tuple[float, float, float]:
    """By loops: leave-one-out majority, majority with one's own answer, agreement of two."""
    out, own, same = [], [], []
    for u in range(judged.n_units):
        choices = list(judged.choices[judged.units == u])
        for i, choice in enumerate(choices):
            others = choices[:i] + choices[i + 1 :]
            best = max(others.count(c) for c in set(others))
            leading = [c for c in set(others) if others.count(c) == best]
            out.append((choice in leading) / len(leading))
            same += [choice == other for other in others]
        own += [max(choices.count(c) for c in set(choices)) / len(choices)] * len(choices)
    return np.mean(out), np.mean(own), np.mean(same)


def test_bounds_by_plain_loops() -> None:
    rng = default_rng(2)
    units, people = np.repeat(np.arange(9), 4), np.tile(np.arange(4), 9)
    judged = Judged(units, people, rng.integers(0, 3, 36))
    out, own, same = plain_bounds(judged)
    assert cells_of(pairs_of(judged), "people").share() == pytest.approx(same)
    least, most = ceiling_bounds(judged, np.ones(36), same)
    assert least == pytest.approx(out)
    assert most == pytest.approx(min(own, np.sqrt(same)))


def test_weights_count_people_as_often_as_they_were_drawn() -> None:
    judged = judged_table("ab", "ab", "ba")
    drawn = np.array([2.0, 0.0, 1.0])
    cells = cells_of(pairs_of(judged), "people")
    assert cells.share(drawn) == 0  # the first and the third differ, and a person's copies are not others
    assert ceiling_bounds(judged, drawn[judged.people], 0.0)[0] == 0


@pytest.mark.parametrize("over", ["people", "questions"])
def test_pairs_counted_in_cells_weigh_as_one_by_one(over) -> None:
    rng = default_rng(4)
    judged = random_judged(rng, n=80)
    pairs = pairs_of(judged)
    pairs = pairs.take(pairs.first != pairs.second)
    drawn = rng.integers(0, 3, 10).astype(float)
    weights = drawn[pairs.units] if over == "questions" else drawn[pairs.first] * drawn[pairs.second]
    one_by_one = sum(w for w, same in zip(weights, pairs.same) if same) / sum(weights)
    assert cells_of(pairs, over).share(drawn) == pytest.approx(one_by_one)


def test_a_question_with_very_many_answers_is_no_burden() -> None:
    judged = Judged(np.zeros(50_000, int), np.arange(50_000), default_rng(0).integers(0, 2, 50_000))
    assert len(pairs_of(judged)) == 40 * 39 // 2


@pytest.mark.parametrize("shares", [(0.6, 0.3, 0.1), (0.5, 0.5, 0.0), (1 / 3, 1 / 3, 1 / 3), (0.9, 0.05, 0.05)])
@pytest.mark.parametrize("n_people", [2, 3, 4])
def test_expected_bounds_hold_the_best_possible_accuracy(shares, n_people) -> None:
    """Over all that can be answered, with its probability: nothing is drawn."""
    least = most = alike = 0.0
    for choices in product(range(3), repeat=n_people):
        chance = np.prod([shares[c] for c in choices])
        out, own, same = plain_bounds(Judged(np.zeros(n_people, int), np.arange(n_people), np.array(choices)))
        least, most, alike = least + chance * out, most + chance * own, alike + chance * same
    best = max(shares)
    assert least <= best + 1e-9
    assert most >= best - 1e-9
    assert np.sqrt(alike) >= best - 1e-9
    assert alike == pytest.approx(sum(p * p for p in shares))


def test_ceiling_of_people_who_all_agree_is_one_and_without_overlap_unknown() -> None:
    told = noise_ceiling(judged_table(*["abcab"] * 6), default_rng(0))
    assert (told.least, told.most, told.low, told.high, told.n, told.over) == (1, 1, 1, 1, 30, "people")
    assert noise_ceiling(judged_table("abc..", "...ab"), default_rng(0)) is None
    again = Judged(np.array([0, 0]), np.array([0, 0]), np.array([1, 1]))  # a person alone, asked twice
    assert noise_ceiling(again, default_rng(0)) is None


# --- split halves ----------------------------------------------------------------------------------------------


def test_halves_keep_groups_together() -> None:
    groups = default_rng(0).integers(0, 7, 50)
    first, second = halves(groups, default_rng(1))
    assert (first ^ second).all()
    assert not set(groups[first]) & set(groups[second])
    assert len(set(groups[first])) == 3


def test_distances_of_a_turned_and_larger_map_correlate_fully() -> None:
    points = default_rng(0).standard_normal((12, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert distance_correlation(points, 3 * points @ turn + 5, default_rng(0)) == pytest.approx(1)
    assert abs(distance_correlation(points, default_rng(1).standard_normal((12, 2)), default_rng(0))) < 0.5


def test_spearman_brown_doubles_a_test() -> None:
    assert spearman_brown(0.5) == pytest.approx(2 / 3)
    rng = default_rng(0)  # parallel halves: true score + noise; the whole correlates with a second whole as foretold
    truth = rng.standard_normal(200_000)
    parts = truth + 1.5 * rng.standard_normal((4, 200_000))
    half = np.corrcoef(parts[0], parts[1])[0, 1]
    whole = np.corrcoef(parts[0] + parts[1], parts[2] + parts[3])[0, 1]
    assert spearman_brown(half) == pytest.approx(whole, abs=0.01)
