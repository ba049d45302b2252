"""How similar two rows should be, whatever the user handed in.

The similarity ``S`` of two rows lies in [−1, 1]: +1 for the same kind, −1 for nothing in common, 0 for
unknown, and grades in between. It is never formed for all pairs. Rows with the same supervision have the
same row of ``S``, so everything happens between *groups* of such rows, by one of three routes:

* `ClassSupervision`: ``S = 2·[same class] − 1``, or a K × K matrix between the classes;
* `TagSupervision`: ``S = 2·[shared] − 1`` (kinship "any"), or its mean with ``2·Jaccard − 1`` ("graded"),
  in blocks between distinct tag sets;
* `PairSupervision` and `MatrixSupervision`: the listed entries, or the matrix as it was given.

Memory: the groups and what they were built from, O(rows + tags); blocks are as large as asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._blocks import block_slices
from ._similarity import all_alike, check_similarity, check_symmetric, check_varies, has_unknown
from ._types import Floats, Ints
from .errors import InvalidInput, UnknownName
from .labels import Labels, read_labels

__all__ = [
    "KINSHIPS",
    "ClassSupervision",
    "MatrixSupervision",
    "PairSupervision",
    "Supervision",
    "TagSupervision",
    "check_kinship",
    "from_labels",
    "from_pairs",
    "from_similarity",
]

KINSHIPS = ("auto", "graded", "any")
NOBODY = -1  # the group of rows nothing is known about


class Supervision(ABC):
    """Rows in groups of equal supervision, and the similarity between groups.

    ``group_of_row`` (n,) is −1 for rows nothing is known about; ``complete`` says that every pair
    of known rows has a verdict; ``anchors`` are the rows the user fixed as anchors, if any.
    """

    group_of_row: Ints
    n_groups: int
    complete: bool = True
    anchors: Ints | None = None
    labels: Labels | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, known or not."""
        return len(self.group_of_row)

    @abstractmethod
    def similarity(self, left: Ints, right: Ints) -> Floats:
        """Block of S (len(left), len(right)) between two lists of groups.

        The similarity of a group with itself is that of two different rows in it.
        """

    @abstractmethod
    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        """``similarity(left, right) @ values`` without holding the whole block."""

    def some_pairs(self, most: int, rng: np.random.Generator) -> tuple[Ints, Ints, Floats]:
        """Random pairs of rows and their similarity: left, right and S, at most ``most`` of each."""
        known = np.flatnonzero(self.group_of_row >= 0)
        columns = known if self.anchors is None else self.anchors
        left, right = rng.choice(known, most), rng.choice(columns, most)
        left, right = left[left != right], right[left != right]
        S = [
            self.similarity(self.group_of_row[i : i + 1], self.group_of_row[j : j + 1])[0, 0]
            for i, j in zip(left.tolist(), right.tolist(), strict=True)
        ]
        return left, right, np.array(S, np.float64)

    def of_rows(self, rows: Ints) -> Supervision | None:
        """The supervision of those rows alone; None where it is between rows, as in pairs."""
        return None

    def group_weights(self, row_weights: Floats | None = None) -> Floats:
        """Rows per group, or the sum of their weights."""
        known = self.group_of_row >= 0
        weights = None if row_weights is None else row_weights[known]
        return np.bincount(self.group_of_row[known], weights, self.n_groups).astype(np.float64)


