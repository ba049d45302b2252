"""Exact search over codes that lie on many workers: every shard answers, the answers are merged."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import dask
import numpy as np
import numpy.typing as npt
from dask import delayed

from ..codes import KIN_ONLY, BitLayout, Codes, as_codes
from ..distributed import merge_neighbors
from ..errors import InvalidInput
from ..index import HammingIndex, Neighbors
from .blocks import row_blocks, tree

__all__ = ["ShardedIndex"]


class ShardedIndex:
    """One `HammingIndex` per block of codes, kept on the workers; it answers as one index of all rows would.

    Memory on the workers: that of their shards. Here: the answers to one search. A shard that is lost with
    its worker is built again from the codes it came from.
    """

    def __init__(self, shards: list[Any]) -> None:
        self._shards = list(dask.persist(*shards))
        sizes = dask.compute(*[delayed(len)(shard) for shard in self._shards])
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._numbered = True

    @classmethod
    def from_codes(
        cls, codes: Any, n_bits: int | None = None, ids: Any = None, fields: BitLayout = KIN_ONLY
    ) -> ShardedIndex:
        """Shards of packed codes, a dask array (n, bytes) such as ``encode`` gives, or of delayed blocks.

        Without ``ids`` rows are numbered through all blocks. With them (a dask array or series, cut as
        the codes are) no id may occur twice; that is checked within a shard only. ``fields`` say what the
        bits of plain arrays count (``hasher.fitted_.fields``); blocks of `Codes` bring their own.
        """
        blocks = list(codes) if isinstance(codes, (list, tuple)) else row_blocks(codes)
        names = [None] * len(blocks) if ids is None else row_blocks(ids)
        if len(names) != len(blocks):
            raise InvalidInput(
                f"There are {len(blocks)} blocks of codes and {len(names)} of ids",
                "the same blocks on both sides",
                "Rechunk the ids as the codes are",
            )
        build = delayed(_shard, pure=True)
        index = cls([build(block, n_bits, name, fields) for block, name in zip(blocks, names, strict=True)])
        index._numbered = ids is None
        return index

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self._shards)

    def search(self, codes: Codes | npt.ArrayLike, k: int) -> Neighbors:
        """The ``k`` nearest rows of every query, in the order (distance, id)."""
        return self._ask(codes, partial(HammingIndex.search, k=k), k)

    def search_radius(self, codes: Codes | npt.ArrayLike, r: int) -> Neighbors:
        """All rows within distance ``r`` of every query."""
        return self._ask(codes, partial(HammingIndex.search_radius, r=r), None)

    def _ask(self, codes: Any, search: Any, k: int | None) -> Neighbors:
        queries = delayed(codes if isinstance(codes, Codes) else np.asarray(codes), pure=True)
        starts = self._starts if self._numbered else np.zeros_like(self._starts)
        ask = delayed(_answer, pure=True)
        answers = [
            ask(shard, queries, search, int(start))
            for shard, start in zip(self._shards, starts[:-1], strict=True)
        ]
        return tree(answers, partial(_merge_two, k=k))


def _shard(block: Any, n_bits: int | None, ids: Any, fields: BitLayout) -> HammingIndex:
    if not isinstance(block, Codes):
        block = replace(as_codes(block, n_bits), fields=fields)
    return HammingIndex.from_codes(block, n_bits, ids=None if ids is None else np.asarray(ids))


def _answer(shard: HammingIndex, queries: Any, search: Any, start: int) -> Neighbors:
    found = search(shard, queries)
    if not start:
        return found
    return Neighbors(found.ids + start, found.distances, found.splits, found.full)


def _merge_two(left: Neighbors, right: Neighbors, k: int | None) -> Neighbors:
    return merge_neighbors([left, right], k)
