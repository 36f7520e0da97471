"""Our R-hat beside ArviZ's: chains that agree, and chains that do not."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from infonn.learners.posterior.chains import split_r_hat


@pytest.mark.parametrize("drift", [0.0, 0.2])
@pytest.mark.parametrize("moves", [10, 41])
def test_split_r_hat_is_that_of_arviz(rng, drift, moves) -> None:
    noise = rng.normal(size=(6, moves, 3))
    trace = noise + drift * noise.cumsum(axis=1)
    even = trace[:, : moves // 2 * 2]  # of an odd number of moves the two leave out different ones
    theirs = [array_stats.rhat(even[..., k], method="split", chain_axis=0, draw_axis=1) for k in range(3)]
    np.testing.assert_allclose(split_r_hat(even), theirs, rtol=1e-10)
    assert split_r_hat(trace).shape == (3,)
