"""Average precision of rankings that come from elsewhere: float scores, or lists of neighbors.

The same relevance and the same formula for ties as for codes, so that a cosine ranking and a
Hamming ranking can stand in one table. One query at a time is sorted; peak memory beyond the
inputs: a block of scores and grades of about 16 MB each (at least one row), and one sorted row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._internal.blocks import block_slices
from .._internal.types import Array, Floats, LabelsLike, Numbers
from .._internal.validation import check_choice
from ..errors import InvalidInput
from ..supervision import read_labels
from .cosine import ScoreRows
from .ranking import Sides, own_rows, read_sides
from .rankings import check_cut
from .relevance import Grades
from .tie_groups import TIES, TieGroups

__all__ = [
    "average_precision_from_order",
    "average_precision_from_scores",
    "precision_of_scores",
    "scored_rows",
]

BLOCK_BYTES = 16 << 20
Scores = ScoreRows | Array  # a matrix (q, n), or what gives rows of one


def average_precision_from_scores(
    scores: ScoreRows | Numbers,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    *,
    ties: str = "expected",
    top: int | None = None,
    divide_by: str = "kin",
    exclude_self: bool = False,
) -> Floats:
    """Average precision (q,) of rankings by a score, highest first; NaN where a query has no relevant row.

    ``scores`` is a matrix (q, n), or a function that takes query positions and gives their rows, so
    that the whole matrix never exists. Equal scores are ties, treated as in `mean_average_precision`;
    labels, ``top``, ``divide_by`` and ``exclude_self`` as there. For distances, pass their negative.
    """
    check_choice("ties", ties, TIES)
    check_cut(top, divide_by)
    rows: Scores = scores if callable(scores) else np.asarray(scores)
    shape = None if callable(rows) else _matrix_shape("scores", rows)
    n_queries, n_database = shape or _shape_from_labels(query_labels, database_labels)
    own = own_rows(exclude_self, n_queries, n_database)
    sides = read_sides(query_labels, database_labels, n_queries, n_database, own)
    return precision_of_scores(rows, sides, ties, top, divide_by)


def precision_of_scores(
    scores: Scores, sides: Sides, ties: str = "expected", top: int | None = None, divide_by: str = "kin"
) -> Floats:
    """`average_precision_from_scores` of labels that were read already."""
    out = [
        groups_of(row, grades, ties).average_precision(top, divide_by, ties)[0]
        for row, grades in scored_rows(scores, sides)
    ]
    return sides.spread(np.array(out, np.float64))


def groups_of(scores: Array, grades: Grades, ties: str = "expected") -> TieGroups:
    """The groups of one query: equal scores, or single rows in the order of the database ("index")."""
    if ties == "index":
        return TieGroups.of_order(grades[_first_order(scores)])
    return TieGroups.of_scores(scores, grades > 0)


def _first_order(scores: Array) -> npt.NDArray[np.intp]:
    """Highest first, equal scores in the order of the rows, without negating unsigned numbers."""
    backwards = np.argsort(scores[::-1], kind="stable")
    return np.asarray(len(scores) - 1 - backwards[::-1])


def scored_rows(scores: Scores, sides: Sides) -> Iterator[tuple[Array, Grades]]:
    """Scores and grades of the known rows for every known query, without the row that it is itself."""
    queries = np.arange(sides.n_queries)
    if sides.known_queries is not None:
        queries = np.flatnonzero(sides.known_queries)
    for part in block_slices(len(queries), max(1, BLOCK_BYTES // (8 * max(1, sides.n_database)))):
        block = _checked(scores, queries[part], sides.n_database)
        block = block if sides.known_rows is None else block[:, sides.known_rows]
        own = np.full(len(block), -1) if sides.own is None else sides.own[part]
        for row, grades, mine in zip(block, sides.kin.grades(part), own, strict=True):
            yield (row, grades) if mine < 0 else (np.delete(row, mine), np.delete(grades, mine))


def _checked(scores: Scores, rows: npt.NDArray[np.intp], n_database: int) -> Array:
    block = np.asarray(scores(rows) if callable(scores) else scores[rows])
    shape = (len(rows), n_database)
    if block.shape != shape:
        raise InvalidInput(
            f"The score function gave a block of shape {block.shape}",
            f"one row per query position and one column per database row: {shape}",
            "Return scores[query_rows]",
        )
    if block.dtype.kind not in "fiub" or (block.dtype.kind == "f" and np.isnan(block).any()):
        raise InvalidInput(
            f"The scores (dtype {block.dtype}) hold NaN or something that is no number",
            "real numbers, larger for closer rows",
            "Give rows that must not be found the score -inf",
        )
    return block


def average_precision_from_order(
    order: npt.ArrayLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    *,
    n_database: int | None = None,
    top: int | None = None,
    divide_by: str = "kin",
    exclude_self: bool = False,
) -> Floats:
    """Average precision (q,) of finished lists of neighbors, best first.

    ``order`` (q, k) holds positions in the database, −1 where a list is shorter; a list names no row
    twice. Kin that are not listed count as never found: the sum is divided by all kin a query has in
    the database, or by ``min(kin, top)``; with ``divide_by="found"`` by those that are listed. Rows of
    unknown label are taken out of the lists.
    """
    check_cut(top, divide_by)
    lists = np.asarray(order)
    n_queries, _ = _matrix_shape("order", lists)
    if n_database is None:
        n_database = _shape_from_labels(query_labels, database_labels)[1]
    _check_lists(lists, n_database)
    own = own_rows(exclude_self, n_queries, n_database)
    sides = read_sides(query_labels, database_labels, n_queries, n_database, own)
    if sides.known_queries is not None:
        lists = lists[sides.known_queries]
    if sides.known_rows is not None:  # positions among the known rows; others are taken out below
        place = np.append(np.where(sides.known_rows, np.cumsum(sides.known_rows) - 1, -1), -1)
        lists = place[lists]
    out = np.full(len(lists), np.nan)
    for part in block_slices(len(lists), max(1, BLOCK_BYTES // max(1, n_database))):
        grades = sides.kin.grades(part)
        if sides.own is not None:
            own = sides.own[part]
            grades[np.flatnonzero(own >= 0), own[own >= 0]] = 0
            lists[part][lists[part] == own[:, None]] = -1
        for i, (mine, listed) in enumerate(zip(grades, lists[part], strict=True), part.start):
            groups = TieGroups.of_order(mine[listed[listed >= 0]])
            n_kin = np.count_nonzero(mine, keepdims=True)
            out[i] = groups.average_precision(top, divide_by, n_kin=n_kin)[0]
    return sides.spread(out)


def _check_lists(lists: Array, n_database: int) -> None:
    expected = f"whole numbers from 0 to {n_database - 1}, or -1 where a list is shorter, none twice"
    remedy = "Pass positions in the database, not ids"
    if lists.dtype.kind not in "iu":
        raise InvalidInput(f"The order has dtype {lists.dtype}", expected, remedy)
    wrong = (lists < -1) | (lists >= n_database)
    if wrong.any():
        row = int(wrong.any(axis=1).argmax())
        raise InvalidInput(f"Row {row} of the order names row {lists[row][wrong[row]][0]}", expected, remedy)
    ordered = np.sort(lists, axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    if twice.any():
        raise InvalidInput(f"Row {int(twice.argmax())} of the order names a row twice", expected, remedy)


def _matrix_shape(name: str, array: Numbers) -> tuple[int, int]:
    shape = np.shape(array)
    if len(shape) != 2:
        raise InvalidInput(f"{name} has shape {shape}", "a matrix with one row per query", "Reshape it")
    return int(shape[0]), int(shape[1])


def _shape_from_labels(query_labels: LabelsLike, database_labels: LabelsLike) -> tuple[int, int]:
    if database_labels is not None:
        return len(read_labels(query_labels)), len(read_labels(database_labels))
    if callable(query_labels):
        raise InvalidInput(
            "Nothing says how many queries and rows there are",
            "labels, or a matrix on one side at least",
            "Pass the scores or the relevance as a matrix",
        )
    return _matrix_shape("relevance", query_labels if sp.issparse(query_labels) else np.asarray(query_labels))
