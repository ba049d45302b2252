"""The straight line nearest to the sigmoid on [−c, c], which makes mean field linear.

Minimising ``∫ (σ(x) − c₁x − ½)² dx`` over [−c, c] gives ``c₁ = 3/(2c³) ∫ x σ(x) dx``, whose closed form
uses the dilogarithm Li₂. The linear system stays positive definite for every energy exactly while
``2 c₁ c < 1``, that is for c below `MAX_CLIP` (paper, theorem 1).
"""

from __future__ import annotations

import math
import numbers

from ..errors import InvalidInput

__all__ = ["MAX_CLIP", "line_slope"]

MAX_CLIP = 2.5996819


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
    c = float(clip)
    if c < 0.2:  # the closed form is a small difference of large numbers there
        return 1 / 4 - c**2 / 80 + c**4 / 1120 - 17 * c**6 / 241920
    from scipy.special import spence  # Li₂(z) = spence(1 − z)

    dilogarithm = float(spence(1 + math.exp(-c)))
    tail = c**2 / 2 - math.pi**2 / 6 + 2 * c * math.log1p(math.exp(-c)) - 2 * dilogarithm
    return 3 / (2 * c**3) * tail
