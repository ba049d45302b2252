"""Fit and encode dask arrays and dataframes on the current cluster (extra ``kinhash[dask]``).

from kinhash.distributed.dask import ShardedIndex, encode, fit

hasher = fit(EnergyHasher(n_bits=64, random_state=0), X, y)   # dask collections; an ordinary hasher
codes = encode(hasher, X)                                     # a lazy dask array (n, 8) of uint8
index = ShardedIndex.from_codes(codes)                        # one shard per block, on the workers
found = index.search(queries, k=10)                           # as one HammingIndex answers
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .._internal.types import Features, LabelsLike
from .._internal.validation import check_rows
from ..codes import Codes
from ..errors import InvalidInput, MissingExtra
from ..index import HammingIndex, Neighbors, RadiusNeighbors, merge_neighbors
from .blocks import (
    N_ROWS,
    choose_rows,
    code_block,
    count_rows,
    fit_drawn,
    packed_model,
    take_rows,
)

try:
    import dask
    import dask.array as da
    from dask import delayed
except ImportError:
    raise MissingExtra.of("dask", "dask") from None

__all__ = ["ShardedIndex", "encode", "fit", "learned_codes"]

H = TypeVar("H")


def fit(hasher: H, X: Features, y: LabelsLike = None, *, n_rows: int = N_ROWS) -> H:
    """Fit a hasher to rows drawn evenly from dask collections, and return it; see `fit_blocks`.

    Blocks are counted and rows are drawn on the workers of the current client, or by dask's default scheduler
    without one; the fit runs in this process. Equal blocks give the same model on any number of workers.

    Parameters
    ----------
    hasher : EnergyHasher
        The hasher to fit.
    X : dask array or dataframe (n, p)
        The rows, in blocks of known or unknown lengths.
    y : dask array or series (n,), or a 0/1 indicator (n, tags), default=None
        The labels, cut like X if lengths are not known.
    n_rows : int, default=200000
        Rows to draw.
    """
    blocks = _pairs(X, y)
    sizes = dask.compute(*[delayed(count_rows, pure=False)(*block) for block in blocks])
    wanted = choose_rows(sizes, n_rows, getattr(hasher, "random_state", None))
    take = delayed(take_rows, pure=False, traverse=False)
    return fit_drawn(
        hasher, dask.compute(*[take(*blocks[number], wanted[number]) for number in sorted(wanted)])
    )


def encode(hasher: Any, X: Features, *, view: str | None = None) -> da.Array:
    """Packed codes (n, bytes) of dask X as a lazy dask array.

    Parameters
    ----------
    hasher : EnergyHasher
        A fitted hasher.
    X : dask array or dataframe (n, p)
        The rows.
    view : str, default=None
        The view that the rows are of.
    """
    return _lazily(hasher, X, None, view)


def learned_codes(hasher: Any, X: Features, y: LabelsLike) -> da.Array:
    """Packed codes (n, bytes) of rows with labels as a lazy dask array; parameters as in `fit`."""
    return _lazily(hasher, X, y, None)


def _lazily(hasher: Any, X: Features, y: LabelsLike, view: str | None) -> da.Array:
    model = delayed(packed_model(hasher), pure=True)  # once in the graph
    width = -(-hasher.n_bits // 8)
    code = delayed(code_block, pure=True)
    known = X.chunks[0] if isinstance(X, da.Array) else [np.nan] * X.npartitions
    meta = np.empty((0, width), np.uint8)
    parts = [
        da.from_delayed(code(*block, model=model, view=view), (rows, width), np.uint8, meta)
        for block, rows in zip(_pairs(X, y), known, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _pairs(X: Features, y: LabelsLike) -> list[tuple[Any, Any]]:
    """Blocks of rows with their labels, both delayed."""
    rows = _row_blocks(X)
    if y is None:
        return [(block, None) for block in rows]
    if _lengths(X) and _lengths(y):
        check_rows(sum(_lengths(y)), "labels", sum(_lengths(X)))
        y = y.rechunk({0: X.chunks[0]})
    labels = _row_blocks(y)
    if len(rows) != len(labels):
        raise InvalidInput(
            f"X has {len(rows)} blocks of rows and y has {len(labels)}",
            "the same blocks on both sides, since their lengths are not known",
            "Take both from one dataframe, or call compute_chunk_sizes() on both",
        )
    return list(zip(rows, labels, strict=True))


def _row_blocks(part: Any) -> list[Any]:
    """The blocks of rows of an array, a dataframe or a series, each a delayed value."""
    if not dask.is_dask_collection(part) or not hasattr(part, "to_delayed"):
        raise InvalidInput(
            f"A {type(part).__name__} was passed in place of a dask collection",
            "dask arrays, dataframes or series",
            "Wrap it: dask.array.from_array(y, chunks=X.chunks[0])",
        )
    if isinstance(part, da.Array) and part.ndim == 2:
        part = part.rechunk({1: -1})
    return list(np.ravel(part.to_delayed()))


def _lengths(part: Any) -> tuple[int, ...]:
    """Rows of each block where they are known, else nothing."""
    chunks = part.chunks[0] if isinstance(part, da.Array) else ()
    return () if any(np.isnan(chunk) for chunk in chunks) else chunks


class ShardedIndex:
    """One `HammingIndex` per block of codes, kept on the workers; it answers as one index of all rows would.

    Memory on the workers: that of their shards. Here: the answers to one search. A shard that is lost with
    its worker is built again from the codes it came from.
    """

    def __init__(self, shards: list[Any], numbered: bool) -> None:
        self._shards = list(dask.persist(*shards))
        sizes = dask.compute(*[delayed(len)(shard) for shard in self._shards])
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._numbered = numbered

    @classmethod
    def from_codes(cls, codes: Any, n_bits: int | None = None, ids: Any = None) -> ShardedIndex:
        """Build shards on the workers.

        Parameters
        ----------
        codes : dask array (n, bytes), or list of delayed blocks
            Packed codes such as `encode` gives.
        n_bits : int, default=None
            Length of the codes; None for 8 per byte.
        ids : dask array or series (n,), default=None
            Ids, cut as the codes are; no id may occur twice, which is checked within a shard only. None
            numbers the rows through all blocks.
        """
        blocks = list(codes) if isinstance(codes, (list, tuple)) else _row_blocks(codes)
        names = [None] * len(blocks) if ids is None else _row_blocks(ids)
        check_rows(len(names), "blocks of ids", len(blocks), "blocks of codes")
        build = delayed(_shard, pure=True)
        shards = [build(block, n_bits, name) for block, name in zip(blocks, names, strict=True)]
        return cls(shards, ids is None)

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self._shards)

    def search(self, codes: Codes | npt.ArrayLike, k: int) -> Neighbors:
        """The ``k`` nearest rows of every query, in the order (distance, id)."""
        return self._ask(codes, partial(HammingIndex.search, k=k), k)

    def search_radius(self, codes: Codes | npt.ArrayLike, r: int) -> RadiusNeighbors:
        """All rows within distance ``r`` of every query."""
        return self._ask(codes, partial(HammingIndex.search_radius, r=r), None)

    def _ask(self, codes: Any, search: Any, k: int | None) -> Any:
        queries = delayed(codes if isinstance(codes, Codes) else np.asarray(codes), pure=True)
        starts = self._starts if self._numbered else np.zeros_like(self._starts)
        ask = delayed(_answer, pure=True)
        parts = [
            ask(shard, queries, search, int(start))
            for shard, start in zip(self._shards, starts[:-1], strict=True)
        ]
        merge = delayed(merge_neighbors, pure=True)
        while len(parts) > 1:  # in pairs, on the workers
            parts = [merge(parts[i : i + 2], k) for i in range(0, len(parts), 2)]
        return parts[0].compute()


def _shard(block: Any, n_bits: int | None, ids: Any) -> HammingIndex:
    return HammingIndex.from_codes(block, n_bits, ids=None if ids is None else np.asarray(ids))


def _answer(shard: HammingIndex, queries: Any, search: Any, start: int) -> Any:
    """The answer of a shard whose rows are numbered from ``start`` on; -1 stands where there is no row."""
    found = search(shard, queries)
    return replace(found, ids=np.where(found.ids >= 0, found.ids + start, found.ids)) if start else found
