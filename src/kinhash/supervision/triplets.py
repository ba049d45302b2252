"""Triplets: a row is more similar to a second row than to a third."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._internal.types import Array, Floats, Floats32, Ints, Matrix, Numbers, Rng
from ..errors import InvalidInput
from .base import UNKNOWN, Supervision, require_some, row_numbers
from .examples import (
    ENOUGH,
    Drawn,
    Examples,
    Force,
    Known,
    Links,
    Nearness,
    Scored,
    named_rows,
    warn_of_examples,
)

__all__ = ["TripletExamples", "TripletSupervision", "from_triplets"]


@dataclass(frozen=True)
class TripletExamples(Examples):
    """Triplets (m,): the energy of the difference ``c_ab − c_ac``, which should be that of a similar pair."""

    anchor: Ints
    nearer: Ints
    further: Ints
    weight: float = 1.0

    @property
    def kind(self) -> str:
        return "triplets"

    def _fit(self, hasher: Any, X: Matrix, **more: Any) -> None:
        hasher.fit_triplets(X, self.anchor, self.nearer, self.further, **more)

    @property
    def ends(self) -> Ints:
        return np.stack([self.anchor, self.nearer, self.further], axis=1)

    def subset(self, keep: Array | slice) -> Self:
        return replace(self, anchor=self.anchor[keep], nearer=self.nearer[keep], further=self.further[keep])

    def renumbered(self, place: Ints, n_rows: int) -> Self:
        return replace(
            self, anchor=place[self.anchor], nearer=place[self.nearer], further=place[self.further]
        )

    def is_enough(self, to_score: bool = False) -> bool:
        return len(self.anchor) >= (ENOUGH if to_score else 1)

    def draw(self, size: int, rng: Rng) -> Drawn:
        picked = rng.integers(len(self.anchor), size=max(1, size * 2 // 3))
        return Drawn(self.ends[picked].T.ravel(), None)

    def push(self, means: Floats32, known: Known, force: Force) -> Floats32:
        a, b, c = np.split(means, 3)
        difference = np.einsum("ij,ij->i", a, b - c) / means.shape[1]
        g = force(difference, np.ones_like(difference))[:, None] / np.float32(a.size)
        return np.concatenate([g * (b - c), g * a, -g * a])

    def links(self) -> Links:
        return Links(self.anchor, self.nearer, np.ones(len(self.anchor)))

    def score(self, near: Nearness, rng: Rng) -> Scored:
        """Share of triplets in order; equal distances count one half."""
        right = (1 + np.sign(near(self.anchor, self.nearer) - near(self.anchor, self.further))) / 2
        return Scored(float(right.mean()), (right - right.mean()) / len(right))


class TripletSupervision(Supervision):
    """Triplets alone. S is undefined: they say what is nearer, not how near."""

    complete = False

    def __init__(self, anchor: Ints, nearer: Ints, further: Ints, n_rows: int) -> None:
        self.examples = (TripletExamples(anchor, nearer, further),)
        rows = named_rows(n_rows, anchor, nearer, further)
        self.n_groups = len(rows)
        self.group_of_row = np.full(n_rows, UNKNOWN, np.int64)
        self.group_of_row[rows] = np.arange(self.n_groups)

    def similarity(self, left: Ints, right: Ints) -> Floats:
        raise InvalidInput(
            "Triplets came to a method that needs similarities", "pairs or labels", "Use EnergyHasher"
        )

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        return self.similarity(left, right)


def from_triplets(anchor: Numbers, nearer: Numbers, further: Numbers, n_rows: int) -> TripletSupervision:
    """Supervision from row numbers: each anchor is more similar to ``nearer`` than to ``further``."""
    named = {"anchor": anchor, "nearer": nearer, "further": further}
    require_some("triplets", **named)
    a, b, c = (row_numbers(rows, name, n_rows) for name, rows in named.items())
    if not len(a) == len(b) == len(c):
        raise InvalidInput(
            f"anchor, nearer and further have lengths {len(a)}, {len(b)} and {len(c)}",
            "three arrays of one length, at least 1",
            "Pass three rows for each triplet",
        )
    wrong = (a == c) | (b == c)
    if wrong.any():
        bad = int(wrong.argmax())
        raise InvalidInput(
            f"Triplet {bad} is ({a[bad]}, {b[bad]}, {c[bad]}); {int(wrong.sum()):,} of {len(a):,} name a row "
            "twice",
            "three different rows",
            "Drop such triplets",
        )
    a, b, c = _of_two_rows(a, b, c)
    clash = _contradicting(a, b, c)
    if clash:
        warn_of_examples(
            f"{clash:,} of {len(a):,} triplets contradict another: each row is said to be nearer than the "
            "other.",
            stacklevel=4,
        )
    return TripletSupervision(a, b, c, n_rows)


def _of_two_rows(a: Ints, b: Ints, c: Ints) -> tuple[Ints, Ints, Ints]:
    """The triplets whose anchor is not the nearer row itself; a warning says how many were left out."""
    itself = a == b
    if itself.all():
        raise InvalidInput(
            f"No triplet is left: all {len(a):,} say that a row is nearer to itself than to another",
            "triplets of three different rows",
            "Pass such triplets",
        )
    if itself.any():
        warn_of_examples(
            f"{int(itself.sum()):,} of {len(a):,} triplets say that a row is nearer to itself than to "
            "another, and were left out.",
            stacklevel=6,
        )
    return a[~itself], b[~itself], c[~itself]


def _contradicting(a: Ints, b: Ints, c: Ints) -> int:
    """How many triplets are listed with the other order, too."""
    _, kind = np.unique(np.stack([a, np.minimum(b, c), np.maximum(b, c)]), axis=1, return_inverse=True)
    first = np.bincount(kind, b < c)
    return int(((first > 0) & (first < np.bincount(kind)))[kind].sum())
