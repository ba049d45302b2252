"""What users pass about pairs of rows: pairs, clicks, triplets and similarities, checked and listed once.

A pair that is listed twice, in either direction, is one pair with the means of its verdicts and of its weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._internal.blocks import block_slices
from ._internal.types import Array, Floats, Ints, Matrix, Numbers, Rng
from ._internal.validation import check_rows, unmasked
from .errors import InvalidInput, warn

__all__ = [
    "read_clicks",
    "read_ends",
    "read_pairs",
    "read_similarity",
    "read_triplets",
    "read_verdicts",
    "row_numbers",
    "rows_of_ids",
]

TOLERANCE = 1e-6  # by which the verdicts of two directions of S may differ
MOST_ENTRIES = 10_000_000  # of a dense S that are listed: a fit looks at fewer
ENOUGH = 10  # pairs that should not all name one row


def read_pairs(
    left: Numbers, right: Numbers, same: Numbers, n_rows: int, weights: Numbers | None = None
) -> tuple[Ints, Ints, Floats, Floats | None]:
    """Pairs of row numbers, their similarities in [−1, 1] and weights, each pair once.

    Verdicts are booleans, +1 and −1, or grades in [−1, 1]. Where pairs that are listed twice contradict each
    other, a warning says how many do.
    """
    i, j = read_ends(left, right, n_rows)
    s, w = read_verdicts(same, len(i)), _weights(weights, len(i))
    doubts = _scale_doubts(s)
    i, j, s, w = _merged(i, j, s, w, n_rows)
    if not len(i):
        raise InvalidInput("No pair is left", "pairs of two different rows with a weight", "Pass such pairs")
    if s.min() == s.max():
        raise InvalidInput(
            f"All {len(s):,} pairs have the verdict {s[0]:g}",
            "pairs that differ: some similar, some not",
            "Add pairs of the other kind; leave the verdict out if all pairs are similar",
        )
    if not ((s > 0).any() and (s <= 0).any()):
        middle, reach, name = _middle(s)
        doubts.append(f"All verdicts have one sign: pairs above {name}, {middle:g}, count as similar.")
        s = np.clip((s - middle) / reach, -1, 1)
    if doubts:
        warn(" ".join(doubts))
    return i, j, s, w


def read_clicks(left: Numbers, right: Numbers, n_rows: int) -> tuple[Ints, Ints]:
    """Similar pairs of row numbers, each once."""
    i, j = read_ends(left, right, n_rows)
    i, j = _merged(i, j, np.ones(len(i)), None, n_rows)[:2]
    if len(i) < 2:
        raise InvalidInput(
            f"{len(i)} similar pairs came", "at least two pairs of different rows", "Pass more pairs"
        )
    return i, j


def read_ends(left: Numbers, right: Numbers, n_rows: int, ids: Any = None) -> tuple[Ints, Ints]:
    """Row numbers (m,) of pairs that are given by number, or by the ``ids`` (n_rows,) of the rows."""
    _require_some("pairs", left=left, right=right)
    both = {"left": left, "right": right}
    if ids is None:
        i, j = (row_numbers(rows, name, n_rows) for name, rows in both.items())
    else:
        i, j = (rows_of_ids(rows, ids, name) for name, rows in both.items())
    check_rows(len(j), "rows in right", len(i), "in left")
    return i, j


def rows_of_ids(names: Any, ids: Any, what: str) -> Ints:
    """The row number of every name, among the ids of the rows."""
    listed = np.asarray(ids).tolist()
    place = {name: row for row, name in enumerate(listed)}
    if len(place) < len(listed):
        raise InvalidInput("An id comes twice among ids", "a different id for every row", "Mend the ids")
    wanted = np.asarray(names).tolist()
    if wanted and isinstance(wanted[0], str) != isinstance(listed[0], str):
        raise InvalidInput(
            f"{what} holds {wanted[0]!r}, and the rows have ids such as {listed[0]!r}",
            "ids of one type",
            "Pass the ids as the rows have them",
        )
    missing = [name for name in wanted if name not in place]
    if missing:
        raise InvalidInput(
            f"{what} holds {str(missing[0])[:40]!r}, which is no id of a row; {len(missing):,} of {len(wanted):,} "
            "are unknown",
            "ids of rows",
            "Leave such pairs out, or pass the ids that the rows have",
        )
    return np.array([place[name] for name in wanted], np.int64)


def _scale_doubts(verdicts: Floats) -> list[str]:
    """What to say of verdicts that are never below 0: it is the middle of the scale, and not its end."""
    if verdicts.min() < 0:
        return []
    if np.isin(verdicts, (0, 1)).all():
        remedy = "If 0 means not similar, pass booleans, or 1 and −1."
    else:
        remedy = "If their scale is from 0 to 1, rescale them: 2 * grade - 1."
    return [
        "No verdict is below 0: grades are read from −1 (dissimilar) to 1 (similar); 0 is halfway. These go "
        f"from {verdicts.min():g} to {verdicts.max():g}. {remedy}"
    ]


def _middle(similarity: Floats) -> tuple[float, float, str]:
    """A number with similarities on both sides, what differences from it are divided by, and its name.

    It is the median, unless that is the highest or the lowest similarity. Then it lies between the two
    nearest ones, and differences are scaled to reach 1: two grades are learned like verdicts.
    """
    values, middle = np.unique(similarity), float(np.median(similarity))
    if values[0] < middle < values[-1]:
        return middle, 1.0, "their median"
    name, nearest = ("highest", values[-2:]) if middle == values[-1] else ("lowest", values[:2])
    middle = float(nearest.mean())
    return middle, float(np.abs(values - middle).max()), f"the middle of the two {name}"


def _merged(
    left: Ints, right: Ints, similarity: Floats, weights: Floats | None, n_rows: int
) -> tuple[Ints, Ints, Floats, Floats | None]:
    """Every pair once, ``left < right``, with the means of its similarities and of its weights.

    Rows paired with themselves are left out. A warning says how many pairs were, and how many contradict.
    """
    itself = left == right
    if itself.any():
        warn(f"{int(itself.sum()):,} of {len(left):,} pairs are of a row with itself and were left out.")
    w = np.ones(len(left)) if weights is None else weights
    keep = ~itself & (w > 0)
    i, j = np.minimum(left, right)[keep], np.maximum(left, right)[keep]
    s, w = similarity[keep], w[keep]
    _warn_of_one_row(i, j)
    key, place = np.unique(i * n_rows + j, return_inverse=True)
    total = np.bincount(place, w, len(key))
    mean = np.bincount(place, w * s, len(key)) / total
    clash = np.bincount(place, (s > 0), len(key)) * np.bincount(place, (s < 0), len(key)) > 0
    if clash.any():
        warn(
            f"{int(clash.sum()):,} of {len(key):,} pairs are listed with contradicting verdicts. Each counts "
            "with their mean."
        )
    each = None if weights is None else total / np.bincount(place, minlength=len(key))
    return key // n_rows, key % n_rows, mean, each


def _warn_of_one_row(left: Ints, right: Ints) -> None:
    """Say that all pairs name the same row, which tells nothing about the others beside each other."""
    for row in (left[0], right[0]) if len(left) >= ENOUGH else ():
        if ((left == row) | (right == row)).all() and (left.min() < left.max() or right.min() < right.max()):
            warn(
                f"All {len(left):,} pairs name row {row}. They say little about how other rows belong "
                "together."
            )
            return


def read_verdicts(verdict: Numbers, n_pairs: int) -> Floats:
    """Numbers in [−1, 1], one for each pair; True is 1 and False −1."""
    s = np.asarray(unmasked(verdict, "verdict"))
    if s.dtype == bool:
        s = np.where(s, 1.0, -1.0)
    if s.shape != (n_pairs,) or s.dtype.kind not in "iuf":
        raise InvalidInput(
            f"verdict has dtype {s.dtype} and shape {s.shape}, and there are {n_pairs} pairs",
            "one number or boolean per pair",
            "Pass one verdict per pair",
        )
    s = s.astype(np.float64)
    wrong = ~(np.abs(s) <= 1)
    if wrong.any():
        bad = int(wrong.argmax())
        raise InvalidInput(
            f"The verdict of pair {bad} is {s[bad]:g}; {int(wrong.sum()):,} of {len(s):,} are outside "
            "[−1, 1]",
            "numbers in [−1, 1]: 1 similar, −1 not; or booleans",
            "Rescale grades: 2 · (grade − lowest) / (highest − lowest) − 1",
        )
    return s


def _weights(weights: Numbers | None, n_pairs: int) -> Floats | None:
    if weights is None:
        return None
    w = np.asarray(unmasked(weights, "weight"))
    if w.shape != (n_pairs,) or w.dtype.kind not in "iufb":
        raise InvalidInput(
            f"weight has dtype {w.dtype} and shape {w.shape}, and there are {n_pairs} pairs",
            "one number per pair, 0 or more",
            "Pass one weight per pair",
        )
    w = w.astype(np.float64)
    wrong = ~(np.isfinite(w) & (w >= 0))
    if wrong.any():
        bad = int(wrong.argmax())
        raise InvalidInput(
            f"The weight of pair {bad} is {w[bad]:g}; {int(wrong.sum()):,} of {len(w):,} are negative or not "
            "finite",
            "finite numbers, 0 or more: how much a pair counts",
            "Leave such pairs out; a verdict of −1 says that rows are not similar",
        )
    return w / (w.max(initial=0.0) or 1.0)  # so that their sum is finite


def read_triplets(anchor: Numbers, nearer: Numbers, further: Numbers, n_rows: int) -> tuple[Ints, Ints, Ints]:
    """Row numbers of triplets: each anchor is more similar to ``nearer`` than to ``further``."""
    named = {"anchor": anchor, "nearer": nearer, "further": further}
    _require_some("triplets", **named)
    a, b, c = (row_numbers(rows, name, n_rows) for name, rows in named.items())
    for name, rows in (("nearer", b), ("further", c)):
        check_rows(len(rows), f"rows in {name}", len(a), "in anchor")
    wrong = (a == c) | (b == c)
    if wrong.any():
        bad = int(wrong.argmax())
        raise InvalidInput(
            f"Triplet {bad} is ({a[bad]}, {b[bad]}, {c[bad]}); {int(wrong.sum()):,} of {len(a):,} name a row "
            "twice",
            "three different rows",
            "Drop such triplets",
        )
    a, b, c = _of_two_rows(a, b, c)
    clash = _contradicting(a, b, c)
    if clash:
        warn(
            f"{clash:,} of {len(a):,} triplets contradict another: each row is said to be nearer than the "
            "other."
        )
    return a, b, c


def _of_two_rows(a: Ints, b: Ints, c: Ints) -> tuple[Ints, Ints, Ints]:
    """The triplets whose anchor is not the nearer row itself; a warning says how many were left out."""
    itself = a == b
    if itself.all():
        raise InvalidInput(
            f"No triplet is left: all {len(a):,} say that a row is nearer to itself than to another",
            "triplets of three different rows",
            "Pass such triplets",
        )
    if itself.any():
        warn(
            f"{int(itself.sum()):,} of {len(a):,} triplets say that a row is nearer to itself than to "
            "another, and were left out."
        )
    return a[~itself], b[~itself], c[~itself]


def _contradicting(a: Ints, b: Ints, c: Ints) -> int:
    """How many triplets are listed with the other order, too."""
    _, kind = np.unique(np.stack([a, np.minimum(b, c), np.maximum(b, c)]), axis=1, return_inverse=True)
    first = np.bincount(kind, b < c)
    return int(((first > 0) & (first < np.bincount(kind)))[kind].sum())


def read_similarity(S: Matrix, anchors: Numbers | None, n_rows: int, rng: Rng) -> tuple[Ints, Ints, Floats]:
    """Pairs and their similarities from S in [−1, 1], n × n or n × m with the rows its columns stand for.

    0 means unknown, in dense and in sparse matrices alike, and the diagonal is ignored. A pair may be listed
    in one direction or in both.
    """
    sparse = sp.issparse(S)
    matrix = sp.csr_array(S) if sparse else np.asarray(unmasked(S, "S"))
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
    i, column, values = _entries(matrix, rng)
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
    return low[first], high[first], values


def _entries(matrix: Matrix, rng: Rng) -> tuple[Ints, Ints, Array]:
    """Rows, columns and values: what a sparse matrix lists, or at most `MOST_ENTRIES` of a dense one."""
    if sp.issparse(matrix):
        listed = sp.coo_array(matrix)
        return listed.coords[0].astype(np.int64), listed.coords[1].astype(np.int64), listed.data
    n, m = matrix.shape
    places = np.arange(n * m) if n * m <= MOST_ENTRIES else rng.integers(n * m, size=MOST_ENTRIES)
    i, column = np.divmod(places, m)
    return i, column, matrix[i, column]


def _check_similarity(matrix: Matrix, anchors: Numbers | None, n_rows: int) -> int:
    """Number of rows of S, whose shape and range were checked."""
    if matrix.ndim != 2 or (anchors is None and matrix.shape[0] != matrix.shape[1]):
        raise InvalidInput(
            f"S has shape {matrix.shape}",
            "n × n, or n × m with the m rows its columns stand for",
            "Pass anchors= for a matrix with fewer columns than rows",
        )
    n = int(matrix.shape[0])
    check_rows(n, "rows of S", n_rows, "rows of X")
    if anchors is not None:
        check_rows(len(np.asarray(anchors)), "anchors", matrix.shape[1], "columns of S")
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


def _all_alike(value: float) -> InvalidInput:
    """The error for an S in which all pairs are equally similar."""
    return InvalidInput(
        f"S says {value} about every pair, so no rows can be distinguished",
        "some pairs more similar than others",
        "Add pairs of the other kind; random pairs of rows are usually dissimilar",
    )


def _require_some(what: str, **ends: Numbers) -> None:
    """Refuse lists of row numbers that are all empty."""
    if not any(np.size(rows) for rows in ends.values()):
        *first, last = ends
        raise InvalidInput(
            f"There are no {what}: {', '.join(first)} and {last} are empty",
            f"row numbers of some {what}",
            f"Pass {what}, or learn from labels with fit(X, y)",
        )


def row_numbers(rows: Numbers, name: str, n_rows: int) -> Ints:
    """Positions of rows that a user handed in, checked."""
    array = np.asarray(unmasked(rows, name))
    words = [] if array.dtype.kind not in "USTO" else [x for x in array.flat if isinstance(x, str | bytes)]
    if words:
        raise InvalidInput(
            f"{name} holds {str(words[0])[:40]!r}; {len(words):,} of {array.size:,} are text",
            f"row numbers, counted from 0 to {n_rows - 1}, not names or ids of rows",
            "Pass ids=, the id of every row, too",
        )
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidInput(
            f"{name} has dtype {array.dtype} and shape {array.shape}",
            "a 1-D array of integer row numbers",
            "Pass positions of rows in X, counted from 0",
        )
    wrong = (array < 0) | (array >= n_rows)
    if wrong.any():
        bad, from_one = int(wrong.argmax()), array.min() == 1 and array.max() == n_rows
        raise InvalidInput(
            f"{name}[{bad}] is {array[bad]}, but X has {n_rows} rows; {int(wrong.sum()):,} of {len(array):,} "
            "are out of range",
            f"row numbers from 0 to {n_rows - 1}",
            "Subtract 1: they seem to be counted from 1"
            if from_one
            else "Pass positions of rows in X, counted from 0",
        )
    return array.astype(np.int64)
