"""What pairs, clicks and triplets say to the learner.

Pairs that are not listed are unknown; with clicks, where no pair is known to be dissimilar, the other rows of a
batch are taken as dissimilar unless a short path of clicks leads to them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np

from .._internal.types import Bools, Floats, Floats32, Ints, Rng
from .opinions import SHARP, Batch, Opinion, Slope

__all__ = ["Clicks", "Triplets", "Verdicts"]

ENOUGH = 10  # pairs of each kind, to compare their looks
COMPARED = 20_000  # pairs of pairs that are compared
MOST_HELD, FEWEST_HELD = 2_000, 20  # examples held out to see whether they help: a tenth of them
STRANGERS = 20  # random rows that the partner of a held-out click is compared with
INVERTED = 0.35  # share of similar pairs that look more alike than others, below which verdicts are doubtful

Nearness: TypeAlias = Callable[[Ints, Ints], Floats32]
"""How near the rows of pairs are, given their numbers."""


class Between(Opinion):
    """Examples that name rows, some of which can be held out to see whether they help.

    ``kind`` is what users call them; ``compared`` is how many examples are compared with each other at once.
    """

    kind: ClassVar[str] = "pairs"
    compared: ClassVar[int] = 1

    @abstractmethod
    def ends(self) -> tuple[Ints, ...]:
        """The rows that each example names, an array (m,) for each end."""

    @abstractmethod
    def subset(self, some: Ints) -> Self:
        """Some of the examples."""

    @abstractmethod
    def in_order(self, near: Nearness, n_rows: int, rng: Rng) -> Floats:
        """How far a nearness of rows puts each of (m,) examples in order: from 0 to 1, chance is ½."""

    def named(self, n_rows: int) -> Bools:
        """Rows (n,) that an example names."""
        named = np.zeros(n_rows, bool)
        for rows in self.ends():
            named[rows] = True
        return named

    def worse(self, before: Floats, after: Floats) -> bool:
        """Whether examples are in order less often than before, by more than a standard error of the difference."""
        apart = after - before
        return bool(apart.mean() < -self.compared * apart.std() / np.sqrt(len(apart)))

    def split(self, rng: Rng) -> tuple[Self, Self] | None:
        """Examples to learn from and held-out ones; None if there are too few to tell."""
        order = rng.permutation(len(self.ends()[0]))
        held = min(MOST_HELD, len(order) // 10)
        return None if held < FEWEST_HELD else (self.subset(order[held:]), self.subset(order[:held]))


@dataclass(eq=False)
class Verdicts(Between):
    """Pairs (m,) with similarities in [−1, 1]: the energy of each; similar and other pairs are drawn equally often."""

    left: Ints
    right: Ints
    similarity: Floats
    weights: Floats | None
    slope: Slope
    weight: float = 1.0
    compared: ClassVar[int] = 2

    def __post_init__(self) -> None:
        similar = self.similarity > 0
        self._sides = []
        for side in (np.flatnonzero(similar), np.flatnonzero(~similar)):
            if len(side):
                self._sides.append((side, None if self.weights is None else np.cumsum(self.weights[side])))

    def ends(self) -> tuple[Ints, ...]:
        return self.left, self.right

    def subset(self, some: Ints) -> Self:
        weights = None if self.weights is None else self.weights[some]
        left, right, similarity = self.left[some], self.right[some], self.similarity[some]
        return replace(self, left=left, right=right, similarity=similarity, weights=weights)

    def in_order(self, near: Nearness, n_rows: int, rng: Rng) -> Floats:
        m = len(self.left)
        i, j = rng.integers(m, size=(2, COMPARED))
        found, wanted = near(self.left, self.right), self.similarity
        differ = wanted[i] != wanted[j]
        i, j = i[differ], j[differ]
        agree = np.sign(found[i] - found[j]) * np.sign(wanted[i] - wanted[j])
        both, agree = np.concatenate([i, j]), np.concatenate([agree, agree])
        mean = np.bincount(both, agree, m) / np.maximum(np.bincount(both, minlength=m), 1)
        return np.asarray((1 + mean) / 2)

    def doubts(self, unit: Callable[[Ints], Floats32], rng: Rng) -> list[str]:
        """What to say where similar pairs look less alike than the others; ``unit`` gives rows of length 1."""
        if len(self._sides) < 2 or min(len(side) for side, _ in self._sides) < ENOUGH:
            return []
        cosines = []
        for side, _ in self._sides:
            some = side[_some(len(side), None, COMPARED, rng)]
            cosines.append(np.einsum("ij,ij->i", unit(self.left[some]), unit(self.right[some])))
        in_order = float(np.searchsorted(np.sort(cosines[1]), cosines[0]).mean() / len(cosines[1]))
        if in_order >= INVERTED:
            return []
        return [
            f"Similar pairs look less alike than the others: of a similar and another pair, the similar one is more "
            f"alike in {in_order:.0%} of cases. Are the verdicts inverted? 1 and True mean similar."
        ]

    def draw(self, size: int, rng: Rng) -> Ints:
        each = max(1, size // 2 // len(self._sides))
        drawn = [side[_some(len(side), sums, each, rng)] for side, sums in self._sides]
        self._picked = np.concatenate(drawn)
        return np.concatenate([self.left[self._picked], self.right[self._picked]])

    def gradient(self, batch: Batch) -> Floats32:
        u, v = np.split(batch.bits, 2)
        agreement = np.einsum("ij,ij->i", u, v) / batch.bits.shape[1]
        force = self.slope(agreement, self.similarity[self._picked].astype(np.float32))
        g = force[:, None] * np.float32(SHARP * self.weight / u.size)
        return np.concatenate([g * v, g * u])


@dataclass(eq=False)
class Clicks(Between):
    """Similar pairs alone (m,), among ``n_rows`` rows: each row has to find its partner among those of the batch.

    A row is not compared with itself, with its other partners, or with partners of its partners. Every link is
    kept with the row of fewer partners, so that a row of thousands costs no more than others.
    """

    left: Ints
    right: Ints
    n_rows: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        n = self.n_rows
        counts = np.bincount(self.left, minlength=n) + np.bincount(self.right, minlength=n)
        swap = counts[self.left] > counts[self.right]
        few, many = np.where(swap, self.right, self.left), np.where(swap, self.left, self.right)
        order = np.argsort(few, kind="stable")
        self._others, self._place = many[order], np.full(n, -1, np.int64)
        self._ends = np.concatenate([[0], np.cumsum(np.bincount(few, minlength=n))])

    def ends(self) -> tuple[Ints, ...]:
        return self.left, self.right

    def subset(self, some: Ints) -> Self:
        return replace(self, left=self.left[some], right=self.right[some])

    def in_order(self, near: Nearness, n_rows: int, rng: Rng) -> Floats:
        own = near(self.left, self.right)
        strangers = [near(self.left, rng.integers(n_rows, size=len(own))) for _ in range(STRANGERS)]
        return np.mean([(1 + np.sign(own - other)) / 2 for other in strangers], axis=0, dtype=np.float64)

    def draw(self, size: int, rng: Rng) -> Ints:
        picked = rng.integers(len(self.left), size=max(1, size // 2))
        return np.concatenate([self.left[picked], self.right[picked]])

    def _near(self, a: Ints, b: Ints) -> Bools:
        """Which of ``a`` and ``b`` (k, k) are the same, partners, or linked by a partner in the batch."""
        rows = np.unique(np.concatenate([a, b]))
        self._place[rows] = np.arange(len(rows))
        lengths = self._ends[rows + 1] - self._ends[rows]
        source = np.repeat(np.arange(len(rows)), lengths)
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        target = self._place[self._others[np.repeat(self._ends[rows], lengths) + within]]
        links = np.eye(len(rows), dtype=np.float32)
        links[source[target >= 0], target[target >= 0]] = 1
        links = np.maximum(links, links.T)
        i, j = self._place[a], self._place[b]
        self._place[rows] = -1
        near = links[i] @ links[:, j] > 0
        np.fill_diagonal(near, False)
        return near

    def gradient(self, batch: Batch) -> Floats32:
        u, v = np.split(batch.bits, 2)
        a, b = np.split(batch.rows, 2)
        sharp = np.float32(SHARP / u.shape[1])
        odds = np.exp(sharp * (u @ v.T) - np.float32(SHARP))  # logits are at most SHARP: no overflow
        odds[self._near(a, b)] = 0
        wrong = (odds / odds.sum(axis=1, keepdims=True) + odds / odds.sum(axis=0)) / 2
        wrong[np.diag_indices_from(wrong)] -= 1
        wrong *= sharp * np.float32(self.weight / len(u))
        return np.concatenate([wrong @ v, wrong.T @ u])


@dataclass(eq=False)
class Triplets(Between):
    """Triplets (m,): a softmax over the nearer and the further row of each anchor."""

    anchor: Ints
    nearer: Ints
    further: Ints
    weight: float = 1.0
    kind: ClassVar[str] = "triplets"

    def ends(self) -> tuple[Ints, ...]:
        return self.anchor, self.nearer, self.further

    def subset(self, some: Ints) -> Self:
        return replace(self, anchor=self.anchor[some], nearer=self.nearer[some], further=self.further[some])

    def in_order(self, near: Nearness, n_rows: int, rng: Rng) -> Floats:
        apart = near(self.anchor, self.nearer) - near(self.anchor, self.further)
        return np.asarray((1 + np.sign(apart)) / 2, np.float64)

    def draw(self, size: int, rng: Rng) -> Ints:
        picked = rng.integers(len(self.anchor), size=max(1, size // 3))
        return np.concatenate([self.anchor[picked], self.nearer[picked], self.further[picked]])

    def gradient(self, batch: Batch) -> Floats32:
        a, b, c = np.split(batch.bits, 3)
        sharp = np.float32(SHARP / a.shape[1])
        difference = sharp * np.einsum("ij,ij->i", a, b - c)
        force = -sharp / (1 + np.exp(difference)) * np.float32(self.weight / len(a))
        g = force[:, None]
        return np.concatenate([g * (b - c), g * a, -g * a])


def _some(n: int, sums: Floats | None, size: int, rng: Rng) -> Ints:
    """Random numbers below ``n``, by cumulative weights if there are any."""
    if sums is None:
        return rng.integers(n, size=size)
    return np.searchsorted(sums, rng.random(size) * sums[-1]).clip(max=n - 1)
