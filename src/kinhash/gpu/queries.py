"""Queries as the kernels take them: words, whole weights of their bits, and factors for tensor cores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .._internal.bit_planes import N_PLANES, planes_of
from .._internal.types import Bytes, Ints

__all__ = ["Queries"]

Words = npt.NDArray[np.uint64]

QUERY_TILE = 8


@dataclass(frozen=True, eq=False)
class Queries:
    """Words (q, W) of the queries, and what their bits count.

    ``weights`` (q, 64 W) or (1, 64 W), whole numbers up to 15 in the order of the bits; None where all bits
    count one. ``largest`` is the largest distance there can be.
    """

    words: Words
    weights: Bytes | None
    largest: int

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: slice | Ints) -> Queries:
        """Some of the queries."""
        weights = self.weights
        if weights is not None and len(weights) > 1:
            weights = weights[rows]
        return replace(self, words=self.words[rows], weights=weights)

    @cached_property
    def planes(self) -> Words:
        """Bit planes (q, 4, W) of the weights."""
        assert self.weights is not None, "bits that all count one need no planes"
        planes = planes_of(self.weights)
        return np.ascontiguousarray(np.broadcast_to(planes, (len(self), *planes.shape[1:])))

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
