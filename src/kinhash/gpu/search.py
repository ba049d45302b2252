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
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._internal.bit_planes import SAFETY, whole_weights
from .._internal.blocks import block_slices
from .._internal.types import Array, Floats, Ints
from .queries import Queries
from .rows import ROW, SHIFT, Notes, Rows, Tiles, samples

if TYPE_CHECKING:
    from .device import Card

__all__ = ["nearest", "nearest_by_margins", "within"]

Keys = npt.NDArray[np.uint64]

MOST_NOTES = 1 << 26  # keys noted at a time
MOST_QUERIES = 1024  # of one sorting: their numbers share a key with distance and row
FOUND, TOO_FEW, TOO_MANY, TOO_TIED = range(4)


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


def within(
    card: Card, rows: Rows, asked: Queries, limits: Array, tiles: Tiles | None = None
) -> tuple[Ints, Keys]:
    """Query numbers and keys of all rows (of these tiles) within a limit for each query, in that order."""
    everything = Tiles(0, card.n_tiles(rows)) if tiles is None else tiles
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


def nearest_by_margins(card: Card, rows: Rows, words: Keys, weights: Floats, k: int) -> tuple[Floats, Ints]:
    """Weighted distances (q, k) and rows (q, k) in the order (distance, row), for float weights (q, 64 W).

    Weights rounded down to whole steps never count too much. So the k nearest by these, counted in floats,
    say how far the k-th can be, and all rows within that are counted in floats, in the processor's order.
    """
    n_queries = len(words)
    if not k:
        return np.empty((n_queries, 0)), np.empty((n_queries, 0), np.int64)
    whole, step = whole_weights(weights)
    asked = Queries(words, whole, int(whole.sum(axis=1, dtype=np.int64).max(initial=0)))
    near = nearest(card, rows, asked, k) & np.uint64(ROW)
    number = np.repeat(np.arange(n_queries), k)
    lost = card.margins_lost(rows, words, weights, number, near.ravel()).reshape(n_queries, k)
    limits = np.minimum(np.floor(lost.max(axis=1) / step * (1 + SAFETY)), asked.largest).astype(np.int32)
    parts = block_slices(n_queries, MOST_QUERIES)
    counts = [_counts(card, rows, asked.take(part), limits[part]) for part in parts]
    distances, found = np.empty((n_queries, k)), np.empty((n_queries, k), np.int64)
    for some, n_tiles in _by_tiles(card, rows, np.concatenate([np.empty(0, np.int64), *counts])):
        floats = _InFloats(card, rows, asked.take(some), words[some], weights[some], step[some], k)
        distances[some], found[some] = floats.nearest(limits[some], n_tiles)
    return distances, found


def _counts(card: Card, rows: Rows, asked: Queries, limits: npt.NDArray[np.int32]) -> Ints:
    """How many rows are within the limits (q,)."""
    notes = card.notes(len(asked), 1)
    card.collect(rows, asked, card.put(limits), Tiles(0, card.n_tiles(rows)), notes)
    return card.get(notes.counts).astype(np.int64)


def _by_tiles(card: Card, rows: Rows, counts: Ints) -> Iterator[tuple[Ints, int]]:
    """Queries whose rows can be noted at a time, with all tiles; those with more rows, with fewer tiles."""
    few = counts <= card.most_ties
    for some in _by_size(np.flatnonzero(few), counts[few]):
        yield some, card.n_tiles(rows)
    many = np.flatnonzero(~few)
    for part in block_slices(len(many), 64):
        yield many[part], max(1, card.most_ties // card.tile)


@dataclass(frozen=True, eq=False)
class _InFloats:
    """Queries whose nearest rows are compared by floating-point distances."""

    card: Card
    rows: Rows
    asked: Queries
    words: Keys
    weights: Floats
    step: Floats
    k: int

    def nearest(self, limits: npt.NDArray[np.int32], n_tiles: int) -> tuple[Array, Array]:
        """Distances and rows (q, k). Scans ``n_tiles`` at a time and lowers the limits after each scan."""
        query, row, lost = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        for start in range(0, self.card.n_tiles(self.rows), n_tiles):
            tiles = Tiles(start, min(n_tiles, self.card.n_tiles(self.rows) - start))
            number, keys = within(self.card, self.rows, self.asked, limits, tiles)
            more = (keys & np.uint64(ROW)).astype(np.int64)
            floats = self.card.margins_lost(self.rows, self.words, self.weights, number, more)
            query, row = np.concatenate([query, number]), np.concatenate([row, more])
            lost = np.concatenate([lost, floats])
            order = np.lexsort((row, lost, query))
            place = np.arange(len(order)) - np.searchsorted(query[order], query[order])
            order = order[place < self.k]
            query, row, lost = query[order], row[order], lost[order]
            full = np.flatnonzero(np.bincount(query, minlength=len(limits)) == self.k)
            last = lost[np.searchsorted(query, full, side="right") - 1]
            limits[full] = np.minimum(limits[full], np.floor(last / self.step[full] * (1 + SAFETY)))
        return lost.reshape(-1, self.k), row.reshape(-1, self.k)
