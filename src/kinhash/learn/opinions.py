"""Opinions: what labels, and the looks of rows, say about the rows of a batch.

An opinion draws rows, so that partners meet, and says how the loss changes with their bits. `Ranking` is the
opinion of one or several wishes: a wish says how much row i of a batch wants row j near, ``T_ij ≥ 0``, rows
summing to one (or to zero: no wish). The loss is the cross entropy between T and the softmax of how well codes
agree. Pairs, clicks and triplets are in `pairs`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices, map_blocks
from .._internal.types import Array, Bools, Floats, Floats32, Ints, Rng

__all__ = ["Batch", "Classes", "Looks", "Matrix", "Opinion", "PairEnergy", "Ranking", "Tags", "Tree", "Wish"]

SHARP = 7.0  # agreements in [−1, 1] times this are the logits of a softmax
TAU = 0.07  # cosines divided by this are the logits of what looks want
ALONE = 1 / TAU  # in place of SHARP where looks alone speak: codes then agree on the scale of cosines
TEMPERATURE = 4  # energies see agreements as if codes had this many bits: with 16 few pairs decide all
BLOCK = 256  # rows of a batch that a thread takes at once
DENSE_TAGS = 512  # more tags than this are multiplied as sparse rows

Slope: TypeAlias = Callable[[Floats32, Floats32], Floats32]
"""Derivative of the energy of pairs by their agreements in [−1, 1], given agreements and similarities."""


@dataclass(frozen=True)
class Batch:
    """Rows of a step: their numbers (m,), tanh bits (m, d), and looks as rows of unit length.

    With weights, a row may be drawn several times.
    """

    rows: Ints
    bits: Floats32
    units: Callable[[], Floats32]
    n_jobs: int | None = None

    @cached_property
    def repeated(self) -> bool:
        """Whether a row was drawn several times."""
        return len(np.unique(self.rows)) < len(self.rows)

    def clear_own(self, M: Array, part: slice) -> Array:
        """Set M (k, m) to 0, in place, where some rows of the batch meet themselves."""
        here = np.arange(part.start, part.stop)
        M[here - part.start, here] = 0
        if self.repeated:
            M[self.rows[part][:, None] == self.rows] = 0
        return M


class Opinion(ABC):
    """What someone says about rows."""

    weight: float

    @abstractmethod
    def draw(self, size: int, rng: Rng) -> Ints:
        """Numbers of about ``size`` rows for a step."""

    @abstractmethod
    def gradient(self, batch: Batch) -> Floats32:
        """Gradient (m, d) of the weighted mean loss of the batch by its bits."""


class Wish(ABC):
    """How much row i of a batch wants row j near. ``known`` (n,) are the rows that it says something of."""

    known: Bools

    @abstractmethod
    def near(self, batch: Batch, part: slice) -> Floats32:
        """Wishes (k, m) ≥ 0 of some rows of the batch, not yet summing to one; the own row is ignored."""

    def similarity(self, batch: Batch, part: slice) -> Floats32:
        """Similarities (k, m) in [−1, 1], for energies of pairs."""
        return 2 * np.minimum(self.near(batch, part), 1) - 1


class Classes(Wish):
    """Rows of the same class, evenly."""

    def __init__(self, classes: Ints) -> None:
        self.classes, self.known = classes, classes >= 0

    def near(self, batch: Batch, part: slice) -> Floats32:
        own = self.classes[batch.rows]
        return ((own[part][:, None] == own) & (own >= 0)).astype(np.float32)


class Matrix(Wish):
    """Rows of classes that a K × K matrix calls similar, by how similar they are."""

    def __init__(self, classes: Ints, between: Floats) -> None:
        self.classes, self.known = classes, classes >= 0
        self.between = between.astype(np.float32)

    def near(self, batch: Batch, part: slice) -> Floats32:
        own = self.classes[batch.rows]
        wanted = np.maximum(self.between[own[part]][:, own], 0) * (own >= 0)
        return wanted * (own[part] >= 0)[:, None]

    def similarity(self, batch: Batch, part: slice) -> Floats32:
        own = self.classes[batch.rows]
        return self.between[own[part]][:, own]


class Tags(Wish):
    """Rows that share tags: by the square of the Jaccard index if ``graded``, else evenly."""

    def __init__(self, tags: sp.csr_array, known: Bools, graded: bool = True) -> None:
        self.tags = sp.csr_array(tags, dtype=np.float32)
        self.sizes = np.diff(self.tags.indptr).astype(np.float32)
        self.known, self.graded = known & (self.sizes > 0), graded

    def _jaccard(self, batch: Batch, part: slice) -> Floats32:
        own = self.tags[batch.rows]
        if own.shape[1] <= DENSE_TAGS:
            dense = own.toarray()
            shared = dense[part] @ dense.T
        else:
            shared = (own[part] @ own.T).toarray()
        if not self.graded:
            return (shared > 0).astype(np.float32)
        sizes = self.sizes[batch.rows]
        return shared / np.maximum(sizes[part][:, None] + sizes - shared, 1)

    def near(self, batch: Batch, part: slice) -> Floats32:
        found = self._jaccard(batch, part)
        return found * found

    def similarity(self, batch: Batch, part: slice) -> Floats32:
        found = self._jaccard(batch, part)
        return np.where(found > 0, found, -1.0).astype(np.float32)


class Tree(Wish):
    """Rows of the same node on each level of a tree; ``shares`` (L,) say how much each level counts."""

    def __init__(self, levels: Ints, shares: Floats) -> None:
        self.levels, self.shares = levels, shares / shares.sum()
        self.known = levels[:, 0] >= 0

    def near(self, batch: Batch, part: slice) -> Floats32:
        total: Floats32 | float = 0.0
        for nodes, share in zip(self.levels[batch.rows].T, self.shares, strict=True):
            same = ((nodes[part][:, None] == nodes) & (nodes >= 0)).astype(np.float32)
            total = total + np.float32(share) * to_one(batch.clear_own(same, part))
        return np.asarray(total, np.float32)

    def similarity(self, batch: Batch, part: slice) -> Floats32:
        own = self.levels[batch.rows]
        same = (own[part][:, None] == own[None]) & (own >= 0)
        return (2 * (same @ self.shares) - 1).astype(np.float32)


class Looks(Wish):
    """Rows that look alike, by the cosine of centered rows: the one opinion that every row has."""

    def __init__(self, n_rows: int) -> None:
        self.known = np.ones(n_rows, bool)

    def near(self, batch: Batch, part: slice) -> Floats32:
        units = batch.units()
        cosine = units[part] @ units.T
        cosine -= 1  # at most e⁰
        cosine *= np.float32(1 / TAU)
        return np.exp(cosine, out=cosine)


class Ranking(Opinion):
    """Wishes about the same rows: ``weights[o]`` (n,) is how much wish o counts for each row.

    Rows are drawn by ``chances`` (n,), or evenly among ``rows``. Agreements times ``sharp`` are the logits.
    """

    def __init__(
        self,
        wishes: Sequence[Wish],
        weights: Sequence[Floats],
        rows: Ints,
        chances: Floats | None = None,
        sharp: float = SHARP,
    ) -> None:
        self.wishes, self.rows, self.sharp = wishes, rows, sharp
        self.weights = [np.asarray(one, np.float32) for one in weights]
        self.sums = None if chances is None else np.cumsum(chances[rows])

    def draw(self, size: int, rng: Rng) -> Ints:
        return draw_rows(self.rows, self.sums, size, rng)

    def gradient(self, batch: Batch) -> Floats32:
        m, d = batch.bits.shape
        sharp = np.float32(self.sharp / d)

        def one(part: slice) -> tuple[Floats32, Floats32]:
            own = batch.bits[part]
            P = own @ batch.bits.T
            P *= sharp
            np.exp(P, out=P)  # logits are small: no overflow
            batch.clear_own(P, part)
            change: Floats32 | None = None
            voice = np.zeros(len(own), np.float32)
            for wish, weights in zip(self.wishes, self.weights, strict=True):
                T = batch.clear_own(wish.near(batch, part), part)
                total = T.sum(axis=1)
                w = np.where(total > 0, weights[batch.rows[part]], 0).astype(np.float32)
                T *= (w / np.where(total > 0, total, 1))[:, None]
                change = T if change is None else np.add(change, T, out=change)
                voice += w
            assert change is not None
            sums = P.sum(axis=1)  # 0 if the batch has no other row
            P *= (voice / np.where(sums > 0, sums, 1))[:, None]
            wrong: Floats32 = np.subtract(P, change, out=P)
            return wrong @ batch.bits, wrong.T @ own

        return _both_ways(one, m, d, batch.n_jobs) * (sharp / m)


class PairEnergy(Opinion):
    """The energy of all pairs of a batch, by the similarity of a wish; similar and other pairs count the same."""

    def __init__(
        self, wish: Wish, slope: Slope, weights: Floats, rows: Ints, chances: Floats | None = None
    ) -> None:
        self.wish, self.slope, self.rows = wish, slope, rows
        self.weights = np.asarray(weights, np.float32)
        self.sums = None if chances is None else np.cumsum(chances[rows])

    def draw(self, size: int, rng: Rng) -> Ints:
        return draw_rows(self.rows, self.sums, size, rng)

    def gradient(self, batch: Batch) -> Floats32:
        m, d = batch.bits.shape

        def one(part: slice) -> tuple[Floats32, Floats32]:
            own = batch.bits[part]
            s = self.wish.similarity(batch, part)
            similar = batch.clear_own(s > 0, part)
            other = batch.clear_own(~similar, part)
            n_similar, n_other = (each.sum(axis=1, keepdims=True) for each in (similar, other))
            share = np.where(similar, 0.5 / np.maximum(n_similar, 1), 0.5 / np.maximum(n_other, 1))
            batch.clear_own(share, part)
            force = self.slope((own @ batch.bits.T) / np.float32(d), s)
            force = (force * share * self.weights[batch.rows[part]][:, None]).astype(np.float32)
            return force @ batch.bits, force.T @ own

        return _both_ways(one, m, d, batch.n_jobs) * np.float32(1 / (m * d))


def _both_ways(
    one: Callable[[slice], tuple[Floats32, Floats32]], m: int, d: int, n_jobs: int | None
) -> Floats32:
    """``(D + Dᵀ) B`` from its blocks of rows, added in their order."""
    parts = block_slices(m, BLOCK)
    out = np.zeros((m, d), np.float32)
    for part, (forth, back) in zip(parts, map_blocks(one, parts, n_jobs), strict=True):
        out[part] += forth
        out += back
    return out


def draw_rows(rows: Ints, sums: Floats | None, size: int, rng: Rng) -> Ints:
    """``size`` different rows, or all if there are no more; with chances, a row comes as often as it is drawn."""
    if sums is not None:
        return rows[np.sort(np.searchsorted(sums, rng.random(size) * sums[-1]).clip(max=len(rows) - 1))]
    if len(rows) <= size:
        return rows
    if len(rows) > 20 * size:  # duplicates are rare, and cheaper to drop than to avoid
        return rows[np.unique(rng.integers(len(rows), size=size))]
    return rows[rng.choice(len(rows), size, replace=False, shuffle=False)]


def to_one(T: Floats32) -> Floats32:
    """Rows divided by their sums; rows of zeros stay zero."""
    total = T.sum(axis=1, keepdims=True)
    return np.asarray(T / np.where(total > 0, total, 1), np.float32)


def slope_of(energy: object) -> Slope:
    """Derivative of an energy by the agreement of two rows, of size 1 at agreement 0 and ``|s| = 1``.

    So weights mean the same for every energy, whatever its scale.
    """
    by_r = energy.slope  # type: ignore[attr-defined]
    unit = abs(float(by_r(np.zeros(1), np.ones(1), TEMPERATURE)[0])) or 1.0

    def at(agreement: Array, s: Array) -> Floats32:
        return (by_r(TEMPERATURE * agreement, s, TEMPERATURE) / unit).astype(np.float32)

    return at
