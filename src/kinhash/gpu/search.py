"""Exact search on a card: a sample gives the first limit, a larger one the next, a last pass the answer.

The rows of a small sample that spreads over all codes tell how far the k nearest of a larger sample
may be, and so on up to all codes, of which little more than the k nearest are noted. Whether these are enough
and fitted is known from their number, so the answer is exact whatever the samples said. Where it was not so,
one pass counts the rows at every distance, and the limit is certain.

Keys are ``distance << 40 | row``; sorted keys are in the order (distance, row). Peak memory on the card
beside the codes: `MOST_NOTES` keys of 8 bytes, and about 60 bytes for every row that `within` finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, log, sqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._internal.blocks import block_slices
from .._internal.types import Array, Bytes, Ints, Words
from ..codes import N_PLANES, planes_of

if TYPE_CHECKING:
    from .device import Card


Keys = npt.NDArray[np.uint64]

SHIFT = 40  # a key is distance << SHIFT | row
ROW = (1 << SHIFT) - 1

FIRST_TILES = 1  # of the first sample
QUERY_TILE = 8
MOST_NOTES = 1 << 26  # keys noted at a time
MOST_QUERIES = 1024  # of one sorting: their numbers share a key with distance and row
FOUND, TOO_FEW, TOO_MANY, TOO_TIED = range(4)


@dataclass(frozen=True, eq=False)
class Rows:
    """Words (W, stride) of ``n_rows`` codes, the stride a whole number of tiles; arrays of a card.

    ``mask`` has a bit for each row, 32 to a word, the first row in the lowest bit; None keeps all rows.
    """

    words: Array
    n_rows: int
    mask: Array | None = None


@dataclass(frozen=True)
class Tiles:
    """The tiles ``first``, ``first + step``, ... of some rows, ``count`` of them."""

    first: int
    count: int
    step: int = 1


@dataclass(frozen=True, eq=False)
class Notes:
    """Keys (q, cap) of rows within the limits, in any order, and how many (q,) each query would have had."""

    counts: Array
    keys: Array

    @property
    def cap(self) -> int:
        """Keys a query has room for."""
        return int(self.keys.shape[1])


@dataclass(frozen=True, eq=False)
class Queries:
    """Words (q, W) of the queries, and what their bits count.

    ``weights`` (q, 64 W), whole numbers up to 15 in the order of the bits; None where all bits count one.
    ``largest`` is the largest distance there can be.
    """

    words: Words
    weights: Bytes | None
    largest: int

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: slice | Ints) -> Queries:
        """Some of the queries."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, words=self.words[rows], weights=weights)

    @cached_property
    def planes(self) -> Words:
        """Bit planes (q, 4, W) of the weights."""
        assert self.weights is not None, "bits that all count one need no planes"
        return planes_of(self.weights)

    def by_value(self, first: int, last: int) -> tuple[str, tuple[object, ...]]:
        """At most four of the queries as one record, words before planes, and the kernel that takes it."""
        kept = self.__dict__.setdefault("_records", {})
        if first not in kept:
            words = self.words[first:last]
            n, p = (1 if len(words) == 1 else 4), (1 if self.weights is None else N_PLANES)
            record = np.zeros((1 + p, n * words.shape[1]), np.uint64).ravel()
            record[: words.size] = words.ravel()
            if self.weights is not None:
                planes = self.planes[first:last]
                record[n * words.shape[1] :][: planes.size] = planes.ravel()
            by_value = record.view(np.dtype((np.void, record.nbytes)))[0]
            kept[first] = f"few<{n},{p}>", (by_value, np.int32(first), np.int32(len(words)))
        return kept[first]

    @cached_property
    def _bits(self) -> Bytes:
        return np.unpackbits(np.ascontiguousarray(self.words).view(np.uint8), axis=1)

    @cached_property
    def own(self) -> npt.NDArray[np.int32]:
        """What the ones of a query count themselves (q,)."""
        weights = np.ones((1, 1), np.int32) if self.weights is None else self.weights.astype(np.int32)
        return (self._bits * weights).sum(axis=1, dtype=np.int32)

    @cached_property
    def factors(self) -> npt.NDArray[np.uint32]:
        """Factors (tiles, W, 8, 4, 4) that a bit of a code is multiplied with, as lanes of a warp hold them.

        Eight queries make a tile, the last one filled up with zeros. Lane 4 g + t of word w has the bits
        16 t ... 16 t + 15 of query g, counted from the lowest bit; its register r has the bits r, 4 + r,
        8 + r and 12 + r of these.
        """
        weights = np.int8(1) if self.weights is None else self.weights.astype(np.int8)
        signed = weights * (1 - 2 * self._bits.astype(np.int8))
        n_tiles, n_words = -(-len(self) // QUERY_TILE), self.words.shape[1]
        filled = np.zeros((n_tiles * QUERY_TILE, 8 * n_words, 8), np.int8)
        filled[: len(self)] = signed.reshape(len(self), 8 * n_words, 8)[:, :, ::-1]
        lanes = filled.reshape(n_tiles, QUERY_TILE, n_words, 4, 4, 4).transpose(0, 2, 1, 3, 5, 4)
        return np.ascontiguousarray(lanes).view(np.uint32)[..., 0]


def nearest(card: Card, rows: Rows, asked: Queries, k: int) -> Keys:
    """Sorted keys (q, k) of the k nearest rows; k must not exceed the number of rows that pass the mask."""
    out = np.empty((len(asked), k), np.uint64)
    if not k:
        return out
    cap = min(max(card.least_room, 1 << (4 * k - 1).bit_length()), card.n_tiles(rows) * card.tile, 2**32 - 1)
    at_once = max(1, MOST_NOTES // cap)
    if len(asked) <= at_once:
        return _nearest(card, rows, asked, k, cap) if len(asked) else out
    for part in block_slices(len(asked), at_once):
        out[part] = _nearest(card, rows, asked.take(part), k, cap)
    return out


def _nearest(card: Card, rows: Rows, asked: Queries, k: int, cap: int) -> Keys:
    notes = card.notes(len(asked), cap)
    limits = None
    # Few queries wait for every launch, many for every row that is noted.
    most_times = 1000 if len(asked) <= card.few else 256
    for tiles, share in samples(card.n_tiles(rows), most_times):
        card.collect(rows, asked, limits, tiles, notes)
        if share < 1:
            limits = card.lower(notes, _enough(k * share), asked.largest, limits)
    keys, status = card.smallest(notes, k, asked.largest)
    tied = np.flatnonzero(status == TOO_TIED)
    if len(tied):
        keys[tied] = card.sorted_keys(notes, tied, k)
    failed = np.flatnonzero((status == TOO_FEW) | (status == TOO_MANY))
    for part in block_slices(len(failed), MOST_QUERIES):
        keys[failed[part]] = _counted(card, rows, asked.take(failed[part]), k)
    return keys


def _enough(expected: float) -> int:
    """Rows of a sample that hold the wanted ones but rarely fail: some more than expected."""
    return ceil(expected + 3 * sqrt(expected) + 3)


def _counted(card: Card, rows: Rows, asked: Queries, k: int) -> Keys:
    """As `nearest`, by counting first: a limit with k rows within it and fewer than k below."""
    upto = np.cumsum(card.histogram(rows, asked), axis=1)
    limits = (upto < k).sum(axis=1).astype(np.int32)
    few = np.take_along_axis(upto, limits[:, None], axis=1)[:, 0] <= card.most_ties
    query, keys = within(card, rows, asked, np.where(few, limits, limits - 1))
    near = np.split(keys, np.searchsorted(query, np.arange(1, len(asked))))
    out = np.empty((len(asked), k), np.uint64)
    wanted = {int(q): k - len(near[q]) for q in np.flatnonzero(~few)}
    ties = _first_ties(card, rows, asked, limits, wanted)
    for q, found in enumerate(near):
        out[q] = np.concatenate([found, *ties.get(q, ())])[:k]
    return out


def _first_ties(
    card: Card, rows: Rows, asked: Queries, limits: npt.NDArray[np.int32], wanted: dict[int, int]
) -> dict[int, list[Keys]]:
    """The first rows at exactly the limit, as many as are wanted, of queries that have very many of them."""
    found: dict[int, list[Keys]] = {q: [] for q in wanted}
    n_tiles, start = card.n_tiles(rows), 0
    while wanted:
        queries = np.array(sorted(wanted))
        size = max(1, min(card.most_ties, MOST_NOTES // len(queries)) // card.tile)
        tiles = Tiles(start, min(size, n_tiles - start))
        notes = card.notes(len(queries), tiles.count * card.tile)
        card.collect(rows, asked.take(queries), card.put(limits[queries]), tiles, notes)
        number, keys = card.flat(notes, np.arange(len(queries)))
        for i, q in enumerate(queries.tolist()):
            mine = keys[np.searchsorted(number, i) : np.searchsorted(number, i + 1)]
            mine = mine[mine >> np.uint64(SHIFT) == limits[q]][: wanted[q]]
            found[q].append(mine)
            wanted[q] -= len(mine)
        wanted = {q: left for q, left in wanted.items() if left > 0}
        start += tiles.count
    return found


def within(card: Card, rows: Rows, asked: Queries, limits: Array) -> tuple[Ints, Keys]:
    """Query numbers and keys of all rows within a limit for each query, in that order."""
    everything = Tiles(0, card.n_tiles(rows))
    cap = min(card.least_room, everything.count * card.tile)
    limits = limits.astype(np.int32)
    parts = []
    for part in block_slices(len(asked), max(1, min(MOST_QUERIES, MOST_NOTES // cap))):
        notes = card.notes(part.stop - part.start, cap)
        card.collect(rows, asked.take(part), card.put(limits[part]), everything, notes)
        counts = card.get(notes.counts).astype(np.int64)
        fits = counts <= cap
        parts += _numbered(card, notes, np.flatnonzero(fits), part.start)
        for large in _by_size(part.start + np.flatnonzero(~fits), counts[~fits]):
            notes = card.notes(len(large), int(counts[large - part.start].max()))
            card.collect(rows, asked.take(large), card.put(limits[large]), everything, notes)
            number, keys = card.flat(notes, np.arange(len(large)))
            parts.append((large[number], keys))
    query = np.concatenate([np.empty(0, np.int64), *(part[0] for part in parts)])
    keys = np.concatenate([np.empty(0, np.uint64), *(part[1] for part in parts)])
    order = np.argsort(query, kind="stable")
    return query[order], keys[order]


def _numbered(card: Card, notes: Notes, queries: Ints, first: int) -> list[tuple[Ints, Keys]]:
    if not len(queries):
        return []
    number, keys = card.flat(notes, queries)
    return [(first + queries[number], keys)]


def _by_size(queries: Ints, counts: Ints) -> Iterator[Ints]:
    """Queries with many rows in groups that can be noted at a time, each at least of one query."""
    queries, counts = queries[np.argsort(counts)], np.sort(counts)
    start = 0
    while start < len(queries):
        stop = start + 1
        while stop < len(queries) and (stop + 1 - start) * counts[stop] <= MOST_NOTES:
            stop += 1
        yield queries[start:stop]
        start = stop


def samples(n_tiles: int, most_times: int) -> Iterator[tuple[Tiles, float]]:
    """Larger and larger samples, evenly spread, up to all tiles; and what share of the tiles each is.

    Each is at most ``most_times`` as large as the one before.
    """
    larger = max(1.0, n_tiles / FIRST_TILES)
    steps = ceil(log(larger) / log(most_times))
    for step in range(steps, 0, -1):
        size = max(1, int(n_tiles / larger ** (step / steps)))
        yield Tiles(0, size, n_tiles // size), size / n_tiles
    yield Tiles(0, n_tiles), 1.0
