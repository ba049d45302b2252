"""The value behind ``open_matrix``: rows in a file, read whole or in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import FIT_ROWS
from .._internal.types import Features
from ..errors import FileProblem

__all__ = ["Blocks", "Matrix"]

Blocks = Callable[[int], Iterator[Features]]  # rows of a block → the blocks


class Matrix:
    """Rows of numbers that are still in their file.

    ``n_rows`` and ``n_columns`` are None where only reading on would tell. ``column_names`` come from
    a header. ``once`` is True for a pipe, which can be read a single time.
    """

    def __init__(
        self,
        path: str,
        blocks: Blocks,
        n_rows: int | None = None,
        n_columns: int | None = None,
        *,
        column_names: tuple[str, ...] | None = None,
        whole: Callable[[], Features] | None = None,
        once: bool = False,
    ) -> None:
        self.path, self.n_rows, self.n_columns, self.column_names = path, n_rows, n_columns, column_names
        self.once = once
        self._blocks, self._whole, self._used = blocks, whole, False

    def __repr__(self) -> str:
        rows = "?" if self.n_rows is None else f"{self.n_rows:,}"
        return f"Matrix({self.path!r}, {rows} rows, {self.n_columns} columns)"

    def __iter__(self) -> Iterator[Features]:
        return self.blocks()

    def blocks(self, rows: int = FIT_ROWS) -> Iterator[Features]:
        """Arrays (or CSR matrices) of at most ``rows`` rows, in order. Peak memory: a few blocks."""
        if self.once and self._used:
            raise FileProblem(
                f"{self.path} has been read already", "one pass over a pipe", "Use a file instead"
            )
        self._used = True
        return self._blocks(max(1, int(rows)))

    def read(self) -> Features:
        """All rows as one array or CSR matrix; a ``.npy`` stays a memory map. Peak: twice the matrix."""
        if self._whole is not None:
            return self._whole()
        blocks = list(self.blocks())
        return sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.concatenate(blocks)
