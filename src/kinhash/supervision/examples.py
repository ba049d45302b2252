"""Examples to learn a map from: pairs, similar pairs alone, triplets. One class a kind.

A map gives every row the means ``q`` of its bits, in [−1, 1]. Two rows agree by ``c = mean_k q_ik q_jk``. A
kind of examples says which rows a step looks at (`draw`), where the energy pushes their means (`push`), and
how well codes order held-out examples (`score`). The encoder (`kinhash.encoders.amortized`) knows no kind
by its class.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from .._internal.types import Array, Bytes, Floats, Floats32, Ints, Matrix, Rng
from ..errors import KinhashWarning

__all__ = [
    "Drawn", "Examples", "Force", "Links", "Nearness", "PairExamples", "Scored", "agreement_of", "named_rows",
    "warn_of_examples",
]  # fmt: skip

ENOUGH = 10  # examples of each sign below which a held-out score means nothing
MOST_SCORED = 2000  # held-out examples that are compared with each other: a matrix of 2,000² differences

Nearness = Callable[[Ints, Ints], Array]
"""How near the rows of pairs are: higher for nearer ones, given their numbers."""
Force = Callable[[Floats, Floats], Floats32]
"""Derivative of the energy of pairs by their agreements, given agreements and similarities."""

_checked = ContextVar("_checked", default=False)  # whether a fit is on examples that were checked before

Known: TypeAlias = Any  # of the pairs of a step: similarities, a mask or nothing, on the card in use if any


class Drawn(NamedTuple):
    """Rows of a step (k,), and what is known of them."""

    rows: Ints
    known: Known


class Links(NamedTuple):
    """Pairs of rows (m,) that belong together, and how strongly each pulls the other's bits to its own."""

    left: Ints
    right: Ints
    strength: Floats


class Scored(NamedTuple):
    """How well codes order examples: a score from 0 to 1, chance ½, and what each example adds to its error.

    ``influences`` (m,) add up to 0; the standard error of the score is the root of the sum of their squares.
    """

    score: float
    influences: Floats


class Examples(ABC):
    """Examples of one kind. ``weight`` is their share beside the examples of other kinds."""

    weight: float

    @property
    @abstractmethod
    def kind(self) -> str:
        """What a verdict calls them: a key of its tables `NAMES` and `MEANINGS`."""

    def fit(self, hasher: Any, X: Matrix, **more: Any) -> None:
        """Fit a hasher on these examples of rows of X; ``more`` are labels beside them.

        The examples were read and checked before, so what is doubtful about them is not repeated.
        """
        before = _checked.set(True)
        try:
            self._fit(hasher, X, **more)
        finally:
            _checked.reset(before)

    @abstractmethod
    def _fit(self, hasher: Any, X: Matrix, **more: Any) -> None:
        """Call the method of the hasher that takes such examples."""

    @property
    @abstractmethod
    def ends(self) -> Ints:
        """The rows (m, 2 or 3) that each example names."""

    @abstractmethod
    def subset(self, keep: Array | slice) -> Self:
        """Some of the examples: positions, or a mask."""

    @abstractmethod
    def renumbered(self, place: Ints, n_rows: int) -> Self:
        """The same among other ``n_rows`` rows: row i is row ``place[i]`` there."""

    @abstractmethod
    def is_enough(self, to_score: bool = False) -> bool:
        """Whether something can be learned from them, or said about a score."""

    @abstractmethod
    def draw(self, size: int, rng: Rng) -> Drawn:
        """About ``size`` pairs of rows for a step."""

    @abstractmethod
    def push(self, means: Floats32, known: Known, force: Force) -> Floats32:
        """Gradient of the mean energy of a step by the means (k, d) of the drawn rows."""

    @abstractmethod
    def links(self) -> Links:
        """Which rows should have like bits."""

    @abstractmethod
    def score(self, near: Nearness, rng: Rng) -> Scored:
        """How well a nearness of rows orders these examples."""


def warn_of_examples(doubt: str, stacklevel: int) -> None:
    """Warn of examples that a user handed in, unless they were checked before."""
    if not _checked.get():
        warnings.warn(doubt, KinhashWarning, stacklevel=stacklevel + 1)


def agreement_of(codes: Callable[[Ints], Bytes]) -> Nearness:
    """Minus the Hamming distances of rows, of which ``codes(rows)`` gives the packed codes."""

    def near(left: Ints, right: Ints) -> Ints:
        differing: Ints = np.bitwise_count(codes(left) ^ codes(right)).sum(axis=1, dtype=np.int64)
        return -differing

    return near


def named_rows(n_rows: int, *ends: Ints) -> Ints:
    """Which of ``n_rows`` rows occur in any of these arrays, in order."""
    named = np.zeros(n_rows, bool)
    for rows in ends:
        named[rows] = True
    return np.flatnonzero(named)


