"""KSH: ask every inner product of codes to equal the number of bits, signed.

Liu, Wang, Ji, Jiang, Chang. Supervised hashing with kernels. CVPR 2012.
"""

from __future__ import annotations

from dataclasses import dataclass

from .base import Energy, Floats, PairTerms


@dataclass(frozen=True)
class KSH(Energy):
    """Energy ``(r − d s)² / 4`` of a pair.

    Expanding the square gives ``r²/4 − d s r / 2`` and a constant. Inference turns that into
    ``A = −offdiag(QᵀQ)`` and ``b = d S Q`` with ``Q = 2 Φ − 1`` (paper, eq. 15).
    """

    def loss(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        return (r - n_bits * s) ** 2 / 4

    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> PairTerms:
        return PairTerms(linear=-n_bits * s / 2, quadratic=0.25)