class ClassSupervision(Supervision):
    """Groups are the classes; ``between`` (K, K) says how similar two classes are, None: the same or not."""

    def __init__(self, labels: Labels, between: Floats | None = None) -> None:
        assert labels.classes is not None
        self.labels = labels
        self.between = between
        self.group_of_row = labels.classes
        self.n_groups = len(labels.names)

    def similarity(self, left: Ints, right: Ints) -> Floats:
        if self.between is not None:
            return self.between[np.ix_(left, right)]
        return np.where(left[:, None] == right[None, :], 1.0, -1.0)

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        if self.between is not None:
            return _blocked_product(self, left, right, values)
        # S = 2 [same] - 1: twice the sum over the own class, less the sum over everybody.
        sums = np.zeros((self.n_groups, values.shape[1]))
        np.add.at(sums, right, values)
        result: Floats = 2 * sums[left] - values.sum(axis=0)
        return result

    def of_rows(self, rows: Ints) -> ClassSupervision:
        """Classes whose rows are all left out are left out, too."""
        assert self.labels is not None
        everywhere, here = (
            np.bincount(part[part >= 0], minlength=self.n_groups)
            for part in (self.group_of_row, self.group_of_row[rows])
        )
        kept = np.flatnonzero((here > 0) | (everywhere == 0))
        between = None if self.between is None else self.between[np.ix_(kept, kept)]
        return ClassSupervision(_among_classes(self.labels[rows], kept), between)


class TagSupervision(Supervision):
    """Groups are the distinct tag sets. Sets without a common tag have S = −1, and so has the empty set.

    Sets with a common tag have S = 1, or if ``graded`` their Jaccard index, which is 1 for equal sets.
    """

    def __init__(self, labels: Labels, graded: bool = False) -> None:
        assert labels.tags is not None
        self.labels = labels
        self.graded = graded
        self.group_of_row, first = _distinct_rows(labels.tags, labels.known)
        self.n_groups = len(first)
        self.tag_sets = sp.csr_array(labels.tags[first], dtype=np.float32)

    def similarity(self, left: Ints, right: Ints) -> Floats:
        shared = self.tag_sets[left] @ self.tag_sets[right].toarray().T
        if not self.graded:
            return np.where(shared > 0, 1.0, -1.0)
        sizes = np.diff(self.tag_sets.indptr)
        union = sizes[left][:, None] + sizes[right] - shared
        # The mean of 2·[shared] − 1 and 2·Jaccard − 1.
        return np.where(shared > 0, shared / np.maximum(union, 1), -1.0).astype(np.float64)

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        return _blocked_product(self, left, right, values)

    def of_rows(self, rows: Ints) -> TagSupervision:
        """All tags are kept, as an indicator matrix keeps its columns."""
        assert self.labels is not None
        return TagSupervision(self.labels[rows], self.graded)

    def tag_name(self, column: int) -> object:
        """What the user calls a tag."""
        assert self.labels is not None
        return self.labels.names.tolist()[column]


