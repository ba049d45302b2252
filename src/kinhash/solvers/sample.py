"""Which rows the codes are learned on, and what the inner products of their codes should be.

The sample is some columns of S. All our targets are the similarity less one number per row:
``T_ij = S_ij − ρ_i − ρ_j``, with ``μ_i`` the mean similarity of row i to the anchors and ``μ`` the mean of
those:

========== =================== ====================================================================
``given``  ρ_i = 0             as the user said
``mean``   ρ_i = μ / 2         grand mean zero: most pairs being strangers is no news
``balanced`` ρ_i = μ_i / 2     +1 becomes (1 − p_i) + (1 − p_j), −1 becomes −p_i − p_j, p = share of kin
``centered`` ρ_i = μ_i − μ / 2  rows and columns sum to zero (double centering)
========== =================== ====================================================================

Because this is affine in S, sums like ``T V`` follow from ``S V`` and the row means alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.types import Floats, Ints, Rng
from ..errors import InvalidInput, UnknownName
from ..supervision import Supervision, row_numbers

__all__ = ["TARGETS", "AnchorSums", "Sample", "Targets", "draw_sample"]

# share of the row's own mean, and of the grand mean, that is taken off
TARGETS = {"given": (0.0, 0.0), "mean": (0.0, 0.5), "balanced": (0.5, 0.0), "centered": (1.0, -0.5)}


@dataclass(frozen=True)
class Sample:
    """Entries of the sample: their groups (m,) and how many rows each stands for (m,).

    ``rows`` are the anchor rows as drawn; an entry that stands for several rows gives them all the
    same code.
    """

    groups: Ints
    weights: Floats
    rows: Ints

    def one_row_each(self, group_of_row: Ints) -> Ints:
        """For every entry, the first anchor row of its group."""
        groups, first = np.unique(group_of_row[self.rows], return_index=True)
        return self.rows[first[np.searchsorted(groups, self.groups)]]


def draw_sample(
    supervision: Supervision,
    n_anchors: int,
    rng: Rng,
    *,
    merge: bool = True,
    anchors: Ints | None = None,
    row_weights: Floats | None = None,
) -> Sample:
    """Draw anchor rows and gather them into entries.

    With ``merge``, anchors with equal supervision become one weighted entry, and where all groups
    fit into ``n_anchors`` every row counts and nothing is left to chance. Classes always do, however many
    there are: a class without an anchor would have no code of its own. Without ``merge``, every
    anchor row is an entry of its own, as in the paper. Entries are in order of first appearance,
    so the names of classes do not matter.
    """
    group = supervision.group_of_row
    anchors = supervision.anchors if anchors is None else _checked(anchors, supervision)
    known = np.flatnonzero(group >= 0)
    if row_weights is not None:
        known = known[row_weights[known] > 0]
    if not len(known):
        raise InvalidInput(
            "Nothing is known about any row (every label is missing, or every weight is 0)",
            "labels for some rows",
            "Pass labels, pairs or a similarity matrix",
        )
    if anchors is not None:
        rows = anchors[np.isin(anchors, known)]
    elif len(known) <= n_anchors or (merge and _all_count(supervision, n_anchors)):
        rows = known
    else:
        share = None if row_weights is None else row_weights[known] / row_weights[known].sum()
        rows = rng.choice(known, n_anchors, replace=False, p=share, shuffle=False)
        rows.sort()
    # Rows drawn in proportion to their weight have had their say; only a full count weighs again.
    drawn = anchors is None and len(rows) < len(known)
    per_row = None if row_weights is None or drawn else row_weights[rows]
    if not merge:
        return Sample(group[rows], np.ones(len(rows)) if per_row is None else per_row, rows)
    unique, first, inverse = np.unique(group[rows], return_index=True, return_inverse=True)
    weights = np.bincount(inverse, per_row, len(unique)).astype(np.float64)
    order = np.argsort(first, kind="stable")
    return Sample(unique[order], weights[order], rows)


def _all_count(supervision: Supervision, n_anchors: int) -> bool:
    return supervision.n_groups <= n_anchors or supervision.every_group_counts


def _checked(anchors: Ints, supervision: Supervision) -> Ints:
    rows = row_numbers(anchors, "anchors", supervision.n_rows)
    if len(rows) < 2 or len(np.unique(rows)) < len(rows):
        raise InvalidInput(
            f"anchors holds {len(rows)} row numbers, {len(np.unique(rows))} of them distinct",
            "at least two distinct rows",
            "Pass every anchor row once, or leave anchors out",
        )
    if supervision.anchors is not None and not np.array_equal(rows, supervision.anchors):
        raise InvalidInput(
            "Anchors were set as a parameter and came with S, and they differ",
            "the rows that the columns of S stand for",
            "Leave the parameter out",
        )
    return rows


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
