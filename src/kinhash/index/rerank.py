"""A second look at the shortlist: distances between the original vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from .ids import sort_keys

__all__ = ["Vectors", "rerank"]

# The query vectors (q, f), and those of the rows: an array indexed by id, or a function from ids to rows.
Vectors = tuple[npt.ArrayLike, Any]


def rerank(
    ids: npt.NDArray[Any], vectors: Vectors, k: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
    """The k rows of each shortlist (q, s) nearest by Euclidean distance, in the order (distance, id).

    Peak memory: the vectors of one shortlist at a time.
    """
    queries, fetch = np.asarray(vectors[0], np.float64), _fetcher(vectors[1])
    if queries.ndim != 2 or len(queries) != len(ids):
        raise InvalidInput(
            f"The query vectors came with shape {queries.shape}",
            f"({len(ids)}, features), one row per query",
            "Pass vectors=(query vectors, row vectors)",
        )
    k = min(k, ids.shape[1])
    best, nearest = np.empty((len(ids), k)), np.empty((len(ids), k), ids.dtype)
    for i, row_ids in enumerate(ids):
        rows = np.asarray(fetch(row_ids), np.float64)
        if rows.shape != (len(row_ids), queries.shape[1]):
            raise InvalidInput(
                f"The row vectors came with shape {rows.shape}",
                f"({len(row_ids)}, {queries.shape[1]})",
                "Pass an array indexed by id, or a function from ids to rows",
            )
        distances = np.sqrt(((rows - queries[i]) ** 2).sum(axis=1))
        order = np.lexsort((sort_keys(row_ids), distances))[:k]
        best[i], nearest[i] = distances[order], row_ids[order]
    return best, nearest


def _fetcher(rows: Any) -> Callable[[npt.NDArray[Any]], Any]:
    if callable(rows):
        return rows
    array = np.asarray(rows)

    def fetch(ids: npt.NDArray[Any]) -> Any:
        if ids.dtype.kind != "i" or (len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(array)):
            raise InvalidInput(
                f"An array of {len(array)} row vectors cannot be indexed by these ids",
                "integer ids within the array",
                "Pass a function from ids to row vectors instead",
            )
        return array[ids]

    return fetch
