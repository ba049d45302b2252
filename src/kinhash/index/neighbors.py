"""The result of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.types import Array, Floats, Ints

if TYPE_CHECKING:
    from .rerank import Answer
    from .table import NeighborsTable

__all__ = ["Neighbors", "joined"]


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Rows near each query, nearest first, equal distances by ascending id.

    From `search`, ``ids`` and ``distances`` have the shape (queries, k). They are flat, and ``splits`` says
    where each query's begin, from `search_radius`, with a filter for every query, and wherever else queries
    have different numbers of neighbors. Either way ``found[i]`` is query ``i`` alone, with 1-D arrays, and
    iterating gives query after query.

    ``distances`` are what the order is by: differing bits, each as its field says (uint16); with margins, the
    margin lost on differing bits; with vectors and a shortlist, the Euclidean distance.
    """

    ids: Array
    distances: Array
    splits: Ints | None = None
    full: Floats | float | None = None  # distance of opposite codes; None for vectors

    @property
    def scores(self) -> Floats:
        """Likeness, higher is nearer: from 1 (same code) to -1 (opposite); minus the distance for vectors."""
        if self.full is None:
            return -self.distances.astype(np.float64)
        full = np.asarray(self.full, np.float64)
        if full.ndim:
            full = full[:, None] if self.splits is None else np.repeat(full, np.diff(self.splits))
        likeness: Floats = 1.0 - 2.0 * self.distances / full
        return likeness

    def __len__(self) -> int:
        if self.splits is not None:
            return len(self.splits) - 1
        return len(self.ids) if self.ids.ndim == 2 else 1

    def __iter__(self) -> Iterator[Neighbors]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, query: int) -> Neighbors:
        """The neighbors of one query."""
        if not -len(self) <= query < len(self):
            raise IndexError(f"query {query} of {len(self)}")
        full = self.full[query] if isinstance(self.full, np.ndarray) else self.full
        if self.splits is not None:
            query %= len(self)
            rows = slice(int(self.splits[query]), int(self.splits[query + 1]))
            return Neighbors(self.ids[rows], self.distances[rows], full=full)
        if self.ids.ndim == 1:
            return self
        return Neighbors(self.ids[query], self.distances[query], full=full)

    def table(self, pictures: Any = None, *, queries: Any = None, kin: Any = None) -> NeighborsTable:
        """Ids and distances as a table: pictures in a notebook, text when printed.

        Parameters
        ----------
        pictures : the picture of each id, as an array (n, height, width[, 3]) or a mapping; bytes are shown
            as they are (0 is black), other numbers as ink.
        queries : pictures of the queries, in their order.
        kin : for each neighbor, whether it is kin, in the shape of ``ids``.

        Examples
        --------
        >>> Neighbors(np.array([[7, 3]]), np.array([[0, 2]], np.uint16)).table()
        Neighbors(1 queries, 2 each)
        query 0: 7 (0), 3 (2)
        """
        from .table import NeighborsTable

        return NeighborsTable(self, pictures, queries, kin)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __repr__(self) -> str:
        per_query = "by radius" if self.splits is not None else f"{self.ids.shape[-1]} each"
        return f"Neighbors({len(self)} queries, {per_query})"


def joined(parts: Sequence[tuple[Ints, Answer]], n_queries: int, full: Floats | float | None) -> Neighbors:
    """Answers to some of the queries each, with the numbers of these queries, as one flat answer."""
    sizes = np.zeros(n_queries, np.int64)
    for rows, (_, ids, counts) in parts:
        sizes[rows] = ids.shape[1] if counts is None else counts
    query = np.concatenate([np.repeat(rows, sizes[rows]) for rows, _ in parts])
    order = np.argsort(query, kind="stable")
    found = [ids.ravel() for _, (_, ids, _) in parts if ids.size] or [np.empty(0, np.int64)]
    distances = np.concatenate([distances.ravel() for _, (distances, _, _) in parts])
    splits = np.concatenate([[0], np.cumsum(sizes)])
    return Neighbors(np.concatenate(found)[order], distances[order], splits, full)
