"""Supervision by a similarity matrix: shape, range and symmetry are checked, and whether it says anything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices
from .._internal.types import Array, Floats, Ints, Matrix, Numbers
from ..errors import InvalidInput
from .base import UNKNOWN, Supervision, blocked_product, row_numbers
from .pairs import PairSupervision

__all__ = ["MatrixSupervision", "from_similarity"]

TOLERANCE = 1e-6  # by which the verdicts of two directions may differ
MOST_ENTRIES = 10_000_000  # of a dense S that are listed: a fit looks at fewer


class MatrixSupervision(Supervision):
    """A dense matrix with a verdict for every pair: ``matrix`` (n, m), columns = ``anchors``.

    Every row is its own group, since no two rows need have the same similarities; only groups that are
    anchors may be asked for as columns.
    """

    def __init__(self, matrix: Array, anchors: Ints | None) -> None:
        self.matrix = matrix
        self.anchors = anchors
        n = matrix.shape[0]
        self.group_of_row = np.arange(n)
        self.n_groups = n
        self._column = np.full(n, UNKNOWN, np.int64)
        self._column[np.arange(n) if anchors is None else anchors] = np.arange(matrix.shape[1])

    def similarity(self, left: Ints, right: Ints) -> Floats:
        block: Floats = self.matrix[np.ix_(left, self._column[right])].astype(np.float64)
        block[left[:, None] == right] = 1.0  # what the diagonal says is ignored: a row is kin to itself
        return block

    def pairwise(self, left: Ints, right: Ints) -> Floats:
        return self.matrix[left, self._column[right]].astype(np.float64)

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        return blocked_product(self, left, right, values)


def from_similarity(S: Matrix, anchors: Numbers | None = None, n_rows: int | None = None) -> Supervision:
    """Supervision from S in [−1, 1], n × n or n × m with the rows its columns stand for.

    0 means unknown, in dense and in sparse matrices alike, and the diagonal is ignored. A pair may be listed
    in one direction or in both.
    """
    sparse = sp.issparse(S)
    matrix = sp.csr_array(S) if sparse else np.asarray(S)
    if matrix.dtype.kind not in "iuf":
        raise InvalidInput(
            f"S has dtype {matrix.dtype}",
            "numbers in [-1, 1]: 1 similar, -1 dissimilar, 0 unknown",
            "Turn verdicts that are True or False into 1 and -1: np.where(S, 1, -1)",
        )
    n = _check_similarity(matrix, anchors, n_rows)
    columns = None if anchors is None else row_numbers(anchors, "anchors", n)
    if columns is not None and len(np.unique(columns)) != len(columns):
        raise InvalidInput(
            "Some row is listed twice among the anchors", "distinct rows", "Drop the duplicate columns"
        )
    square = np.arange(n) if columns is None else columns
    _check_symmetric(matrix, square)
    if not sparse and not _has_unknown(matrix, square):
        _check_varies(matrix, square)
        return MatrixSupervision(matrix, columns)
    i, column, values = _entries(matrix)
    j = square[column]
    keep = (values != 0) & (i != j)
    low, high = np.minimum(i, j)[keep], np.maximum(i, j)[keep]
    _, first = np.unique(low * n + high, return_index=True)
    if not len(first):
        raise InvalidInput(
            "S says nothing about any pair: all its entries off the diagonal are 0",
            "some entries above and some below 0",
            "0 means unknown; use 1 for similar and -1 for dissimilar",
        )
    values = values[keep].astype(np.float64)[first]
    if (values == values[0]).all():
        raise _all_alike(values[0])
    return PairSupervision(low[first], high[first], values, n)


def _entries(matrix: Matrix) -> tuple[Ints, Ints, Array]:
    """Rows, columns and values: what a sparse matrix lists, or at most `MOST_ENTRIES` of a dense one."""
    if sp.issparse(matrix):
        listed = sp.coo_array(matrix)
        return listed.coords[0].astype(np.int64), listed.coords[1].astype(np.int64), listed.data
    n, m = matrix.shape
    places = (
        np.arange(n * m)
        if n * m <= MOST_ENTRIES
        else np.random.default_rng(0).integers(n * m, size=MOST_ENTRIES)
    )
    i, column = np.divmod(places, m)
    return i, column, matrix[i, column]


def _check_similarity(matrix: Matrix, anchors: Numbers | None, n_rows: int | None) -> int:
    """Number of rows of S, whose shape and range were checked."""
    if matrix.ndim != 2 or (anchors is None and matrix.shape[0] != matrix.shape[1]):
        raise InvalidInput(
            f"S has shape {matrix.shape}",
            "n × n, or n × m with the m rows its columns stand for",
            "Pass anchors= for a matrix with fewer columns than rows",
        )
    n = int(matrix.shape[0])
    if n_rows is not None and n != n_rows:
        raise InvalidInput(
            f"S has {n} rows and X has {n_rows}", "one row of S per row of X", "Pass S and X that match"
        )
    if anchors is not None and len(np.asarray(anchors)) != matrix.shape[1]:
        raise InvalidInput(
            f"S has {matrix.shape[1]} columns and {len(np.asarray(anchors))} anchors were given",
            "one anchor row per column",
            "Pass the row number each column stands for",
        )
    values = matrix.data if sp.issparse(matrix) else matrix
    low, high = (values.min(), values.max()) if values.size else (0, 0)
    if not (low >= -1 and high <= 1):  # also refuses NaN
        raise InvalidInput(
            f"S holds values from {low} to {high}",
            "numbers in [-1, 1]: 1 similar, -1 dissimilar, 0 unknown",
            "Rescale S; write 0 for what is unknown instead of NaN",
        )
    return n


def _check_symmetric(matrix: Matrix, anchors: Ints) -> None:
    """Refuse an S that says one thing of (i, j) and another of (j, i); 0 says nothing of either."""
    clashing, one_way, worst, first = 0, False, 0.0, (0, 0)
    for start, upper, lower in _both_directions(matrix, anchors):
        gaps = abs(upper - lower)
        if not gaps.max() > TOLERANCE:  # most blocks
            continue
        listed, back = upper != 0, lower != 0
        both = listed * back
        one_way |= int(listed.sum()) > int(both.sum())
        gaps = sp.coo_array(gaps * both)
        wrong = gaps.data > TOLERANCE
        if not wrong.any():
            continue
        if not clashing:
            row, column = (int(place[wrong][0]) for place in gaps.coords)
            first = int(anchors[start + row]), int(anchors[column])
        clashing, worst = clashing + int(wrong.sum()), max(worst, float(gaps.data.max()))
    if clashing:
        pairs = "1 pair is" if clashing == 2 else f"{clashing // 2:,} pairs are"
        raise InvalidInput(
            f"S is not symmetric: {pairs} listed in both directions with different verdicts, "
            f"rows {first[0]} and {first[1]} among them; they differ by up to {worst:.3g}",
            "the same verdict in both directions, or 0 in one of them",
            "Write 0 in the direction that does not hold, or the mean in both directions"
            if one_way or matrix.shape[0] != matrix.shape[1]
            else "Pass (S + S.T) / 2, or decide which direction holds",
        )


def _both_directions(matrix: Matrix, anchors: Ints) -> Iterator[tuple[int, Matrix, Matrix]]:
    """Blocks of S among the anchors: where they begin, what they say, and what is said the other way."""
    if sp.issparse(matrix) and len(anchors):
        block = matrix[anchors]
        yield 0, block, sp.csr_array(block.T)
    for rows in [] if sp.issparse(matrix) else block_slices(len(anchors), 1024):
        yield rows.start, matrix[anchors[rows]], matrix[anchors, rows].T


def _check_varies(matrix: Array, anchors: Ints) -> None:
    """Refuse an S that says the same about every pair."""
    n, m = matrix.shape
    own = matrix[anchors, np.arange(m)]
    value = matrix[0 if anchors[0] else n - 1, 0]
    if int((matrix == value).sum()) - int((own == value).sum()) == n * m - m:
        raise _all_alike(value)


def _all_alike(value: float) -> InvalidInput:
    """The error for an S in which all pairs are equally similar."""
    return InvalidInput(
        f"S says {value} about every pair, so no rows can be distinguished",
        "some pairs more similar than others",
        "Add pairs of the other kind; random pairs of rows are usually dissimilar",
    )


def _has_unknown(matrix: Array, anchors: Ints) -> bool:
    """Whether some entry off the diagonal is 0."""
    zeros = int((matrix == 0).sum())
    return zeros > int((matrix[anchors, np.arange(len(anchors))] == 0).sum())