class PairSupervision(Supervision):
    """Listed pairs only: ``listed`` (n, n) holds S in both directions, what is absent is unknown.

    Every row is its own group; rows without a listed pair are unknown.
    """

    complete = False

    def __init__(self, listed: sp.csr_array) -> None:
        self.listed = listed
        touched = np.diff(listed.indptr) > 0
        self.rows = np.flatnonzero(touched)
        self.n_groups = len(self.rows)
        self.group_of_row = np.full(listed.shape[0], NOBODY, np.int64)
        self.group_of_row[self.rows] = np.arange(self.n_groups)

    def among_groups(self) -> sp.csr_array:
        """S between the rows that have a listed pair, sparse."""
        block = sp.csr_array(self.listed[self.rows][:, self.rows])
        block.sort_indices()
        return block

    def hold_out(
        self, most: int, rng: np.random.Generator
    ) -> tuple[tuple[Ints, Ints, Floats], PairSupervision]:
        """A fifth of the listed pairs, at most ``most``, as left, right and S; and the others."""
        listed = sp.triu(self.listed, format="coo")
        order = rng.permutation(listed.nnz)
        held, rest = np.split(order, [min(most, listed.nnz // 5)])
        i, j = listed.coords
        kept = _symmetric(i[rest], j[rest], listed.data[rest], self.n_rows)
        return (i[held], j[held], listed.data[held]), PairSupervision(kept)

    def similarity(self, left: Ints, right: Ints) -> Floats:
        block: Floats = self.listed[self.rows[left]][:, self.rows[right]].toarray().astype(np.float64)
        return block

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        result: Floats = self.listed[self.rows[left]][:, self.rows[right]] @ values
        return result


class MatrixSupervision(Supervision):
    """A dense matrix with a verdict for every pair: ``matrix`` (n, m), columns = ``anchors``.

    Every row is its own group, since no two rows need have the same similarities; only groups that are
    anchors may be asked for as columns.
    """

    def __init__(self, matrix: npt.NDArray[Any], anchors: Ints | None) -> None:
        self.matrix = matrix
        self.anchors = anchors
        n = matrix.shape[0]
        self.group_of_row = np.arange(n)
        self.n_groups = n
        self._column = np.full(n, NOBODY, np.int64)
        self._column[np.arange(n) if anchors is None else anchors] = np.arange(matrix.shape[1])

    def similarity(self, left: Ints, right: Ints) -> Floats:
        block: Floats = self.matrix[np.ix_(left, self._column[right])].astype(np.float64)
        block[left[:, None] == right] = 1.0  # what the diagonal says is ignored: a row is kin to itself
        return block

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        return _blocked_product(self, left, right, values)


def _among_classes(labels: Labels, kept: Ints) -> Labels:
    """The labels counted among some of the classes, which must include those of all known rows."""
    assert labels.classes is not None
    place = np.full(len(labels.names) + 1, NOBODY, np.int64)  # the last is that of unknown rows
    place[kept] = np.arange(len(kept))
    return Labels(labels.names[kept], labels.known, classes=place[labels.classes])


def check_kinship(kinship: Any) -> None:
    """Refuse what `from_labels` does not know."""
    if isinstance(kinship, str):
        if kinship not in KINSHIPS:
            raise UnknownName.among("kinship", kinship, KINSHIPS)
    else:
        _kinship_matrix(kinship)


def _kinship_matrix(kinship: Any) -> Floats:
    """A dense matrix of numbers."""
    try:
        matrix = np.asarray(kinship, np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2:
        raise InvalidInput(
            f"kinship is a {type(kinship).__name__} that is no matrix of numbers",
            f"one of {', '.join(KINSHIPS)}, or a dense K × K matrix of similarities between the classes",
            "Pass one of those",
        )
    return matrix


def from_labels(y: Any, n_rows: int | None = None, kinship: Any = "any") -> Supervision:
    """Supervision from classes, an indicator matrix or tag sets; see `kinhash.labels`.

    ``kinship`` says how similar two rows are: "any" (1 if they share a class or a tag, else −1), "graded"
    (tags: the more they share, the more similar), "auto" (graded for tags), or a K × K matrix in [−1, 1]
    between the classes in sorted order.
    """
    check_kinship(kinship)
    labels = read_labels(y, n_rows)
    if isinstance(kinship, str):
        if labels.is_tags:
            return TagSupervision(labels, graded=kinship != "any")
        if kinship == "graded":
            raise InvalidInput(
                "kinship='graded' came with classes",
                "tags, of which two rows can share some; or a K × K matrix between the classes",
                "Leave kinship out, or pass such a matrix",
            )
        return ClassSupervision(labels)
    if labels.is_tags:
        raise InvalidInput(
            "A matrix of similarities between classes came with tags", "classes", "Use kinship='graded'"
        )
    _require_sorted_frame(kinship, labels)
    return ClassSupervision(labels, _between_classes(_kinship_matrix(kinship), labels))


def _require_sorted_frame(kinship: Any, labels: Labels) -> None:
    """Refuse a dataframe whose rows or columns name the classes in another order than the sorted one."""
    for axis in ("index", "columns"):
        names: Any = getattr(kinship, axis, None)
        known = labels.names.tolist(), list(range(len(labels.names)))
        if hasattr(names, "tolist") and names.tolist() not in known:
            raise InvalidInput(
                f"The {axis} of kinship does not name the classes in sorted order",
                f"{', '.join(map(str, labels.names.tolist()[:5]))}, …",
                "Reorder the frame: kinship.loc[names, names] with names = sorted(classes)",
            )


def _between_classes(matrix: Floats, labels: Labels) -> Floats:
    """A symmetric matrix (K, K) in [−1, 1] whose diagonal is 1."""
    k = len(labels.names)
    if matrix.shape != (k, k):
        raise InvalidInput(
            f"kinship has shape {matrix.shape}, and there are {k} classes",
            f"shape ({k}, {k}), classes in sorted order",
            "Pass one row and one column for every class",
        )
    if not (np.abs(matrix) <= 1).all() or not np.array_equal(matrix, matrix.T):
        raise InvalidInput(
            "kinship is not symmetric, or has entries outside [−1, 1]",
            "similarities from −1 (nothing in common) to 1 (the same)",
            "Check the matrix: kinship[i, j] must be kinship[j, i]",
        )
    if not (np.diag(matrix) == 1).all():
        raise InvalidInput(
            f"kinship[{int((np.diag(matrix) != 1).argmax())}, same] is not 1",
            "1 on the diagonal: a class is as similar as can be to itself",
            "Set the diagonal to 1",
        )
    return matrix


def from_pairs(left: Any, right: Any, verdict: Any, n_rows: int) -> PairSupervision:
    """Supervision from pairs of row numbers; verdict > 0 (or True) = kin, unlisted = unknown.

    Verdicts are +1 / −1, or booleans. Exact duplicates merge; contradictions are errors.
    """
    i, j = row_numbers(left, "left", n_rows), row_numbers(right, "right", n_rows)
    s = np.asarray(verdict)
    if s.dtype == bool:
        s = np.where(s, 1, -1)
    if s.ndim != 1 or not len(i) == len(j) == len(s):
        raise InvalidInput(
            f"left, right and verdict have lengths {len(i)}, {len(j)} and {s.size}",
            "three 1-D arrays of one length",
            "Pass one verdict per pair",
        )
    if not np.isin(s, (-1, 1)).all():
        bad = int(np.flatnonzero(~np.isin(s, (-1, 1)))[0])
        raise InvalidInput(
            f"The verdict of pair {bad} is {s[bad]}",
            "1 (kin), -1 (strangers), or booleans",
            "Leave out pairs you know nothing about",
        )
    if (i == j).any():
        bad = int((i == j).argmax())
        raise InvalidInput(
            f"Pair {bad} is ({i[bad]}, {j[bad]}): a row with itself", "two different rows", "Drop such pairs"
        )
    low, high = np.minimum(i, j), np.maximum(i, j)
    key = low * n_rows + high
    unique, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    clash = s != s[first][inverse]
    if clash.any():
        bad = int(clash.argmax())
        raise InvalidInput(
            f"Pair {bad}, ({i[bad]}, {j[bad]}), contradicts pair {int(first[inverse[bad]])}",
            "one verdict per pair",
            "Drop the pairs you do not trust",
        )
    low, high, s = low[first], high[first], s[first].astype(np.float64)
    for sign, name in ((1, "kin"), (-1, "strangers")):
        if not (s == sign).any():
            raise InvalidInput(
                f"None of the {len(unique)} pairs says {name!r}",
                "some pairs of kin and some of strangers",
                "Add pairs of the other kind; random pairs of rows are usually strangers",
            )
    return PairSupervision(_symmetric(low, high, s, n_rows))


def from_similarity(S: Any, anchors: Any = None, n_rows: int | None = None) -> Supervision:
    """Supervision from S in [−1, 1], n × n or n × m with the rows its columns stand for.

    0 means unknown, in dense and in sparse matrices alike, and the diagonal is ignored.
    """
    sparse = sp.issparse(S)
    matrix = sp.csr_array(S) if sparse else np.asarray(S)
    if matrix.dtype.kind not in "iuf":
        raise InvalidInput(
            f"S has dtype {matrix.dtype}",
            "numbers in [-1, 1]: 1 kin, -1 strangers, 0 unknown",
            "Turn verdicts that are True or False into 1 and -1: np.where(S, 1, -1)",
        )
    n = check_similarity(matrix, anchors, n_rows)
    columns = None if anchors is None else row_numbers(anchors, "anchors", n)
    if columns is not None and len(np.unique(columns)) != len(columns):
        raise InvalidInput(
            "Some row is listed twice among the anchors", "distinct rows", "Drop the duplicate columns"
        )
    square = np.arange(n) if columns is None else columns
    check_symmetric(matrix, square)
    if not sparse and not has_unknown(matrix, square):
        check_varies(matrix, square)
        return MatrixSupervision(matrix, columns)
    entries = sp.coo_array(matrix)
    i, j = entries.coords[0].astype(np.int64), square[entries.coords[1]]
    keep = (entries.data != 0) & (i != j)
    low, high = np.minimum(i, j)[keep], np.maximum(i, j)[keep]
    _, first = np.unique(low * n + high, return_index=True)
    if not len(first):
        raise InvalidInput(
            "S says nothing about any pair: all its entries off the diagonal are 0",
            "some entries above and some below 0",
            "0 means unknown; use 1 for kin and -1 for strangers",
        )
    values = entries.data[keep].astype(np.float64)[first]
    if (values == values[0]).all():
        raise all_alike(values[0])
    return PairSupervision(_symmetric(low[first], high[first], values, n))


def _symmetric(low: Ints, high: Ints, values: Floats, n: int) -> sp.csr_array:
    rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
    listed = sp.csr_array((np.concatenate([values, values]), (rows, columns)), shape=(n, n))
    listed.sort_indices()
    return listed


def _distinct_rows(tags: sp.csr_array, known: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Group of each row, numbered by first appearance, and one row of each group.

    Rows are compared by the sum of random 64-bit numbers, one per tag; that equal sums mean equal rows is
    then checked, so chance decides nothing.
    """
    group = np.full(tags.shape[0], NOBODY, np.int64)
    rows = np.flatnonzero(known)
    if not len(rows):
        return group, rows
    keys = np.random.default_rng(0).integers(2**63, size=tags.shape[1], dtype=np.int64).astype(np.uint64)
    sums = np.zeros(tags.nnz + 1, np.uint64)  # differences of running sums are exact modulo 2⁶⁴
    np.cumsum(keys[tags.indices], out=sums[1:])
    key = (sums[tags.indptr[1:]] - sums[tags.indptr[:-1]])[rows]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    group[rows] = place[inverse]
    first = rows[first[order]]
    _require_equal_rows(tags, rows, first[group[rows]])
    return group, first


def _require_equal_rows(tags: sp.csr_array, rows: Ints, others: Ints) -> None:
    """Our own invariant: row by row, the same tags."""
    lengths = np.diff(tags.indptr)
    assert (lengths[rows] == lengths[others]).all()
    within = np.arange(lengths[rows].sum()) - np.repeat(
        np.cumsum(lengths[rows]) - lengths[rows], lengths[rows]
    )
    ours = tags.indices[np.repeat(tags.indptr[rows], lengths[rows]) + within]
    theirs = tags.indices[np.repeat(tags.indptr[others], lengths[rows]) + within]
    assert (ours == theirs).all()


def _blocked_product(supervision: Supervision, left: Ints, right: Ints, values: Floats) -> Floats:
    """S @ values in blocks of left groups; peak memory about 32 MB beyond the result."""
    out = np.empty((len(left), values.shape[1]))
    for rows in block_slices(len(left), max(1, 4_000_000 // max(1, len(right)))):
        out[rows] = supervision.similarity(left[rows], right) @ values
    return out


def row_numbers(rows: Any, name: str, n_rows: int) -> Ints:
    """Positions of rows that a user handed in, checked."""
    array = np.asarray(rows)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidInput(
            f"{name} has dtype {array.dtype} and shape {array.shape}",
            "a 1-D array of integer row numbers",
            "Pass positions of rows in X, counted from 0",
        )
    wrong = (array < 0) | (array >= n_rows)
    if wrong.any():
        bad = int(wrong.argmax())
        raise InvalidInput(
            f"{name}[{bad}] is {array[bad]}, but X has {n_rows} rows",
            f"row numbers from 0 to {n_rows - 1}",
            "Pass positions of rows in X, counted from 0",
        )
    return array.astype(np.int64)
