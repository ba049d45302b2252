"""Similar pairs alone: clicks, duplicates, items bought together. No pair is known to be dissimilar.

The other rows of a step are taken as dissimilar, unless a short path of pairs leads to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from .._internal.types import Array, Bools, Floats, Floats32, Ints, Matrix, Numbers, Rng
from ..errors import InvalidInput
from .base import UNKNOWN, Supervision, require_some, row_numbers
from .examples import ENOUGH, MOST_SCORED, Drawn, Examples, Force, Known, Links, Nearness, Scored, named_rows
from .pairs import merged_pairs

__all__ = ["KinExamples", "KinSupervision", "from_kin"]

SHARPNESS = 8.0  # factor of agreements in the softmax; 4 suits few large classes, 16 many small ones
SCORED_ROWS = 200  # random rows that each held-out pair is compared with


@dataclass(frozen=True)
class KinExamples(Examples):
    """Similar pairs (m,) among ``n_rows`` rows.

    Each row has to find its partner among the rows of the step, by ``softmax(8 c)``. The loss of a step is
    the mean over pairs of the two cross-entropies, one for each direction, added and divided by 8. A row is
    not compared with itself, with its other partners, or with partners of its partners.
    """

    left: Ints
    right: Ints
    n_rows: int
    weight: float = 1.0

    @property
    def kind(self) -> str:
        return "similar pairs"

    def _fit(self, hasher: Any, X: Matrix, **more: Any) -> None:
        hasher.fit_pairs(X, self.left, self.right, **more)

    @property
    def ends(self) -> Ints:
        return np.stack([self.left, self.right], axis=1)

    def subset(self, keep: Array | slice) -> Self:
        return replace(self, left=self.left[keep], right=self.right[keep])

    def renumbered(self, place: Ints, n_rows: int) -> Self:
        return replace(self, left=place[self.left], right=place[self.right], n_rows=n_rows)

    def is_enough(self, to_score: bool = False) -> bool:
        return len(self.left) >= (ENOUGH if to_score else 2)

    @cached_property
    def _linked(self) -> sp.csr_array:
        """Which rows are the same or partners (n, n), sparse."""
        own = np.arange(self.n_rows)
        rows = np.concatenate([self.left, self.right, own])
        columns = np.concatenate([self.right, self.left, own])
        ones = np.ones(len(rows), np.float32)
        return sp.csr_array((ones, (rows, columns)), shape=(self.n_rows, self.n_rows))

    def draw(self, size: int, rng: Rng) -> Drawn:
        picked = rng.integers(len(self.left), size=size)
        a, b = self.left[picked], self.right[picked]
        near = _have_common_columns(self._linked[a], self._linked[b])
        np.fill_diagonal(near, False)
        return Drawn(np.concatenate([a, b]), near)

    def push(self, means: Floats32, known: Known, force: Force) -> Floats32:
        u, v = np.split(means, 2)
        logits = np.float32(SHARPNESS / means.shape[1]) * (u @ v.T)
        logits[known] = -np.inf
        odds = np.exp(logits - np.float32(SHARPNESS))  # logits are at most SHARPNESS: no overflow
        wrong = (odds / odds.sum(axis=1, keepdims=True) + odds / odds.sum(axis=0)) / 2
        wrong[np.diag_indices_from(wrong)] -= 1
        wrong *= np.float32(2 / u.size)
        return np.concatenate([wrong @ v, wrong.T @ u])

    def links(self) -> Links:
        return Links(self.left, self.right, np.ones(len(self.left)))

    def score(self, near: Nearness, rng: Rng) -> Scored:
        """Mean share of random rows that are further from a row than its partner is, over both ends."""
        some = slice(0, MOST_SCORED)
        a = np.concatenate([self.left[some], self.right[some]])
        b = np.concatenate([self.right[some], self.left[some]])
        own, share = near(a, b), np.zeros(len(a))
        for other in rng.integers(self.n_rows, size=SCORED_ROWS):
            share += (1 + np.sign(own - near(a, np.full(len(a), other)))) / 2 / SCORED_ROWS
        share = share.reshape(2, -1).mean(axis=0)  # both ends of a pair are one observation
        return Scored(float(share.mean()), (share - share.mean()) / len(share))


class KinSupervision(Supervision):
    """Similar pairs alone. S is undefined: no pair is known to be dissimilar."""

    complete = False

    def __init__(self, left: Ints, right: Ints, n_rows: int) -> None:
        self.examples = (KinExamples(left, right, n_rows),)
        rows = named_rows(n_rows, left, right)
        self.n_groups = len(rows)
        self.group_of_row = np.full(n_rows, UNKNOWN, np.int64)
        self.group_of_row[rows] = np.arange(self.n_groups)

    def similarity(self, left: Ints, right: Ints) -> Floats:
        raise InvalidInput(
            "Similar pairs alone came to a method that needs dissimilar ones too",
            "pairs of both kinds",
            "Use EnergyHasher, or add pairs of dissimilar rows",
        )

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        return self.similarity(left, right)


def from_kin(left: Numbers, right: Numbers, n_rows: int) -> KinSupervision:
    """Supervision from similar pairs; a pair listed twice, in either direction, is one pair."""
    require_some("pairs", left=left, right=right)
    i, j = row_numbers(left, "left", n_rows), row_numbers(right, "right", n_rows)
    if len(i) != len(j):
        raise InvalidInput(
            f"left and right have lengths {len(i)} and {len(j)}", "two arrays of one length", "Pass both ends"
        )
    i, j = merged_pairs(i, j, np.ones(len(i)), None, n_rows)[:2]
    if len(i) < 2:
        raise InvalidInput(
            f"{len(i)} similar pairs came", "at least two pairs of different rows", "Pass more pairs"
        )
    return KinSupervision(i, j, n_rows)


def _have_common_columns(left: sp.csr_array, right: sp.csr_array) -> Bools:
    """Whether rows of two sparse matrices (k, n) have a column in common (k, k)."""
    columns, place = np.unique(np.concatenate([left.indices, right.indices]), return_inverse=True)
    here, there = np.split(place, [left.nnz])
    shape = left.shape[0], len(columns)
    one = sp.csr_array((left.data, here, left.indptr), shape=shape)
    other = sp.csr_array((right.data, there, right.indptr), shape=shape)
    return (one @ other.T).toarray() > 0
