"""BRE: ask the share of differing bits to equal a target distance.

Kulis, Darrell. Learning to hash with binary reconstructive embeddings. NIPS 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

from .base import Energy, Floats, PairTerms


@dataclass(frozen=True)
class BRE(Energy):
    """Energy ``(t − (d − r) / (2 d))²`` of a pair with target distance ``t = (1 − s) / 2``.

    With ``s = 1 − 2t`` this is ``(r − d s)² / (4 d²)``: KSH divided by ``d²``. An energy's scale
    does not matter to inference, so with targets 0 and 1 it gives KSH's codes; it earns its place
    with real-valued targets, which are passed as graded similarities ``s`` in [−1, 1].
    """

    def loss(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        target = (1 - s) / 2
        return (target - (n_bits - r) / (2 * n_bits)) ** 2

    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> PairTerms:
        return PairTerms(linear=-s / (2 * n_bits), quadratic=1 / (4 * n_bits**2))
