"""The door of the room: codes and labels of both sides, checked once, unknown rows set aside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codes import Codes, as_codes
from ..errors import InvalidInput
from ..labels import Labels, read_labels
from ._kin import Kin, kin_from_labels, kin_from_relevance

__all__ = ["Ranking", "read_kin", "read_ranking"]

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sides:
    """Rows of both sides that take part, and who is kin to whom among them.

    ``queries`` and ``rows`` are the positions of known queries and database rows; ``own`` gives
    each of these queries the position *among ``rows``* of the row to leave out, −1 for none.
    """

    kin: Kin
    queries: Rows
    rows: Rows
    own: Rows | None
    n_queries: int
    n_database: int


@dataclass(frozen=True, eq=False)
class Ranking:
    """Codes whose distances rank the database for every query; only known rows are left."""

    queries: Codes
    database: Codes
    sides: Sides


def read_ranking(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any,
    n_bits: int | None,
    exclude_self: bool,
) -> Ranking:
    """Check everything a ranking by Hamming distance needs."""
    queries, database = as_codes(query_codes, n_bits), as_codes(database_codes, n_bits)
    queries.require_same_kind(database)
    sides = read_kin(query_labels, database_labels, len(queries), len(database), exclude_self)
    if len(sides.queries) < len(queries):
        queries = queries[sides.queries]
    if len(sides.rows) < len(database):
        database = database[sides.rows]
    return Ranking(queries, database, sides)


def read_kin(
    query_labels: Any, database_labels: Any, n_queries: int, n_database: int, exclude_self: bool
) -> Sides:
    """Read the labels of both sides, or a relevance when ``database_labels`` is None."""
    if exclude_self and n_queries != n_database:
        raise InvalidInput(
            f"exclude_self came with {n_queries} queries and {n_database} database rows",
            "the same rows on both sides, query i being database row i",
            "Leave exclude_self out when the queries are other rows",
        )
    queries, rows = np.arange(n_queries), np.arange(n_database)
    if database_labels is None:
        kin: Kin = kin_from_relevance(query_labels, n_queries, n_database)
    else:
        mine = _labels_of("queries", query_labels, n_queries)
        theirs = _labels_of("database rows", database_labels, n_database)
        queries, rows = np.flatnonzero(mine.known), np.flatnonzero(theirs.known)
        mine = mine if len(queries) == n_queries else mine[queries]
        theirs = theirs if len(rows) == n_database else theirs[rows]
        kin = kin_from_labels(mine, theirs)
    own = None
    if exclude_self:
        place = np.full(n_database, -1)
        place[rows] = np.arange(len(rows))
        own = place[queries]
    return Sides(kin, queries, rows, own, n_queries, n_database)


def _labels_of(what: str, y: Any, n_rows: int) -> Labels:
    labels = read_labels(y)
    if len(labels) != n_rows:
        raise InvalidInput(
            f"{len(labels)} labels came with {n_rows} {what}",
            "one label, or one set of tags, per code",
            "Pass codes and labels that belong together",
        )
    return labels
