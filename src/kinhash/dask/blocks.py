"""Blocks of dask collections: every step is a task, and nothing of the rows is ever in the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np
from dask import delayed

from .._internal.types import Features, Ints, LabelsLike
from ..distributed import Blocks
from ..errors import InvalidInput

__all__ = ["DaskBlocks", "row_blocks", "tree"]

T = TypeVar("T")


class DaskBlocks(Blocks):
    """The row blocks of X and y, which must be cut alike where their lengths are not known.

    Work runs on the current client, or on dask's default scheduler without one.
    """

    def __init__(self, X: Features, y: LabelsLike) -> None:
        self.X = row_blocks(X)
        if _lengths(X) and _lengths(y):
            if sum(_lengths(X)) != sum(_lengths(y)):
                raise InvalidInput(
                    f"X has {sum(_lengths(X))} rows and y has {sum(_lengths(y))}",
                    "one label, or one row of tags, per row",
                    "Pass X and y that belong together",
                )
            y = y.rechunk({0: X.chunks[0]})
        self.y = row_blocks(y)
        if len(self.X) != len(self.y):
            raise InvalidInput(
                f"X has {len(self.X)} blocks of rows and y has {len(self.y)}",
                "the same blocks on both sides, since their lengths are not known",
                "Take both from one dataframe, or call compute_chunk_sizes() on both",
            )

    def reduce_labels(self, look: Callable[[int, LabelsLike], T], merge: Callable[[T, T], T]) -> T:
        return tree([_task(look, number, y) for number, y in enumerate(self.y)], merge)

    def gather(self, take: Callable[..., T], wanted: Mapping[int, Ints]) -> list[T]:
        tasks = [_task(take, b, self.X[b], self.y[b], wanted[b]) for b in sorted(wanted)]
        return list(dask.compute(*tasks))

    def reduce(self, look: Callable[[int, Features, LabelsLike], T], merge: Callable[[T, T], T]) -> T:
        constant = delayed(look, pure=True)  # one node of the graph, however many tasks use it
        work = zip(range(len(self.X)), self.X, self.y, strict=True)
        return tree([_task(_call, constant, *block) for block in work], merge)


def row_blocks(part: Any) -> list[Any]:
    """The blocks of rows of an array, a dataframe or a series, each a delayed value."""
    if not dask.is_dask_collection(part) or not hasattr(part, "to_delayed"):
        raise InvalidInput(
            f"A {type(part).__name__} was passed beside dask collections",
            "dask arrays, dataframes or series for both X and y",
            "Wrap it: dask.array.from_array(y, chunks=X.chunks[0])",
        )
    if isinstance(part, da.Array) and part.ndim == 2:
        part = part.rechunk({1: -1})
    return list(np.ravel(part.to_delayed()))


def tree(parts: list[Any], merge: Callable[[T, T], T]) -> T:
    """Compute delayed parts merged over the fixed tree, on the workers."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [_task(merge, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0].compute()


def _task(function: Callable[..., Any], *arguments: Any) -> Any:
    return delayed(function, pure=False, traverse=False)(*arguments)


def _call(function: Callable[..., T], *arguments: Any) -> T:
    return function(*arguments)


def _lengths(part: Any) -> tuple[int, ...]:
    """Rows of each block where they are known, else nothing."""
    chunks = part.chunks[0] if isinstance(part, da.Array) else ()
    return () if any(np.isnan(chunk) for chunk in chunks) else chunks
