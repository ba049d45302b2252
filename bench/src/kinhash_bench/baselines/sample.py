"""The rows a rival learns from, where it cannot look at all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinhash.paper.similarity import PairSupervision, Training
from kinhash.plugins import Floats, Ints

__all__ = ["GroupedSimilarity", "draw_rows", "known_rows"]


def known_rows(training: Training) -> Ints:
    """Rows with supervision and some weight."""
    known = training.supervision.group_of_row >= 0
    if training.weights is not None:
        known &= training.weights > 0
    return np.flatnonzero(known)


def draw_rows(training: Training, count: int) -> Ints:
    """At most ``count`` rows whose mutual similarities may be asked for, in rising order.

    Among labeled rows all choices are alike. Among listed pairs random rows would hardly ever meet, so
    whole pairs are drawn. Where the user named anchors, only they have columns.
    """
    supervision, rng = training.supervision, training.rng
    rows = known_rows(training)
    if supervision.anchors is not None:
        rows = np.intersect1d(rows, supervision.anchors)
    if len(rows) <= count:
        return rows
    if isinstance(supervision, PairSupervision):
        listed = supervision.listed.tocoo()
        i, j = listed.coords
        once = np.flatnonzero((i < j) & np.isin(i, rows) & np.isin(j, rows))
        order = rng.permutation(once)
        met = np.column_stack([i[order], j[order]]).ravel()
        _, first = np.unique(met, return_index=True)
        return np.sort(met[np.sort(first)[:count]]).astype(np.int64)
    return np.sort(rng.choice(rows, count, replace=False))


@dataclass(frozen=True)
class GroupedSimilarity:
    """S among chosen rows through their groups: ``member`` (l,) points into ``block`` (g, g).

    Products with S cost O(l + g²), never l².
    """

    member: Ints
    block: Floats

    @classmethod
    def among(cls, training: Training, rows: Ints) -> GroupedSimilarity:
        """S among these rows of the training set."""
        groups, member = np.unique(training.supervision.group_of_row[rows], return_inverse=True)
        return cls(member, training.supervision.similarity(groups, groups))

    def sums(self, values: Floats) -> Floats:
        """Sums over the rows of each group: (g,) of (l,), or (g, k) of (l, k)."""
        if values.ndim == 1:
            return np.bincount(self.member, values, len(self.block)).astype(np.float64)
        return np.stack([np.bincount(self.member, column, len(self.block)) for column in values.T], axis=1)

    def times(self, values: Floats) -> Floats:
        """``S @ values`` for values (l,) or (l, k)."""
        product: Floats = (self.block @ self.sums(values))[self.member]
        return product

    def squares(self) -> float:
        """Sum of the squares of S."""
        sizes = np.bincount(self.member, minlength=len(self.block)).astype(np.float64)
        return float(sizes @ (self.block**2) @ sizes)
