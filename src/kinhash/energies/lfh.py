"""LFH: inner products are log-odds of similarity.

Zhang, Zhang, Li, Guo. Supervised hashing with latent factor models. SIGIR 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import InvalidInput
from .base import Energy, Floats, PairTerms


@dataclass(frozen=True)
class LFH(Energy):
    """Energy ``−log σ(α s r)`` of a pair (s = ±1), bounded by a parabola.

    Jaakkola and Jordan's bound ``log σ(x) ≥ x/2 + λ(ξ) x² + const`` with
    ``λ(ξ) = −tanh(ξ/2) / (4ξ)`` touches at ``x = ±ξ``. Here ``x = α r``, and the tightest bound
    under a random code is at ``ξ = α √E[r²]``. The paper prints √(E[r]²), which is never larger;
    ``printed=True`` takes that.
    Graded similarities interpolate between the two verdicts. ``α`` is 1 in the paper we follow
    and ½ in LFH's own.
    """

    alpha: float = 1.0
    printed: bool = False

    @property
    def tangent(self) -> Literal["mean", "rms"]:  # type: ignore[override]
        """Where the bound touches: √E[r²], or ``|E[r]|`` as printed (the bound is even in ξ)."""
        return "mean" if self.printed else "rms"

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            raise InvalidInput(f"LFH's alpha is {self.alpha}", "a positive number", "The paper uses 1")

    def loss(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        x = self.alpha * r
        kin = np.logaddexp(0, -x)
        return kin + (1 - s) / 2 * x  # −log σ(−x) = −log σ(x) + x, mixed by s

    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> PairTerms:
        assert xi is not None
        return PairTerms(
            linear=-self.alpha * s / 2, quadratic=-self.alpha * self.alpha * curvature(self.alpha * xi)
        )


def curvature(xi: Floats) -> Floats:
    """λ(ξ) = −tanh(ξ/2)/(4ξ), with its limit −1/8 at 0."""
    small = np.abs(xi) < 1e-4
    safe = np.where(small, 1.0, xi)
    # Series −1/8 + ξ²/96 keeps full precision where the quotient would be 0/0.
    return np.where(small, -0.125 + xi**2 / 96, -np.tanh(safe / 2) / (4 * safe))
