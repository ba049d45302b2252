"""Supervision by labels: classes and tags.

* `ClassSupervision`: ``S = 2·[same class] − 1``, or a K × K matrix between the classes;
* `TagSupervision`: ``S = 2·[shared] − 1`` (kinship "any"), or its mean with ``2·Jaccard − 1`` ("graded"),
  in blocks between distinct tag sets.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._internal.types import Bools, Floats, Ints, LabelsLike, Rng
from ..errors import InvalidInput, KinhashWarning, UnknownName
from .base import UNKNOWN, Supervision, blocked_product
from .examples import PairExamples
from .labels import Labels, read_labels

__all__ = ["KINSHIPS", "ClassSupervision", "Kinship", "TagSupervision", "check_kinship", "from_labels"]

Parents: TypeAlias = Mapping[Any, Any]  # the parent of each label
Kinship: TypeAlias = npt.ArrayLike | Parents  # a name, a matrix between classes, or parents

KINSHIPS = ("auto", "graded", "any", "tree")


def from_labels(y: LabelsLike, n_rows: int | None = None, kinship: Kinship = "any") -> Supervision:
    """Supervision from classes, an indicator matrix or tag sets; see `kinhash.supervision`.

    ``kinship`` says how similar two rows are: "any" (1 if they share a class or a tag, else −1), "graded"
    (tags: the more they share, the more similar), "auto" (graded for tags), "tree" (labels are paths), a
    table {label: its parent}, or a K × K matrix in [−1, 1] between the classes in sorted order.
    """
    check_kinship(kinship)
    if isinstance(kinship, Mapping) or (isinstance(kinship, str) and kinship == "tree"):
        from .tree import from_paths

        return from_paths(y, n_rows, kinship if isinstance(kinship, Mapping) else None)
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


class LabelSupervision(Supervision):
    """Classes or tags, which a label model can predict."""

    labels: Labels

    def sampled_pairs(self, most: int, rng: Rng) -> PairExamples:
        """Random pairs of known rows, half of them with a label in common."""
        rows = np.flatnonzero(self.group_of_row >= 0)
        left, right = rng.choice(rows, most), rng.choice(rows, most)
        indicator = self.labels.indicator()
        by_label = sp.csc_array(indicator)
        ends = indicator.indptr[left], indicator.indptr[left + 1]
        half = np.flatnonzero((ends[1] > ends[0]) & (np.arange(most) < most // 2))
        label = indicator.indices[rng.integers(ends[0][half], ends[1][half])]
        right[half] = by_label.indices[rng.integers(by_label.indptr[label], by_label.indptr[label + 1])]
        left, right = left[left != right], right[left != right]
        similarity = self.pairwise(self.group_of_row[left], self.group_of_row[right])
        return PairExamples(left, right, similarity)


class ClassSupervision(LabelSupervision):
    """Groups are the classes; ``between`` (K, K) says how similar two classes are, None: the same or not.

    ``levels`` (K, L) are nodes of a tree that codewords of many classes follow.
    """

    every_group_counts = True
    between: Floats | None = None
    levels: Ints | None = None

    def __init__(self, labels: Labels, between: Floats | None = None, levels: Ints | None = None) -> None:
        assert labels.classes is not None
        self.labels = labels
        if between is not None:
            self.between = between
        if levels is not None:
            self.levels = levels
        self.group_of_row = labels.classes
        self.n_groups = len(labels.names)

    def similarity(self, left: Ints, right: Ints) -> Floats:
        if self.between is not None:
            return self.between[np.ix_(left, right)]
        return np.where(left[:, None] == right[None, :], 1.0, -1.0)

    def pairwise(self, left: Ints, right: Ints) -> Floats:
        return np.where(left == right, 1.0, -1.0) if self.between is None else self.between[left, right]

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        if self.between is not None:
            return blocked_product(self, left, right, values)
        # S = 2 [same] - 1: twice the sum over the own class, less the sum over all classes.
        sums = np.zeros((self.n_groups, values.shape[1]))
        np.add.at(sums, right, values)
        return 2 * sums[left] - values.sum(axis=0)

    def check(self, row_weights: Floats | None) -> None:
        super().check(row_weights)
        counts = self.group_weights(row_weights)
        present = int((counts > 0).sum())
        if present < 2:
            raise InvalidInput(
                f"The labels have only one class ({present} with any weight)",
                "at least two classes",
                "Pass rows of several classes, or tags, or pairs",
            )
        if counts.max() <= 1 and row_weights is None and not self.relates(counts > 0):
            shared = "a class" if self.levels is None else "a class or a branch"
            warnings.warn(
                f"No two rows share {shared}, so no rows are similar. Were continuous values passed as "
                "labels?",
                KinhashWarning,
                stacklevel=4,
            )

    def relates(self, present: Bools) -> bool:
        """Whether classes of a mask (K,) share branches of a tree, or are similar by ``between``."""
        if self.levels is not None:
            return any(len(np.unique(nodes[present])) < present.sum() for nodes in self.levels.T)
        if self.between is None:
            return False
        return bool((np.triu(self.between[np.ix_(present, present)], 1) > 0).any())

    def of_rows(self, rows: Ints) -> ClassSupervision:
        """The supervision of some rows; classes that have none of them are left out."""
        kept = self._kept(rows)
        between = None if self.between is None else self.between[np.ix_(kept, kept)]
        levels = None if self.levels is None else self.levels[kept]
        return ClassSupervision(self._labels_of(rows, kept), between, levels)

    def _kept(self, rows: Ints) -> Ints:
        """Classes that some of the rows have, and classes that no row had before."""
        everywhere, here = (
            np.bincount(part[part >= 0], minlength=self.n_groups)
            for part in (self.group_of_row, self.group_of_row[rows])
        )
        return np.flatnonzero((here > 0) | (everywhere == 0))

    def _labels_of(self, rows: Ints, kept: Ints) -> Labels:
        return _among_classes(self.labels[rows], kept)


def _among_classes(labels: Labels, kept: Ints) -> Labels:
    """The labels counted among some of the classes, which must include those of all known rows."""
    assert labels.classes is not None
    place = np.full(len(labels.names) + 1, UNKNOWN, np.int64)  # the last is that of unknown rows
    place[kept] = np.arange(len(kept))
    return Labels(labels.names[kept], labels.known, classes=place[labels.classes])


class TagSupervision(LabelSupervision):
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
        return self._block(self.tag_sets, left, right)

    def _block(self, sets: sp.csr_array, left: Ints, right: Ints) -> Floats:
        shared = sets[left] @ sets[right].toarray().T
        sizes = np.diff(sets.indptr)
        return self._graded(shared, sizes[left][:, None], sizes[right])

    def _graded(self, shared: Floats, left_size: Ints, right_size: Ints) -> Floats:
        """Similarities of tag sets of these sizes that share ``shared`` tags."""
        if not self.graded:
            return np.where(shared > 0, 1.0, -1.0)
        union = left_size + right_size - shared
        # The mean of 2·[shared] − 1 and 2·Jaccard − 1.
        return np.where(shared > 0, shared / np.maximum(union, 1), -1.0).astype(np.float64)

    def pairwise(self, left: Ints, right: Ints) -> Floats:
        return self._pairs(self.tag_sets, left, right)

    def _pairs(self, sets: sp.csr_array, left: Ints, right: Ints) -> Floats:
        one, other = sets[left], sets[right]
        return self._graded(np.asarray((one * other).sum(axis=1)), np.diff(one.indptr), np.diff(other.indptr))

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        return blocked_product(self, left, right, values)

    def check(self, row_weights: Floats | None) -> None:
        super().check(row_weights)
        assert self.labels is not None
        counts, tagged = self.group_weights(row_weights), np.diff(self.tag_sets.indptr) > 0
        if not counts[tagged].any():
            raise InvalidInput(
                "No row has a tag, so no rows are similar",
                "tags on some rows",
                "Check the labels: a row with an empty set is similar to no other row",
            )
        everywhere = (self.tag_sets.T @ counts) >= counts.sum()
        if everywhere.any() and (not self.graded or np.count_nonzero(counts[tagged]) == 1):
            shared = self.labels.names.tolist()[everywhere.argmax()]
            raise InvalidInput(
                f"Every row carries tag {shared!r}, so all rows are similar",
                "tags that distinguish some rows",
                "Drop tags that all rows share",
            )

    def of_rows(self, rows: Ints) -> TagSupervision:
        """All tags are kept, as an indicator matrix keeps its columns."""
        assert self.labels is not None
        return TagSupervision(self.labels[rows], self.graded)


def _distinct_rows(tags: sp.csr_array, known: Bools) -> tuple[Ints, Ints]:
    """Group of each row, numbered by first appearance, and one row of each group.

    Rows are compared by the sum of random 64-bit numbers, one per tag; that equal sums mean equal rows is
    then checked, so chance decides nothing.
    """
    group = np.full(tags.shape[0], UNKNOWN, np.int64)
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


def check_kinship(kinship: Kinship) -> None:
    """Refuse what `from_labels` does not know."""
    if isinstance(kinship, str):
        if kinship not in KINSHIPS:
            raise UnknownName.among("kinship", kinship, KINSHIPS)
    elif not isinstance(kinship, Mapping):
        _kinship_matrix(kinship)


def _kinship_matrix(kinship: Kinship) -> Floats:
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


def _require_sorted_frame(kinship: npt.ArrayLike, labels: Labels) -> None:
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