def _drawn(n: int, sums: Floats | None, size: int, rng: Rng) -> Ints:
    """Random numbers below ``n``, by cumulative weights if there are any."""
    if sums is None:
        return rng.integers(n, size=size)
    return np.searchsorted(sums, rng.random(size) * sums[-1]).clip(max=n - 1)


def _orders(x: Floats, y: Array) -> tuple[Ints, Ints]:
    """For each i, ``Σ_j sign(x_i − x_j) sign(y_i − y_j)`` and how many ``x_j`` differ from ``x_i``.

    Memory: one number for each pair of distinct values.
    """
    a, b = (np.unique(values, return_inverse=True)[1] for values in (x, y))
    below = np.zeros((a.max() + 2, b.max() + 2), np.int64)  # [i, j]: how many are below the i-th and the j-th
    np.add.at(below, (a + 1, b + 1), 1)
    below = below.cumsum(axis=0).cumsum(axis=1)
    x_less, x_more = below[a, -1], len(a) - below[a + 1, -1]
    y_less_of_less, y_less_of_more = below[a, b], below[-1, b] - below[a + 1, b]
    y_more_of_less = x_less - below[a, b + 1]
    y_more_of_more = x_more - (below[-1, b + 1] - below[a + 1, b + 1])
    return y_less_of_less + y_more_of_more - y_more_of_less - y_less_of_more, x_less + x_more


@dataclass(frozen=True)
class PairExamples(Examples):
    """Pairs (m,) with similarities in [−1, 1]; similar and other pairs are drawn equally often, by weight."""

    left: Ints
    right: Ints
    similarity: Floats
    weights: Floats | None = None
    weight: float = 1.0

    @property
    def kind(self) -> str:
        return "pairs" if len(np.unique(self.similarity)) <= 2 else "grades"

    def _fit(self, hasher: Any, X: Matrix, **more: Any) -> None:
        if self.weights is not None and "weight" in signature(hasher.fit_pairs).parameters:
            more["weight"] = self.weights
        hasher.fit_pairs(X, self.left, self.right, self.similarity, **more)

    @property
    def ends(self) -> Ints:
        return np.stack([self.left, self.right], axis=1)

    def subset(self, keep: Array | slice) -> Self:
        weights = None if self.weights is None else self.weights[keep]
        left, right, similarity = self.left[keep], self.right[keep], self.similarity[keep]
        return replace(self, left=left, right=right, similarity=similarity, weights=weights)

    def renumbered(self, place: Ints, n_rows: int) -> Self:
        return replace(self, left=place[self.left], right=place[self.right])

    def is_enough(self, to_score: bool = False) -> bool:
        similar = int((self.similarity > 0).sum())
        return min(similar, len(self.left) - similar) >= (ENOUGH if to_score else 1)

    @cached_property
    def _sides(self) -> list[tuple[Ints, Floats | None]]:
        """Positions of similar and of other pairs, where there are any, each with cumulative weights."""
        similar = self.similarity > 0
        sides = [side for side in (np.flatnonzero(similar), np.flatnonzero(~similar)) if len(side)]
        return [(side, None if self.weights is None else np.cumsum(self.weights[side])) for side in sides]

    def draw(self, size: int, rng: Rng) -> Drawn:
        each = size // len(self._sides)
        picked = np.concatenate([side[_drawn(len(side), sums, each, rng)] for side, sums in self._sides])
        rows = np.concatenate([self.left[picked], self.right[picked]])
        return Drawn(rows, self.similarity[picked])

    def push(self, means: Floats32, known: Known, force: Force) -> Floats32:
        u, v = np.split(means, 2)
        agreement = np.einsum("ij,ij->i", u, v) / means.shape[1]
        g = force(agreement, known)[:, None] / np.float32(u.size)
        return np.concatenate([g * v, g * u])

    def links(self) -> Links:
        """Similar pairs, by similarity and weight.

        Dissimilar pairs push no bits apart: in a list they often look alike, and a row that is pushed away
        from one of them ends far from everything it looks like.
        """
        similar = self.similarity > 0
        strength = self.similarity * (1 if self.weights is None else self.weights / self.weights.mean())
        return Links(self.left[similar], self.right[similar], strength[similar])

    def score(self, near: Nearness, rng: Rng) -> Scored:
        """The share of two pairs whose distances are in the order of their similarities: the AUC of verdicts.

        For verdicts the error that follows from the influences is that of DeLong et al., Biometrics 1988.
        """
        some = slice(0, MOST_SCORED)
        found, s = near(self.left[some], self.right[some]), self.similarity[some]
        right, comparable = _orders(s, found)
        total = comparable.sum()
        mean = float(right.sum() / total)
        return Scored((1 + mean) / 2, (right - mean * comparable) / total)
