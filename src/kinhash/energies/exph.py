"""ExpH: an exponential loss of signed inner products.

Lin, Shen, Suter, van den Hengel. A general two-step approach to learning-based hashing. ICCV 2013.
The source's constants could not be read; ``β = 1/(2d)`` is our choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .base import Energy, Floats, PairTerms

__all__ = ["ExpH"]


@dataclass(frozen=True)
class ExpH(Energy):
    """Energy ``exp(−β s r)`` of a pair, bounded by the parabola that touches it at ``ξ = E[r]``.

    The second-order expansion would dip below the loss. The smallest curvature that keeps the
    parabola above is the largest of ``(ℓ(r) − ℓ(ξ) − ℓ′(ξ)(r − ξ)) / (r − ξ)²`` over the possible
    ``r``; with ``x = −βs(r − ξ)`` that is ``β²s² ℓ(ξ) · (eˣ − 1 − x)/x²``, which rises with ``x``, so
    the largest sits at the end of the range where the loss is largest, ``r = −d sign(s)``.
    """

    beta: float | None = None  # None = 1 / (2 d)
    tangent: ClassVar[Literal["mean"]] = "mean"

    def loss(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        return np.exp(-self._rate(n_bits) * s * r)

    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> PairTerms:
        assert xi is not None
        rate = self._rate(n_bits) * s
        at = np.exp(-rate * xi)
        reach = np.abs(rate) * n_bits + rate * xi  # x at the far end, never negative
        quadratic = rate**2 * at * _second_order(reach)
        return PairTerms(linear=-rate * at - 2 * quadratic * xi, quadratic=quadratic)

    def _rate(self, n_bits: int) -> float:
        return 1 / (2 * n_bits) if self.beta is None else self.beta


def _second_order(x: Floats) -> Floats:
    """(eˣ − 1 − x)/x², with its limit ½ at 0."""
    small = np.abs(x) < 1e-3
    safe = np.where(small, 1.0, x)
    return np.where(small, 0.5 + x / 6 + x**2 / 24, (np.expm1(safe) - safe) / safe**2)
