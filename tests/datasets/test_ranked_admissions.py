"""The ranked applicants have the paper's shape, and triplets that never contradict one another."""

import numpy as np
import pytest

from infonn.datasets.ranked_admissions import N_ADMITTED, TIER_SIZES, public_applicants, simulated_applicants
from infonn.errors import InvalidQueryError
from infonn.queries import draw_from_triplets


@pytest.fixture(scope="module")
def applicants():
    return simulated_applicants(np.random.default_rng(0))


def test_the_shape_is_the_papers(applicants):
    assert applicants.features.shape == (133, 25)
    assert np.bincount(applicants.tiers).tolist() == [18, *TIER_SIZES]
    assert applicants.admitted.sum() == N_ADMITTED
    assert np.bincount(applicants.classes).tolist() == [7, 7, 8, 19, 28, 29, 35]


def test_counts_come_close_to_the_papers(applicants):
    assert len(applicants.triplets) == 437_002  # paper: 434,470
    with pytest.raises(InvalidQueryError, match="the triplets imply 21160134"):  # paper: 21,634,487
        draw_from_triplets(applicants.triplets, 10**9, 3, np.random.default_rng(0))


def test_no_two_triplets_contradict_each_other(applicants):
    settled = np.zeros((133, 133, 133), bool)
    settled[tuple(applicants.triplets.T)] = True
    assert not (settled & settled.transpose(0, 2, 1)).any()


def test_features_tell_of_merit_but_not_all_of_it(applicants):
    place = np.arange(133)
    correlations = [abs(np.corrcoef(place, column)[0, 1]) for column in applicants.features.T]
    assert 0.3 < max(correlations) < 0.95
    design = np.column_stack([np.ones(133), applicants.features])
    fitted = design @ np.linalg.lstsq(design, place, rcond=None)[0]
    assert 0.7 < np.corrcoef(fitted, place)[0, 1] < 0.97


def test_the_public_table_stands_in_with_its_own_features():
    applicants = public_applicants(np.random.default_rng(1))
    assert applicants.features.shape == (133, 7)
    assert len(applicants.triplets) == 437_002
    again = public_applicants(np.random.default_rng(1))
    np.testing.assert_array_equal(applicants.features, again.features)


def test_queries_drawn_from_them_agree_with_their_triplets(applicants, rng):
    drawn = draw_from_triplets(applicants.triplets, 500, 3, rng)
    settled = np.zeros((133, 133, 133), bool)
    settled[tuple(applicants.triplets.T)] = True
    for query, response in zip(drawn.queries.tolist(), drawn.responses.tolist()):
        near = query[1 + response]
        assert all(settled[query[0], near, far] for far in query[1:] if far != near)
    assert len(np.unique(drawn.queries, axis=0)) == 500
