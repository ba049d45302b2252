"""What inner products should be, made from who is kin.

All our targets are the similarity less one number per row: ``T_ij = S_ij − ρ_i − ρ_j``, with ``μ_i``
the mean similarity of row i to the anchors and ``μ`` the mean of those:

========== =================== ====================================================================
``given``  ρ_i = 0             as the user said
``mean``   ρ_i = μ / 2         grand mean zero: most pairs being strangers is no news
``balanced`` ρ_i = μ_i / 2     +1 becomes (1 − p_i) + (1 − p_j), −1 becomes −p_i − p_j, p = share of kin
``centred`` ρ_i = μ_i − μ / 2  rows and columns sum to zero (double centring)
========== =================== ====================================================================

Because this is affine in S, sums like ``T V`` follow from ``S V`` and the row means alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Floats
from ..errors import UnknownName

__all__ = ["TARGETS", "AnchorSums", "Targets"]


# share of the row's own mean, and of the grand mean, that is taken off
TARGETS = {"given": (0.0, 0.0), "mean": (0.0, 0.5), "balanced": (0.5, 0.0), "centred": (1.0, -0.5)}


@dataclass(frozen=True)
class Targets:
    """Targets towards ``m`` anchors: ``weights`` (m,) sum to 1, ``offsets`` (m,) are ρ of the anchors."""

    kind: str
    weights: Floats
    offsets: Floats
    grand_mean: float

    @classmethod
    def of(cls, kind: str, similarity: Floats, weights: Floats) -> Targets:
        """Read means and offsets off the similarities (m, m) among the anchors."""
        if kind not in TARGETS:
            raise UnknownName.among("kind of targets", kind, TARGETS)
        share = weights / weights.sum()
        means = similarity @ share
        grand = float(share @ means)
        own, common = TARGETS[kind]
        return cls(kind, share, own * means + common * grand, grand)

    def row_offsets(self, row_means: Floats) -> Floats:
        """ρ of rows whose mean similarity to the anchors is given."""
        own, common = TARGETS[self.kind]
        return own * row_means + common * self.grand_mean

    def rows(self, similarity: Floats) -> Floats:
        """Targets (k, m) of rows with these similarities (k, m) to the anchors."""
        rho = self.row_offsets(similarity @ self.weights)
        return similarity - rho[:, None] - self.offsets


@dataclass(frozen=True)
class AnchorSums:
    """``Σ_j T_xj V_j`` for any row x, from its similarities to the anchors alone.

    ``T_x V = S_x V − ρ_x (1ᵀV) − ρᵀV``. `matrix` (m, d + 1) is V beside the weights of the row mean,
    so one product with S gives all that is needed.
    """

    matrix: Floats
    totals: Floats
    constant: Floats
    own_share: float
    common: float

    @classmethod
    def of(cls, targets: Targets, values: Floats) -> AnchorSums:
        """Sums with ``values`` (m, d)."""
        own, common = TARGETS[targets.kind]
        return cls(
            matrix=np.column_stack([values, targets.weights]),
            totals=values.sum(axis=0),
            constant=targets.offsets @ values,
            own_share=own,
            common=common * targets.grand_mean,
        )

    def folded(self) -> tuple[Floats, Floats]:
        """The sums as one affine map ``S_x @ M − c``: M (m, d) and c (d,)."""
        slope = self.matrix[:, :-1] - self.own_share * self.matrix[:, -1:] * self.totals
        return slope, self.common * self.totals + self.constant
