"""Average precision of rankings that come from elsewhere: float scores, or lists of neighbours.

The same relevance and the same formula for ties as for codes, so that a cosine ranking and a
Hamming ranking can stand in one table. One query at a time is sorted; peak memory beyond the
inputs: a block of scores and grades of about 16 MB each (at least one row), and one sorted row per thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._blocks import block_slices, n_threads
from .._types import Floats
from ..errors import InvalidInput
from ..labels import read_labels
from .kin_found import DIVISORS, precisions_of_groups
from .mean_score import TIES, check_choice, check_count, spread
from .ranking import Sides, own_rows, read_sides
from .tie_groups import per_kin, precision_terms

__all__ = ["average_precision_from_order", "average_precision_from_scores", "precision_of_scores"]

BLOCK_BYTES = 16 << 20

Mask = npt.NDArray[np.bool_]


def average_precision_from_scores(
    scores: Any,
    query_labels: Any,
    database_labels: Any = None,
    *,
    ties: str = "expected",
    top: int | None = None,
    divide_by: str = "kin",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> Floats:
    """Average precision (q,) of rankings by a score, highest first; NaN where a query has no kin.

    ``scores`` is a matrix (q, n), or a function that takes query positions and gives their rows, so
    that the whole matrix never exists. Equal scores are ties, treated as in `mean_average_precision`;
    labels, ``top``, ``divide_by`` and ``exclude_self`` as there. For distances, pass their negative.
    """
    check_choice("order of ties", ties, TIES)
    check_choice("divisor", divide_by, DIVISORS)
    if top is not None:
        check_count("top", top)
    shape = None if callable(scores) else _matrix_shape("scores", scores)
    n_queries, n_database = shape or _shape_from_labels(query_labels, database_labels)
    own = own_rows(exclude_self, n_queries, n_database)
    sides = read_sides(query_labels, database_labels, n_queries, n_database, own)
    return precision_of_scores(scores, sides, ties, top, divide_by, n_jobs)


def precision_of_scores(
    scores: Any,
    sides: Sides,
    ties: str = "expected",
    top: int | None = None,
    divide_by: str = "kin",
    n_jobs: int | None = None,
) -> Floats:
    """`average_precision_from_scores` of labels that were read already."""

    def one(row: npt.NDArray[Any], kin: Mask) -> float:
        return _ap_of_scores(row, kin, ties, top, divide_by)

    blocks = _score_blocks(scores, sides)
    return spread(_over_rows(one, blocks, sides, n_jobs), sides)


def _score_blocks(scores: Any, sides: Sides) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Blocks of scores of the known queries for the known rows."""
    queries = np.arange(sides.n_queries)
    if sides.known_queries is not None:
        queries = np.flatnonzero(sides.known_queries)
    for part in block_slices(len(queries), max(1, BLOCK_BYTES // (8 * max(1, sides.n_database)))):
        rows = queries[part]
        block = np.asarray(scores(rows) if callable(scores) else scores[rows])
        shape = (len(rows), sides.n_database)
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
        yield part, block if sides.known_rows is None else block[:, sides.known_rows]


def _over_rows(
    one: Callable[[Any, Mask], float],
    blocks: Iterator[tuple[slice, npt.NDArray[Any]]],
    sides: Sides,
    n_jobs: int | None,
) -> Floats:
    """Score every known query by ``one(row, kin)``, with its own row taken out of both."""
    out: list[float] = []
    with ThreadPoolExecutor(n_threads(n_jobs)) as pool:
        for part, block in blocks:
            kin = sides.kin.grades(part) > 0
            own = None if sides.own is None else sides.own[part]

            def score(i: int, block: Any = block, kin: Any = kin, own: Any = own) -> float:
                if own is None or own[i] < 0:
                    return one(block[i], kin[i])
                return one(np.delete(block[i], own[i]), np.delete(kin[i], own[i]))

            out.extend(pool.map(score, range(len(block))))
    return np.array(out, float)


def _ap_of_scores(scores: npt.NDArray[Any], kin: Mask, ties: str, top: int | None, divide_by: str) -> float:
    if ties == "index":
        return _ap_of_order(kin[_stable_descending(scores)], int(kin.sum()), top, divide_by)
    # Only scores that some kin has matter: how many rows lie above each, and how many share it.
    ordered = np.sort(scores)
    values, r = np.unique(scores[kin], return_counts=True)
    values, r = values[::-1], r[::-1]
    last = np.searchsorted(ordered, values, "right")
    n, N = last - np.searchsorted(ordered, values, "left"), len(scores) - last
    R = np.cumsum(r) - r
    if divide_by == "found":
        return float(precisions_of_groups(N[None], n[None], R[None], r[None], top, ties)[0])
    if ties == "pessimistic":
        N = N + n - r
    if ties != "expected":
        n = r
    return float(per_kin(precision_terms(N, n, R, r, top).sum(), r.sum(), top))


def _stable_descending(scores: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Highest first, equal scores in the order of the rows, without negating unsigned numbers."""
    backwards = np.argsort(scores[::-1], kind="stable")
    return np.asarray(len(scores) - 1 - backwards[::-1])


def average_precision_from_order(
    order: npt.ArrayLike,
    query_labels: Any,
    database_labels: Any = None,
    *,
    n_database: int | None = None,
    top: int | None = None,
    divide_by: str = "kin",
    exclude_self: bool = False,
) -> Floats:
    """Average precision (q,) of finished lists of neighbours, best first.

    ``order`` (q, k) holds positions in the database, −1 where a list is shorter; a list names no row
    twice. Kin that are not listed count as never found: the sum is divided by all kin a query has in
    the database, or by ``min(kin, top)``; with ``divide_by="found"`` by those that are listed. Rows of
    unknown label are taken out of the lists.
    """
    check_choice("divisor", divide_by, DIVISORS)
    if top is not None:
        check_count("top", top)
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
    rows = max(1, BLOCK_BYTES // max(1, n_database))
    out = np.full(len(lists), np.nan)
    for part in block_slices(len(lists), rows):
        kin = sides.kin.grades(part) > 0
        if sides.own is not None:
            own = sides.own[part]
            kin[np.flatnonzero(own >= 0), own[own >= 0]] = False
        for i, (mine, listed) in enumerate(zip(kin, lists[part], strict=True)):
            keep = listed >= 0
            if sides.own is not None:
                keep &= listed != sides.own[part][i]
            out[part.start + i] = _ap_of_order(mine[listed[keep]], int(mine.sum()), top, divide_by)
    return spread(out, sides)


def _ap_of_order(kin_in_order: Mask, n_kin: int, top: int | None, divide_by: str) -> float:
    places = np.flatnonzero(kin_in_order[:top]) + 1
    precisions = np.arange(1, len(places) + 1) / places
    if divide_by == "found":
        return float(precisions.sum() / max(len(places), 1)) if n_kin else float("nan")
    return float(per_kin(precisions.sum(), np.asarray(n_kin), top))


def _check_lists(lists: npt.NDArray[Any], n_database: int) -> None:
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


def _matrix_shape(name: str, array: Any) -> tuple[int, int]:
    shape = np.shape(array)
    if len(shape) != 2:
        raise InvalidInput(f"{name} has shape {shape}", "a matrix with one row per query", "Reshape it")
    return int(shape[0]), int(shape[1])


def _shape_from_labels(query_labels: Any, database_labels: Any) -> tuple[int, int]:
    if database_labels is not None:
        return len(read_labels(query_labels)), len(read_labels(database_labels))
    if callable(query_labels):
        raise InvalidInput(
            "Nothing says how many queries and rows there are",
            "labels, or a matrix on one side at least",
            "Pass the scores or the relevance as a matrix",
        )
    return _matrix_shape("relevance", query_labels if sp.issparse(query_labels) else np.asarray(query_labels))
