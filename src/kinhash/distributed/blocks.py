"""Numbered blocks of rows, and the three things a fit asks of them; here for one process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import scipy.sparse as sp

from .._internal.blocks import block_slices, map_blocks
from .._internal.types import Features, Ints, LabelsLike
from .._internal.validation import check_integer
from ..errors import InvalidInput
from .tree import merge_in_order

__all__ = ["Blocks", "LocalBlocks", "cut_rows"]

T = TypeVar("T")
Block: TypeAlias = tuple[Features, LabelsLike]  # either may be a function that loads it


class Blocks(ABC):
    """Blocks of rows (X, y) numbered from 0. An engine implements these three and nothing else.

    Functions and results travel between processes, so they can be pickled; merging follows
    `merge_in_order` over the block numbers.
    """

    @abstractmethod
    def reduce_labels(self, look: Callable[[int, LabelsLike], T], merge: Callable[[T, T], T]) -> T:
        """``look(number, y)`` of every block, merged; the features are not read."""

    @abstractmethod
    def gather(
        self, take: Callable[[int, Features, LabelsLike, Ints], T], wanted: Mapping[int, Ints]
    ) -> list[T]:
        """``take(number, X, y, wanted[number])`` of the blocks that are named, in their order."""

    @abstractmethod
    def reduce(self, look: Callable[[int, Features, LabelsLike], T], merge: Callable[[T, T], T]) -> T:
        """``look(number, X, y)`` of every block, merged."""


class LocalBlocks(Blocks):
    """Pairs (X, y) in this process; either may be a function without arguments that loads it.

    Memory: what two blocks per thread need.
    """

    def __init__(self, blocks: Sequence[Block], n_jobs: int | None = None) -> None:
        if not hasattr(blocks, "__getitem__") or not len(blocks):
            raise InvalidInput(
                f"The blocks are {'empty' if hasattr(blocks, '__len__') else type(blocks).__name__}",
                "a list of pairs (X, y), or of pairs of functions that load them",
                "Blocks are read more than once, so pass functions instead of a generator",
            )
        for number, block in enumerate(blocks):
            if not isinstance(block, (tuple, list)) or len(block) != 2:
                raise InvalidInput(
                    f"Block {number} is a {type(block).__name__}", "a pair (X, y)", "Pass rows with labels"
                )
        self.blocks, self.n_jobs = blocks, n_jobs

    def reduce_labels(self, look: Callable[[int, LabelsLike], T], merge: Callable[[T, T], T]) -> T:
        def one(number: int) -> T:
            return look(number, _loaded(self.blocks[number][1]))

        return merge_in_order(map_blocks(one, range(len(self.blocks)), self.n_jobs), merge)

    def gather(
        self, take: Callable[[int, Features, LabelsLike, Ints], T], wanted: Mapping[int, Ints]
    ) -> list[T]:
        def one(number: int) -> T:
            X, y = map(_loaded, self.blocks[number])
            return take(number, X, y, wanted[number])

        return list(map_blocks(one, sorted(wanted), self.n_jobs))

    def reduce(self, look: Callable[[int, Features, LabelsLike], T], merge: Callable[[T, T], T]) -> T:
        def one(number: int) -> T:
            X, y = map(_loaded, self.blocks[number])
            return look(number, X, y)

        return merge_in_order(map_blocks(one, range(len(self.blocks)), self.n_jobs), merge)


def cut_rows(X: Features, y: LabelsLike, rows: int = 65_536) -> list[Block]:
    """Consecutive blocks of a matrix and its labels; of a memory map, nothing is read yet."""
    check_integer("rows", rows, 1)
    n_labels = y.shape[0] if hasattr(y, "shape") else len(y)
    if X.shape[0] != n_labels:
        raise InvalidInput(
            f"X has {X.shape[0]} rows and there are {n_labels} labels",
            "as many",
            "Pass what belongs together",
        )
    X, y = (part.tocsr() if sp.issparse(part) else getattr(part, "iloc", part) for part in (X, y))
    return [(X[part], y[part]) for part in block_slices(n_labels, rows)]


def _loaded(part: Any) -> Any:
    return part() if callable(part) else part
