"""What a card does, in NumPy: slow, obvious, and the truth in the tests.

Small tiles and little room, so that a few hundred rows take every path a billion would.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np

from kinhash.gpu import SHIFT, Queries, Rows, search

Array = np.ndarray


class Twin:
    """The methods of `Card` on arrays of NumPy."""

    tile = 4
    least_room = 24
    most_ties = 16
    most_sorted = 12
    few = 8
    name = "NumPy"

    def __init__(self, memory: int = 1 << 30) -> None:
        self.memory = memory

    def free_bytes(self) -> int:
        """What is left for codes."""
        return self.memory

    def put(self, array: Array) -> Array:
        return np.ascontiguousarray(array)

    def get(self, array: Array) -> Array:
        return np.asarray(array)

    def rows(self, words: Array) -> Rows:
        """Codes (n, W), one after the other."""
        planes = np.zeros((words.shape[1], -(-len(words) // self.tile) * self.tile), np.uint64)
        planes[:, : len(words)] = words.T
        return Rows(planes, len(words))

    def mask(self, mask: Array) -> Array:
        packed = np.packbits(mask, bitorder="little")
        return np.pad(packed, (0, -len(packed) % 4)).view(np.uint32)

    def packed_bits(self, bits: Array) -> Array:
        return np.packbits(bits, axis=1)

    @contextmanager
    def active(self) -> Iterator[ModuleType]:
        yield np

    def n_tiles(self, rows: Rows) -> int:
        return int(rows.words.shape[1]) // self.tile

    def notes(self, n_queries: int, cap: int) -> search.Notes:
        return search.Notes(np.zeros(n_queries, np.uint32), np.empty((n_queries, cap), np.uint64))

    def collect(
        self, rows: Rows, asked: Queries, limits: Array | None, tiles: search.Tiles, notes: search.Notes
    ) -> None:
        """Add the keys of the rows in these tiles that are within the limits."""
        numbers = (tiles.first + tiles.step * np.arange(tiles.count))[:, None] * self.tile
        looked = (numbers + np.arange(self.tile)).ravel()
        looked = looked[looked < rows.n_rows]
        looked = looked[self._passing(rows)[looked]]
        for q, distances in enumerate(self._distances(rows, asked)[:, looked]):
            near = distances <= (asked.largest if limits is None else limits[q])
            keys = (distances[near].astype(np.uint64) << np.uint64(SHIFT)) | looked[near].astype(np.uint64)
            begin = int(notes.counts[q])
            place = np.arange(begin, min(begin + len(keys), notes.cap))
            notes.keys[q, place] = keys[::-1][: len(place)]  # any order will do
            notes.counts[q] += len(keys)

    def lower(self, notes: search.Notes, wanted: int, largest: int, before: Array | None) -> Array:
        """Limits from the rows of a sample within those before; counting starts again."""
        limits = np.empty(len(notes.counts), np.int32)
        for q, count in enumerate(notes.counts.tolist()):
            enough = wanted if count <= notes.cap else max(1, int(wanted * notes.cap / count))
            distances = np.sort(notes.keys[q, : min(count, notes.cap)] >> np.uint64(SHIFT))
            limit = largest if before is None else int(before[q])
            limits[q] = min(largest, limit + limit // 4 + 1)
            if len(distances) >= enough:
                limits[q] = distances[enough - 1]
        notes.counts[:] = 0
        return limits

    def smallest(self, notes: search.Notes, k: int, largest: int) -> tuple[Array, Array]:
        """The k smallest keys of every query, and what came of it."""
        keys = np.zeros((len(notes.counts), k), np.uint64)
        status = np.full(len(keys), search.FOUND)
        for q, count in enumerate(notes.counts.tolist()):
            if count < k or count > notes.cap:
                status[q] = search.TOO_FEW if count < k else search.TOO_MANY
                continue
            mine = np.sort(notes.keys[q, :count])
            if (mine >> np.uint64(SHIFT) <= mine[k - 1] >> np.uint64(SHIFT)).sum() > self.most_sorted:
                status[q] = search.TOO_TIED
            else:
                keys[q] = mine[:k]
        return keys, status

    def sorted_keys(self, notes: search.Notes, queries: Array, k: int) -> Array:
        """The first k keys of some queries in ascending order."""
        used = np.arange(notes.cap) < notes.counts[queries][:, None]
        return np.sort(np.where(used, notes.keys[queries], np.uint64(2**64 - 1)), axis=1)[:, :k]

    def flat(self, notes: search.Notes, queries: Array) -> tuple[Array, Array]:
        """Keys of some queries, in the order (query, key), and the place of each query in the list."""
        sorted_keys = self.sorted_keys(notes, queries, notes.cap)
        used = np.arange(notes.cap) < notes.counts[queries][:, None]
        return np.nonzero(used)[0], sorted_keys[used]

    def histogram(self, rows: Rows, asked: Queries) -> Array:
        """Rows at every distance (q, largest + 1)."""
        distances = self._distances(rows, asked)[:, : rows.n_rows][:, self._passing(rows)]
        return np.array([np.bincount(one, minlength=asked.largest + 1) for one in distances])

    def _passing(self, rows: Rows) -> Array:
        if rows.mask is None:
            return np.ones(rows.n_rows, bool)
        return np.unpackbits(rows.mask.view(np.uint8), bitorder="little")[: rows.n_rows].astype(bool)

    def _distances(self, rows: Rows, asked: Queries) -> Array:
        """All distances (q, stride), from the factors that the tensor cores are given."""
        codes = np.ascontiguousarray(rows.words.T).view(np.uint8)
        bits = np.unpackbits(codes, axis=1).reshape(len(codes), -1, 8)[:, :, ::-1]
        lanes = bits.reshape(len(codes), -1, 4, 4, 4).transpose(0, 1, 2, 4, 3)  # (n, W, t, r, j)
        factors = asked.factors.view(np.int8).reshape(-1, lanes.shape[1], 8, 4, 4, 4)
        by_query = factors.transpose(0, 2, 1, 3, 4, 5).reshape(-1, lanes[0].size)[: len(asked)]
        product = by_query.astype(np.int64) @ lanes.reshape(len(codes), -1).T.astype(np.int64)
        return asked.own[:, None] + product
