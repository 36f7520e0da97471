"""How sure a share is."""

from __future__ import annotations


def wilson_interval(n_right: int, n: int) -> tuple[float, float]:
    """The 95 % interval (Wilson 1927) of a share of which `n_right` of `n` were seen; of nothing seen, from 0 to 1."""
    from scipy.stats import binomtest  # slow to import, and pages do not need it

    if n == 0:
        return 0.0, 1.0
    interval = binomtest(n_right, n).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)
