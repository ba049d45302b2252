"""Reranking of the nearest rows by distances between the original vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._internal.types import Array, Floats, Ints
from .._internal.validation import check_choice, check_integer
from ..errors import InvalidInput
from .ids import sort_keys

__all__ = ["Answer", "Pair", "SecondLook", "Vectors", "looked_again", "second_look"]

# The query vectors (q, f), and those of the rows: an array indexed by id, or a function from ids to rows.
Rows = npt.ArrayLike | Callable[[Array], npt.ArrayLike]
Vectors = tuple[npt.ArrayLike, Rows]
Pair = tuple[Array, Array]  # distances and ids
# Distances and ids (q, k) and None; or, where queries have different numbers of rows, flat and these numbers.
Answer = tuple[Array, Array, Ints | None]
FETCHED = 4096  # row vectors at a time


@dataclass(frozen=True, eq=False)
class SecondLook:
    """Vectors of the queries and how to get those of rows; how many rows are looked at; in which order."""

    queries: Floats
    fetch: Callable[[Array], npt.ArrayLike]
    cut: int
    ties: bool  # vectors decide among equal distances only

    def take(self, rows: Ints) -> SecondLook:
        """For some of the queries."""
        return replace(self, queries=self.queries[rows])


def second_look(
    vectors: Vectors | None, how: str, shortlist: int | None, k: int, n_queries: int
) -> SecondLook | None:
    """What ``vectors``, ``rerank`` and ``shortlist`` of a search ask for."""
    ties = check_choice("rerank", how, ("shortlist", "ties")) == "ties"
    unused = "shortlist" if shortlist is not None and (ties or vectors is None) else None
    unused = "rerank" if ties and vectors is None else unused
    if unused is not None:
        raise InvalidInput(
            f"{unused} came where it has no effect",
            "shortlist with vectors and rerank='shortlist', rerank with vectors",
            f"Leave {unused} out",
        )
    if vectors is None:
        return None
    queries = np.asarray(vectors[0], np.float64)
    if queries.ndim != 2 or len(queries) != n_queries:
        raise InvalidInput(
            f"The query vectors came with shape {queries.shape}",
            f"({n_queries}, features), one row per query",
            "Pass vectors=(query vectors, row vectors)",
        )
    wide = 10 * k if shortlist is None else check_integer("shortlist", shortlist, 0)
    return SecondLook(queries, _fetcher(vectors[1]), k if ties else max(k, wide), ties)


def looked_again(look: SecondLook, k: int, shortlists: Sequence[Pair]) -> Answer:
    """The first k rows of each shortlist by Euclidean distance, or by (distance, Euclidean), then id.

    Peak memory: the vectors of 4,096 rows at a time.
    """
    kept = []
    for query, (near, ids) in zip(look.queries, shortlists, strict=True):
        euclidean = _distances(query, ids, look.fetch)
        keys = (sort_keys(ids), euclidean, near) if look.ties else (sort_keys(ids), euclidean)
        order = np.lexsort(keys)[:k]
        kept.append(((near if look.ties else euclidean)[order], ids[order]))
    if not kept:
        return np.empty((0, 0)), np.empty((0, 0), np.int64), None
    distances, ids = (np.concatenate([pair[side] for pair in kept]) for side in (0, 1))
    counts = np.array([len(pair[0]) for pair in kept])
    if (counts == counts[0]).all():
        return distances.reshape(len(kept), -1), ids.reshape(len(kept), -1), None
    return distances, ids, counts


def _distances(query: Floats, ids: Array, fetch: Callable[[Array], npt.ArrayLike]) -> Floats:
    """Euclidean distances of one query to rows."""
    found = np.empty(len(ids))
    for start in range(0, len(ids), FETCHED):
        part = ids[start : start + FETCHED]
        rows = np.asarray(fetch(part), np.float64)
        if rows.shape != (len(part), len(query)):
            raise InvalidInput(
                f"The row vectors came with shape {rows.shape}",
                f"({len(part)}, {len(query)})",
                "Pass an array indexed by id, or a function from ids to rows",
            )
        found[start : start + FETCHED] = np.sqrt(((rows - query) ** 2).sum(axis=1))
    return found


def _fetcher(rows: Rows) -> Callable[[Array], npt.ArrayLike]:
    if callable(rows):
        return rows
    array = np.asarray(rows)

    def fetch(ids: Array) -> Array:
        if ids.dtype.kind != "i" or (len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(array)):
            raise InvalidInput(
                f"An array of {len(array)} row vectors cannot be indexed by these ids",
                "integer ids within the array",
                "Pass a function from ids to row vectors instead",
            )
        return array[ids]

    return fetch
