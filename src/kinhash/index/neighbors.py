"""Answers of searches: rectangular from `HammingIndex.search`, flat from `HammingIndex.search_radius`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np

from .._internal.html import document, picture, table
from .._internal.texts import STRING
from .._internal.types import Array, Bools, Floats, Ints
from ..errors import InvalidInput
from .segments import sort_keys


class Nearest(NamedTuple):
    """The rows that one query found, nearest first: ``ids`` and ``distances``, without padding."""

    ids: Array
    distances: Array


class _Answers:
    """``found[i]`` is query ``i``, and iterating gives query after query."""

    def __len__(self) -> int:
        raise NotImplementedError

    def _rows(self, query: int) -> Nearest:
        raise NotImplementedError

    def __getitem__(self, query: int) -> Nearest:
        if not -len(self) <= query < len(self):
            raise IndexError(f"query {query} of {len(self)}")
        return self._rows(query % len(self))

    def __iter__(self) -> Iterator[Nearest]:
        return (self[i] for i in range(len(self)))

    def table(self, pictures: Any = None, *, queries: Any = None, kin: Any = None) -> NeighborsTable:
        """Ids and distances as a table: pictures in a notebook, text when printed.

        Parameters
        ----------
        pictures : array-like or mapping, default=None
            The picture of each id, as an array (n, height, width[, 3]) or a mapping. Bytes are shown as they
            are (0 is black), other numbers as ink.
        queries : array-like, default=None
            Pictures of the queries, in their order.
        kin : array-like of bool, default=None
            For each neighbor, whether it is relevant, in the shape of ``ids``.

        Examples
        --------
        >>> Neighbors(np.array([[7, 3]]), np.array([[0, 2]]), np.array([2])).table()
        Neighbors(1 queries, 2 each)
        query 0: 7 (0), 3 (2)
        """
        return NeighborsTable(self, pictures, queries, kin)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


@dataclass(frozen=True, eq=False, repr=False)
class Neighbors(_Answers):
    """The ``k`` nearest rows of each query, nearest first, equal distances by ascending id.

    Attributes
    ----------
    ids : ndarray, shape (queries, k)
        Where a query found fewer than ``k`` rows, the rest of its ids are -1, or empty strings.
    distances : ndarray, shape (queries, k)
        Differing bits (int32), or with margins the margin lost on differing bits (float64); -1 in the rest.
    counts : ndarray of int64, shape (queries,)
        How many rows each query found.
    full : float or ndarray of shape (queries,) or None
        The distance of a code that differs in every bit.
    """

    ids: Array
    distances: Array
    counts: Ints
    full: Floats | float | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def _rows(self, query: int) -> Nearest:
        count = int(self.counts[query])
        return Nearest(self.ids[query, :count], self.distances[query, :count])

    def __repr__(self) -> str:
        return f"Neighbors({len(self)} queries, {self.ids.shape[1]} each)"

    @property
    def found(self) -> Bools:
        """Which places hold a row (queries, k); all of them unless a query found fewer than ``k``."""
        return np.arange(self.ids.shape[1]) < self.counts[:, None]

    @property
    def scores(self) -> Floats:
        """Likeness, higher is nearer: from 1 (same code) to -1 (opposite); NaN where there is no row."""
        full = np.asarray(np.nan if self.full is None else self.full, np.float64)
        likeness = 1.0 - 2.0 * self.distances / (full[:, None] if full.ndim else full)
        return np.where(self.found, likeness, np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class RadiusNeighbors(_Answers):
    """All rows within a radius of each query, nearest first, equal distances by ascending id.

    Attributes
    ----------
    ids, distances : ndarray, shape (found,)
        The rows of all queries, one query after the other.
    splits : ndarray of int64, shape (queries + 1,)
        ``ids[splits[i]:splits[i + 1]]`` are those of query ``i``.
    full : float or None
        The distance of a code that differs in every bit.
    """

    ids: Array
    distances: Array
    splits: Ints
    full: float | None = None

    def __len__(self) -> int:
        return len(self.splits) - 1

    def _rows(self, query: int) -> Nearest:
        rows = slice(int(self.splits[query]), int(self.splits[query + 1]))
        return Nearest(self.ids[rows], self.distances[rows])

    def __repr__(self) -> str:
        return f"RadiusNeighbors({len(self)} queries, {len(self.ids)} rows)"

    @property
    def counts(self) -> Ints:
        """How many rows each query found."""
        return np.diff(self.splits)


def best_of(parts: Sequence[Neighbors], k: int, n_queries: int, strings: bool) -> Neighbors:
    """The ``k`` best rows of several answers to the same queries, by (distance, id), padded."""
    parts = [part for part in parts if part.ids.size]
    pad = "" if strings else -1
    ids = np.full((n_queries, k), pad, STRING if strings else np.int64)
    distances = np.full((n_queries, k), -1, parts[0].distances.dtype if parts else np.int32)
    if not parts:
        return Neighbors(ids, distances, np.zeros(n_queries, np.int64))
    all_ids = np.concatenate([part.ids for part in parts], axis=1)
    found = np.concatenate([part.found for part in parts], axis=1)
    far = np.concatenate([part.distances for part in parts], axis=1)
    if len(parts) > 1:
        order = np.lexsort((sort_keys(all_ids), far, ~found), axis=1)[:, :k]
        # Strings are taken from one dimension: NumPy before 2.2 loses them when it picks from two.
        flat = order + all_ids.shape[1] * np.arange(n_queries)[:, None]
        all_ids, found, far = all_ids.ravel()[flat], found.ravel()[flat], far.ravel()[flat]
    width = min(k, all_ids.shape[1])
    ids[:, :width], distances[:, :width] = all_ids[:, :width], far[:, :width]
    counts = found[:, :width].sum(axis=1, dtype=np.int64)
    gone = np.arange(k) >= counts[:, None]
    ids[gone], distances[gone] = pad, -1
    return Neighbors(ids, distances, counts)


def merge_neighbors(parts: Sequence[Any], k: int | None = None) -> Any:
    """Merge the answers of several indexes to the same queries, in the order (distance, id).

    Parameters
    ----------
    parts : list of Neighbors, or list of RadiusNeighbors
        No id may occur in two of them. Merged answers can be merged again.
    k : int or None, default=None
        Rows that each query keeps. None keeps ``k`` of the widest part, or all rows within the radius.
    """
    if not parts:
        raise InvalidInput("There are no answers to merge", "at least one", "Search some shards first")
    if len({type(part) for part in parts}) > 1:
        raise InvalidInput(
            "Some answers come from search and some from search_radius", "one kind", "Ask all shards alike"
        )
    if isinstance(parts[0], Neighbors):
        width = max(part.ids.shape[1] for part in parts) if k is None else k
        strings = any(part.ids.dtype == STRING for part in parts)
        return replace(best_of(parts, width, len(parts[0]), strings), full=parts[0].full)
    found = [part for part in parts if part.ids.size] or list(parts[:1])  # no rows, no type of ids
    query = np.concatenate([np.repeat(np.arange(len(part)), part.counts) for part in found])
    ids = np.concatenate([part.ids for part in found])
    distances = np.concatenate([part.distances for part in found])
    order = np.lexsort((sort_keys(ids), distances, query))
    if k is not None:  # the place of a row among those of its query
        place = np.arange(len(order)) - np.searchsorted(query[order], query[order])
        order = order[place < k]
    splits = np.searchsorted(query[order], np.arange(len(parts[0]) + 1))
    return RadiusNeighbors(ids[order], distances[order], splits, parts[0].full)


# ---- tables ------------------------------------------------------------------------------------

MOST_QUERIES, MOST_PLACES, MOST_LETTERS = 8, 10, 40
SIDE = "width:44px;height:44px;object-fit:contain;display:block;margin:0 auto 2px;background:white;"
FRAMES = {True: "outline:2px solid #1a7f5a", False: "outline:2px solid #d1344b", None: ""}
WORDS = {True: "relevant", False: "not relevant", None: ""}


@dataclass(frozen=True, eq=False)
class NeighborsTable:
    """The first queries with their first neighbors: ids, distances, and pictures where given."""

    found: Any
    pictures: Any = None
    queries: Any = None
    kin: Any = None

    def __post_init__(self) -> None:
        _marks(self.found, self.kin)

    def _repr_html_(self) -> str:
        found, shown = self.found, min(len(self.found), MOST_QUERIES)
        each = [found[row] for row in range(shown)]
        width = min(max((len(one.ids) for one in each), default=0), MOST_PLACES)
        head = ["query", *(f"no. {place + 1}" for place in range(width))]
        lines = [[self._query(row), *self._places(row, width)] for row in range(shown)]
        most = max((len(one.ids) for one in each), default=0)
        notes = [f"{len(found) - shown:,} more queries"] * (len(found) > shown)
        notes += [f"up to {most:,} neighbors each"] * (most > width)
        below = f"<p><i>{'; '.join(notes)}</i></p>" if notes else ""
        return document(table(lines, head, "center"), below)

    def __repr__(self) -> str:
        lines = []
        for row in range(min(len(self.found), MOST_QUERIES)):
            one = self.found[row]
            pairs = [f"{own} ({_number(far)})" for own, far in zip(one.ids, one.distances, strict=True)]
            more = ", …" if len(pairs) > MOST_PLACES else ""
            lines.append(f"query {row}: {', '.join(pairs[:MOST_PLACES])}{more}")
        return "\n".join([repr(self.found), *lines])

    def _query(self, row: int) -> str:
        if self.queries is None:
            return str(row)
        return _image(self.queries[row], f"query {row}", "") + str(row)

    def _places(self, row: int, width: int) -> list[str]:
        """The cells of a query: picture, id, distance, and whether it is kin."""
        one = self.found[row]
        every = _marks(self.found, self.kin)
        kin = [None] * len(one.ids) if every is None else every[row].tolist()
        cells = []
        for own, far, mark in list(zip(one.ids.tolist(), one.distances, kin, strict=True))[:width]:
            text = str(own) if len(str(own)) <= MOST_LETTERS else str(own)[: MOST_LETTERS - 1] + "…"
            image = "" if self.pictures is None else _image(self.pictures[own], f"row {own}", FRAMES[mark])
            word = f" · {WORDS[mark]}" if mark is not None else ""
            cells.append(f"{image}<b>{escape(text)}</b><br><small>{_number(far)}{word}</small>")
        return cells + [""] * (width - len(cells))


def _marks(found: Any, kin: Any) -> list[Bools] | None:
    """Whether each neighbor is relevant, query by query; None if unknown."""
    if kin is None:
        return None
    kin = np.asarray(kin, bool)
    if kin.shape != found.ids.shape:
        raise InvalidInput(
            f"kin has the shape {kin.shape}, and the ids have {found.ids.shape}",
            "True or False for each neighbor",
            "Compare labels, as in y[found.ids] == y_queries[:, None]",
        )
    if isinstance(found, RadiusNeighbors):
        return np.split(kin, found.splits[1:-1])
    return [row[:count] for row, count in zip(kin, found.counts.tolist(), strict=True)]


def _image(shown: Any, words: str, frame: str) -> str:
    return picture(shown, words, SIDE + frame)


def _number(distance: float) -> str:
    """Whole numbers as they are, margins with three digits."""
    return str(int(distance)) if np.issubdtype(np.asarray(distance).dtype, np.integer) else f"{distance:.3g}"
