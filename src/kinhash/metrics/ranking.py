"""Codes and labels of queries and database, checked once; rows of unknown label are left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.types import Bools, Floats, Ints, LabelsLike
from ..codes import Codes, CodesLike, as_codes
from ..errors import InvalidInput
from ..supervision import Labels, read_labels
from .relevance import Kin, kin_from_labels, kin_from_relevance

__all__ = ["Ranking", "Sides", "own_rows", "read_ranking", "read_sides"]


@dataclass(frozen=True, eq=False)
class Sides:
    """Which rows are relevant to which among the rows whose labels are known.

    ``known_queries`` and ``known_rows`` are masks of these rows, None for all. ``own`` says for each known
    query which of the known rows is the query itself and is left out; −1 for none.
    """

    kin: Kin
    n_queries: int
    n_database: int
    known_queries: Bools | None = None
    known_rows: Bools | None = None
    own: Ints | None = None

    @property
    def n_unknown_queries(self) -> int:
        """Queries that are left out."""
        return 0 if self.known_queries is None else int((~self.known_queries).sum())

    @property
    def n_unknown_rows(self) -> int:
        """Database rows that are left out."""
        return 0 if self.known_rows is None else int((~self.known_rows).sum())

    def spread(self, scores: Floats) -> Floats:
        """Scores of the known queries at their places among all queries, NaN elsewhere."""
        if self.known_queries is None:
            return scores
        out = np.full(self.n_queries, np.nan)
        out[self.known_queries] = scores
        return out


@dataclass(frozen=True, eq=False)
class Ranking:
    """Codes whose distances rank the database for every query; only known rows are left."""

    queries: Codes
    database: Codes
    sides: Sides


def read_ranking(
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike,
    n_bits: int | None,
    exclude_self: bool,
) -> Ranking:
    """Check everything a ranking by Hamming distance needs."""
    queries, database = as_codes(query_codes, n_bits), as_codes(database_codes, n_bits)
    queries.require_same_kind(database)
    own = own_rows(exclude_self, len(queries), len(database))
    sides = read_sides(query_labels, database_labels, len(queries), len(database), own)
    if sides.known_queries is not None:
        queries = queries[sides.known_queries]
    if sides.known_rows is not None:
        database = database[sides.known_rows]
    return Ranking(queries, database, sides)


def own_rows(exclude_self: bool, n_queries: int, n_database: int) -> Ints | None:
    """For each query its own row in the database, where query i is row i; None if no row is left out."""
    if exclude_self and n_queries != n_database:
        raise InvalidInput(
            f"exclude_self came with {n_queries} queries and {n_database} database rows",
            "the same rows on both sides, query i being database row i",
            "Leave exclude_self out when the queries are other rows",
        )
    return np.arange(n_database) if exclude_self else None


def read_sides(
    query_labels: LabelsLike, database_labels: LabelsLike, n_queries: int, n_database: int, own: Ints | None
) -> Sides:
    """Read the labels of both sides, or a relevance of rows to queries when ``database_labels`` is None.

    Without ``database_labels``, ``query_labels`` is that relevance. ``own`` says for each query which
    database row it is itself, to be left out of its ranking.
    """
    if database_labels is None:
        kin: Kin = kin_from_relevance(query_labels, n_queries, n_database)
        return Sides(kin, n_queries, n_database, own=own)
    mine = _labels_of("queries", query_labels, n_queries)
    theirs = _labels_of("database rows", database_labels, n_database)
    known_queries = None if mine.known.all() else mine.known
    known_rows = None if theirs.known.all() else theirs.known
    if own is not None and known_rows is not None:
        own = np.where(known_rows, np.cumsum(known_rows) - 1, -1)[own]
    if own is not None and known_queries is not None:
        own = own[known_queries]
    kin = kin_from_labels(
        mine if known_queries is None else mine[known_queries],
        theirs if known_rows is None else theirs[known_rows],
    )
    return Sides(kin, n_queries, n_database, known_queries, known_rows, own)


def _labels_of(what: str, y: LabelsLike, n_rows: int) -> Labels:
    labels = read_labels(y)
    if len(labels) != n_rows:
        raise InvalidInput(
            f"{len(labels)} labels came with {n_rows} {what}",
            "one label, or one set of tags, per code",
            "Pass codes and labels that belong together",
        )
    return labels
