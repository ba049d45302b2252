"""Plain Hamming distances to all rows, with nothing clever: what answers are compared with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._internal.types import Bytes, Ints
from ..codes import to_words

__all__ = ["nearest_rows"]


def nearest_rows(rows: Bytes, query: Bytes, k: int) -> tuple[Ints, npt.NDArray[np.uint16]]:
    """The ``k`` rows (n, bytes) nearest to a query (1, bytes), by (distance, row), and their distances.

    Rows are in ascending order of their ids, so this is the order (distance, id).
    """
    distances = np.bitwise_count(to_words(rows) ^ to_words(query)).sum(axis=1, dtype=np.uint16)
    order = np.argsort(distances, kind="stable")[:k]
    return order, distances[order]
