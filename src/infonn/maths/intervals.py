"""How sure a share is."""

from __future__ import annotations

import math


def wilson_interval(right: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share `right` / `total` (Wilson 1927): sensible for few cases and shares near 0 or 1."""
    if total == 0:
        return 0.0, 1.0
    share, spread = right / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / total + spread / (4 * total))
    return max(0.0, middle - half), min(1.0, middle + half)
