"""The data that ships with the package is what it should be."""

from importlib.resources import files

import numpy as np

from infonn.datasets.admissions import FEATURES, admissions
from infonn.datasets.eggs import alien_eggs
from infonn.datasets.food import food73
from infonn.queries import check_queries, check_responses, split_into_triplets


def test_food73_gives_exactly_the_papers_counts() -> None:
    food = food73()
    assert len(food.names) == len(set(food.names)) == 73
    assert food.tastes.shape == (73, 6)
    np.testing.assert_allclose(food.tastes.sum(axis=1), 1)
    assert food.triplets.shape == (72_148, 3)
    assert len(np.unique(food.triplets, axis=0)) == 72_148
    answers = food.queries(3)
    assert len(answers) == 1_047_251
    check_queries(answers.queries, 73)
    check_responses(answers.responses, answers.queries)


def test_food73_queries_hold_only_recorded_triplets() -> None:
    food = food73()
    answers = food.queries(3)
    sample = answers.take(np.random.default_rng(0).integers(0, len(answers), 2000))
    code = lambda t: (t[:, 0].astype(np.int64) * 73 + t[:, 1]) * 73 + t[:, 2]  # noqa: E731
    assert np.isin(code(split_into_triplets(sample)), code(food.triplets)).all()


def test_alien_eggs_agree_with_their_places_on_the_line() -> None:
    eggs = alien_eggs()
    assert len(eggs.names) == 30
    assert len(eggs.answers) == 20_086
    assert len(np.unique(eggs.participants)) == 416  # of 424: eight answered nothing
    counts = {name: int((eggs.algorithms == name).sum()) for name in np.unique(eggs.algorithms)}
    assert counts == {
        "RandomSampling": 4092,
        "Test": 4014,
        "UncertaintySampling": 4019,
        "STE": 3982,
        "CrowdKernel": 3979,
    }
    check_queries(eggs.answers.queries, 30)
    test = eggs.chosen_by("Test")
    triplets = split_into_triplets(test)
    near, far = (np.abs(eggs.smoothness[triplets[:, 0]] - eggs.smoothness[triplets[:, i]]) for i in (1, 2))
    assert 0.82 < (near < far).mean() < 0.86


def test_admissions_are_500_applicants() -> None:
    data = admissions()
    assert data.features.shape == (500, len(FEATURES))
    assert ((data.chances > 0) & (data.chances < 1)).all()
    assert data.features[0].tolist() == [337, 118, 4, 4.5, 4.5, 9.65, 1]


def test_sources_and_licences_are_named() -> None:
    notice = files("infonn.datasets").joinpath("files", "NOTICE").read_text()
    for name in ("food73", "alien_eggs", "admissions"):
        assert name in notice
    assert "BSD 3-Clause" in files("infonn.datasets").joinpath("files", "alien_eggs", "NOTICE").read_text()
