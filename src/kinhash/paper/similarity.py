"""The matrix S of the paper: how similar two rows should be, whatever the user handed in.

``S`` of two rows lies in [−1, 1]: +1 for the same kind, −1 for nothing in common, 0 for unknown, and grades
in between. It is never formed for all pairs. Rows with the same supervision have the same row of ``S``, so
everything happens between *groups* of such rows:

* classes: ``S = 2·[same class] − 1``, a group per class;
* tags: ``S = 2·[a tag in common] − 1``, a group per distinct set of tags;
* listed pairs: a group per row that is in a pair; what is absent is unknown;
* a dense matrix: a group per row.

Memory: the groups and what they were built from, O(rows + tags); blocks are as large as asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .. import base
from .._internal.blocks import block_slices
from .._internal.types import Array, Floats, Ints, LabelsLike, Matrix, Numbers, Rng
from ..errors import InvalidInput, warn
from ..labels import Labels, read_labels
from ..pairs import read_pairs, read_similarity

UNKNOWN = -1  # the group of rows nothing is known about


class Supervision(ABC):
    """Rows in groups of equal supervision, and the similarity between groups.

    ``group_of_row`` (n,) is −1 for rows nothing is known about; ``complete`` says that every pair
    of known rows has a verdict; ``anchors`` are the rows the user fixed as anchors, if any.
    """

    group_of_row: Ints
    n_groups: int
    complete: bool = True
    every_group_counts: bool = False  # all groups are sampled, however many there are
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

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        """``similarity(left, right) @ values`` in blocks: peak memory about 32 MB beyond the result."""
        out = np.empty((len(left), values.shape[1]))
        for rows in block_slices(len(left), max(1, 4_000_000 // max(1, len(right)))):
            out[rows] = self.similarity(left[rows], right) @ values
        return out

    def check(self, row_weights: Floats | None) -> None:
        """Refuse supervision from which nothing can be learned."""
        if self.n_rows < 2:
            raise InvalidInput(
                f"There is only one sample (n_samples={self.n_rows})",
                "at least two rows, of which some are similar",
                "Pass more rows",
            )
        if self.labels is not None and not self.labels.known.any():
            raise InvalidInput(
                f"All {self.n_rows:,} labels are missing (None, NaN or empty text)",
                "a label on some rows",
                "Pass labels, or use codes that need none, such as ITQ",
            )

    def group_weights(self, row_weights: Floats | None = None) -> Floats:
        """Rows per group, or the sum of their weights."""
        known = self.group_of_row >= 0
        weights = None if row_weights is None else row_weights[known]
        return np.bincount(self.group_of_row[known], weights, self.n_groups).astype(np.float64)


class ClassSupervision(Supervision):
    """Groups are the classes."""

    every_group_counts = True

    def __init__(self, labels: Labels) -> None:
        assert labels.classes is not None
        self.labels = labels
        self.group_of_row = labels.classes
        self.n_groups = len(labels.names)

    def similarity(self, left: Ints, right: Ints) -> Floats:
        return np.where(left[:, None] == right[None, :], 1.0, -1.0)

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        # Twice the sum over the own class, less the sum over all classes.
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
        if counts.max() <= 1 and row_weights is None:
            warn(
                "No two rows share a class, so no rows are similar. Were continuous values passed as labels?"
            )


class TagSupervision(Supervision):
    """Groups are the distinct tag sets. The empty set is similar to none, not even to itself."""

    def __init__(self, labels: Labels) -> None:
        assert labels.tags is not None
        self.labels = labels
        self.group_of_row = np.full(len(labels), UNKNOWN, np.int64)
        tags, place, first = labels.tags, dict[bytes, int](), list[int]()
        for row in np.flatnonzero(labels.known).tolist():
            own = tags.indices[tags.indptr[row] : tags.indptr[row + 1]].tobytes()
            if own not in place:
                place[own] = len(first)
                first.append(row)
            self.group_of_row[row] = place[own]
        self.n_groups = len(first)
        self.tag_sets = sp.csr_array(tags[first], dtype=np.float32)

    def similarity(self, left: Ints, right: Ints) -> Floats:
        shared = self.tag_sets[left] @ self.tag_sets[right].toarray().T
        return np.where(shared > 0, 1.0, -1.0)

    def check(self, row_weights: Floats | None) -> None:
        super().check(row_weights)
        counts, tagged = self.group_weights(row_weights), np.diff(self.tag_sets.indptr) > 0
        if not counts[tagged].any():
            raise InvalidInput(
                "No row has a tag, so no rows are similar",
                "tags on some rows",
                "Check the labels: a row with an empty set is similar to no other row",
            )
        everywhere = (self.tag_sets.T @ counts) >= counts.sum()
        if everywhere.any():
            assert self.labels is not None
            raise InvalidInput(
                f"Every row carries tag {self.labels.names.tolist()[everywhere.argmax()]!r}, so all rows are "
                "similar",
                "tags that distinguish some rows",
                "Drop tags that all rows share",
            )


class PairSupervision(Supervision):
    """Listed pairs alone, each once with ``left < right``; what is absent is unknown.

    Every row is its own group; rows without a listed pair are unknown. Memory: the pairs, three times.
    """

    complete = False

    def __init__(self, left: Ints, right: Ints, similarity: Floats, n_rows: int) -> None:
        self.left, self.right, self.verdicts = left, right, similarity
        self.rows = np.unique(np.concatenate([left, right]))
        self.n_groups = len(self.rows)
        self.group_of_row = np.full(n_rows, UNKNOWN, np.int64)
        self.group_of_row[self.rows] = np.arange(self.n_groups)

    @cached_property
    def listed(self) -> sp.csr_array:
        """S (n, n) in both directions, sparse."""
        rows = np.concatenate([self.left, self.right])
        columns = np.concatenate([self.right, self.left])
        shape = (self.n_rows, self.n_rows)
        matrix = sp.csr_array((np.tile(self.verdicts, 2), (rows, columns)), shape=shape)
        matrix.sort_indices()
        return matrix

    def among_groups(self) -> sp.csr_array:
        """S between the rows that have a listed pair, sparse."""
        block = sp.csr_array(self.listed[self.rows][:, self.rows])
        block.sort_indices()
        return block

    def similarity(self, left: Ints, right: Ints) -> Floats:
        return self.listed[self.rows[left]][:, self.rows[right]].toarray().astype(np.float64)

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        return self.listed[self.rows[left]][:, self.rows[right]] @ values


class MatrixSupervision(Supervision):
    """A dense matrix with a verdict for every pair: ``matrix`` (n, m), columns = ``anchors``.

    Every row is its own group, since no two rows need have the same similarities; only groups that are
    anchors may be asked for as columns.
    """

    def __init__(self, matrix: Array, anchors: Ints | None) -> None:
        self.matrix = matrix
        self.anchors = anchors
        self.n_groups = matrix.shape[0]
        self.group_of_row = np.arange(self.n_groups)
        self._column = np.full(self.n_groups, UNKNOWN, np.int64)
        self._column[self.group_of_row if anchors is None else anchors] = np.arange(matrix.shape[1])

    def similarity(self, left: Ints, right: Ints) -> Floats:
        block: Floats = self.matrix[np.ix_(left, self._column[right])].astype(np.float64)
        block[left[:, None] == right] = 1.0  # what the diagonal says is ignored: a row is like itself
        return block


class NoSupervision(Supervision):
    """Supervision of an unsupervised method: all rows in one group, every similarity unknown."""

    complete = False

    def __init__(self, n_rows: int) -> None:
        self.group_of_row = np.zeros(n_rows, np.int64)
        self.n_groups = 1

    def similarity(self, left: Ints, right: Ints) -> Floats:
        return np.zeros((len(left), len(right)))

    def check(self, row_weights: Floats | None) -> None:
        """Nothing is needed."""


class Training(base.Training):
    """The checked input of one fit, whose supervision is a `Supervision`."""

    supervision: Supervision

    @property
    def known_weights(self) -> Floats | None:
        """Row weights with zero for rows nothing is known about; None where every row counts once."""
        known = self.supervision.group_of_row >= 0
        if known.all():
            return self.weights
        return known.astype(np.float64) if self.weights is None else self.weights * known

    @property
    def known_rows(self) -> Ints:
        """Numbers of the rows with supervision and weight, in order."""
        weights = self.known_weights
        return np.arange(len(self.rows)) if weights is None else np.flatnonzero(weights > 0)


# -- from what the user handed in --------------------------------------------------------------


def from_labels(y: LabelsLike, n_rows: int | None = None) -> ClassSupervision | TagSupervision:
    """Supervision from classes, an indicator matrix or tag sets: similar rows share a class or a tag."""
    labels = read_labels(y, n_rows)
    return TagSupervision(labels) if labels.is_tags else ClassSupervision(labels)


def from_pairs(left: Numbers, right: Numbers, same: Numbers, n_rows: int) -> PairSupervision:
    """Supervision from pairs of row numbers and their verdicts: booleans, +1 and −1, or grades in [−1, 1]."""
    return PairSupervision(*read_pairs(left, right, same, n_rows)[:3], n_rows)


def from_similarity(
    S: Matrix, anchors: Numbers | None, n_rows: int, rng: Rng
) -> PairSupervision | MatrixSupervision:
    """Supervision from S in [−1, 1], n × n or n × m with the rows its columns stand for; 0 means unknown."""
    pairs = read_similarity(S, anchors, n_rows, rng)
    if not sp.issparse(S):
        matrix = np.asarray(S)
        columns = None if anchors is None else np.asarray(anchors, np.int64)
        rows = np.arange(n_rows) if columns is None else columns
        unknown = np.count_nonzero(matrix == 0) - np.count_nonzero(matrix[rows, np.arange(len(rows))] == 0)
        if not unknown:
            return MatrixSupervision(matrix, columns)
    return PairSupervision(*pairs, n_rows)
