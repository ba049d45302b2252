"""The straight line nearest to the sigmoid on [−c, c], which makes mean field linear.

Minimizing ``∫ (σ(x) − c₁x − ½)² dx`` over [−c, c] gives ``c₁ = 3/(2c³) ∫ x σ(x) dx``, which is
``3/(2c³) ∫ x tanh(x/2) dx`` over [0, c]. Its closed form has a dilogarithm; Simpson's rule is
simpler.

The linear system stays positive definite for every energy exactly while ``2 c₁ c < 1``, that is for c below
`MAX_CLIP` (paper, theorem 1).
"""

from __future__ import annotations

import math
import numbers
from functools import lru_cache

import numpy as np

from ..errors import InvalidInput

__all__ = ["MAX_CLIP", "line_slope"]

MAX_CLIP = 2.5996819
STEPS = 1000  # of Simpson's rule: more than ten digits


def line_slope(clip: float) -> float:
    """c₁(c), to ten digits.

    >>> round(line_slope(2.0), 7)
    0.2109006
    """
    if isinstance(clip, bool) or not (isinstance(clip, numbers.Real) and 0 < float(clip) < MAX_CLIP):
        raise InvalidInput(
            f"clip is {clip!r}",
            f"a number above 0 and below {MAX_CLIP:.4f} (beyond it the systems need not be solvable)",
            "The paper uses 2.0",
        )
    return _slope(float(clip))


@lru_cache
def _slope(c: float) -> float:
    t = np.arange(STEPS + 1) / STEPS  # x = c t
    simpson = np.where(np.arange(STEPS + 1) % 2 == 1, 4.0, 2.0)
    simpson[[0, -1]] = 1.0
    return 1.5 / c * (math.fsum(simpson * t * np.tanh(c / 2 * t)) / (3 * STEPS))
