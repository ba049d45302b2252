"""Prepared features of many rows: kept in memory where they fit, read again where they do not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._blocks import available_memory, block_slices, map_blocks
from .._types import Floats32
from ..rows import Rows
from .preparation import Preparation

__all__ = ["PreparedRows", "prepare_rows"]

MOST_BYTES = 4 << 30  # prepared features beyond this are not kept


class PreparedRows:
    """Prepared rows (n, q) by block. Work that passes over them many times keeps them if they fit.

    Memory: n·q·4 bytes where that is below 4 GB and below a quarter of what is free, else a few blocks.
    """

    def __init__(self, rows: Rows, preparation: Preparation, n_jobs: int | None = None) -> None:
        self.rows, self.preparation = rows, preparation
        self.blocks = block_slices(len(rows), rows.block_rows())
        size = 4 * len(rows) * len(preparation.mean)
        self._kept: Floats32 | None = None
        if size < min(MOST_BYTES, available_memory() // 4):
            self._kept = prepare_rows(rows, preparation, None, n_jobs)

    def read(self, part: slice) -> Floats32:
        """Prepared rows of a slice."""
        if self._kept is not None:
            return self._kept[part]
        return self.preparation(self.rows.read(part))


def prepare_rows(
    rows: Rows,
    preparation: Preparation,
    chosen: npt.NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> Floats32:
    """Prepared rows (k, q) float32: all of them, or the chosen ones in their order."""
    n = len(rows) if chosen is None else len(chosen)
    out = np.empty((n, len(preparation.mean)), np.float32)
    parts = block_slices(n, rows.block_rows())

    read = rows.plain if preparation.rbf is None else rows.read

    def one(part: slice) -> None:
        preparation.into(out[part], read(part if chosen is None else chosen[part]))

    for _ in map_blocks(one, parts, n_jobs):
        pass
    return out
