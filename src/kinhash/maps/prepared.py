"""Prepared features of many rows at once, for methods that need them in memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._blocks import block_slices, map_blocks
from .preparation import Preparation
from .rows import Rows

__all__ = ["prepare_rows"]


def prepare_rows(
    rows: Rows,
    preparation: Preparation,
    chosen: npt.NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> npt.NDArray[np.float32]:
    """Prepared rows (k, q) float32: all of them, or the chosen ones in their order."""
    n = len(rows) if chosen is None else len(chosen)
    out = np.empty((n, len(preparation.mean)), np.float32)
    parts = block_slices(n, rows.block_rows())

    def one(part: slice) -> npt.NDArray[np.float32]:
        return preparation(rows.read(part if chosen is None else chosen[part]))

    for part, block in zip(parts, map_blocks(one, parts, n_jobs), strict=True):
        out[part] = block
    return out
