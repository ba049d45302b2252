"""SPLH: reward agreement with similar rows and disagreement with dissimilar ones, bit by bit.

Wang, Kumar, Chang. Sequential projection learning for hashing with compact codes. ICML 2010.
"""

from __future__ import annotations

from dataclasses import dataclass

from .base import Energy, Floats, PairTerms


@dataclass(frozen=True)
class SPLH(Energy):
    """Energy ``−s r / 2`` of a pair.

    No quadratic term couples the bits, so every bit solves the same problem: minimizing over all
    codes gives one bit, repeated. Hence EM-SPLH is a one-bit method.
    """

    def loss(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        return -s * r / 2

    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> PairTerms:
        return PairTerms(linear=-s / 2, quadratic=0.0)
