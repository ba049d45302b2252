"""Moments of rows on a graphics card: prepared as everywhere, multiplied and summed in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._blocks import block_slices
from .._types import Floats
from ..gpu.moved import moved
from ..rows import Rows
from .moments import Moments
from .preparation import Preparation

__all__ = ["moments_on"]

BLOCK_BYTES = 1 << 28  # of prepared rows on the card; a few such arrays are there at a time


def moments_on(
    card: Any,
    rows: Rows,
    preparation: Preparation,
    targets: Callable[[slice], npt.NDArray[Any]],
    weights: Floats | None,
) -> Moments:
    """As `moments.moments_of_rows`, to the last digits but not in them.

    Memory on the card: two (q, q) float64 arrays, and about six blocks of `BLOCK_BYTES`.
    """
    there, q = moved(preparation, card), len(preparation.mean)
    total: list[Any] = []
    for part in block_slices(len(rows), max(1024, BLOCK_BYTES // (8 * max(q, rows.shape[1])))):
        with card.active():
            z = there(card.put(rows.plain(part)).astype(np.float64)).astype(np.float64)
            t = card.put(targets(part)).astype(np.float64)
            w = card.put(np.ones(len(z)) if weights is None else np.asarray(weights[part], np.float64))
            wz, wt = z * w[:, None], t * w[:, None]
            found = [w.sum(), wz.sum(axis=0), wz.T @ z, wz.T @ t, wt.sum(axis=0), (wt * t).sum(axis=0)]
            total = [sum_ + more for sum_, more in zip(total, found, strict=True)] if total else found
    weight, *sums = map(card.get, total)
    return Moments(preparation, len(rows), float(weight), *sums)
