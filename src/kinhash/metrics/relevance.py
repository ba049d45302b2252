"""Which rows are relevant to which, in the form the kernels read.

Labels become 64-bit words: the class itself, or one bit per tag. What has no such form (a matrix,
a callback, tags from a very large vocabulary) becomes blocks of grades, a few queries at a time.
A *grade* is 0 for strangers and counts upwards: 1 for kin, or the number of shared tags.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._internal.blocks import block_slices
from .._internal.types import Array, Ints, LabelsLike, Matrix
from ..errors import InvalidInput
from ..supervision import Labels
from .kernels import GIVEN, SAME, SHARED

__all__ = [
    "MAX_GRADE",
    "Kin",
    "Words",
    "kin_from_labels",
    "kin_from_relevance",
    "writable",
]

MAX_TAG_WORDS = 16  # beyond 1,024 tags a sparse product beats looking at every word
MAX_GRADE = 255
ASSUMED_GRADES = 16  # of a relevance, when memory is planned
WORD_ROWS = 1 << 16  # database rows whose words are compared at once outside the kernels

Grades = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Kin:
    """Which rows are relevant to which: by labels of both sides, or by a function that returns grades.

    ``how`` tells the kernel: equal classes, tags in common, or grades that are given.
    """

    how: int
    top_grade: int
    labels: tuple[Labels, Labels] | None = None
    given: Callable[[slice], Grades] | None = None

    def words(self, rows: slice, side: int = 1) -> Words:
        """Label words (rows, v) of some database rows, or queries (side 0); none where grades are given."""
        if self.how == GIVEN or self.labels is None:
            return np.empty((rows.stop - rows.start, 0), np.uint64)
        return label_words(self.labels[side][rows])

    def grades(self, queries: slice) -> Grades:
        """Grades (queries, n) as a matrix."""
        if self.given is not None:
            return self.given(queries)
        left, right = self._indicators
        return np.asarray(np.minimum((left[queries] @ right).toarray(), MAX_GRADE), np.uint8)

    def own_grades(self, queries: Ints, rows: Ints) -> Ints:
        """Grade of each of these queries with one database row of its own, by labels."""
        assert self.labels is not None
        mine, theirs = self.labels[0][queries].indicator(), self.labels[1][rows].indicator()
        return np.asarray(mine.multiply(theirs).sum(axis=1), np.int64).ravel()

    @cached_property
    def _indicators(self) -> tuple[sp.csr_array, sp.csr_array]:
        assert self.labels is not None
        left, right = (side.indicator().astype(np.int32) for side in self.labels)
        return left, right.T.tocsr()


def writable(array: Array) -> Array:
    """The array, copied where it is read-only: Numba would compile the kernels a second time for it."""
    return np.require(array, requirements=["C", "W"])


def label_words(labels: Labels) -> Words:
    """Classes as one word each, tags as one bit each: (n, v) uint64."""
    if labels.classes is not None:
        return writable(labels.classes).view(np.uint64)[:, None]
    tags = labels.tags
    assert tags is not None
    width = max(1, -(-len(labels.names) // 64))
    words = np.zeros((len(labels), width), np.uint64)
    rows, bits = np.repeat(np.arange(len(words)), np.diff(tags.indptr)), tags.indices.astype(np.uint64)
    np.bitwise_or.at(words, (rows, tags.indices >> 6), np.uint64(1) << (bits & np.uint64(63)))
    return words


def kin_from_labels(queries: Labels, database: Labels) -> Kin:
    """Same class, or at least one shared tag; graded by the number of shared tags."""
    both = queries.aligned(database)
    if not queries.is_tags:
        return Kin(SAME, 1, both)
    how = SHARED if len(both[0].names) <= 64 * MAX_TAG_WORDS else GIVEN
    return Kin(how, max(1, min(map(_most_tags, both))), both)


def _most_tags(labels: Labels) -> int:
    assert labels.tags is not None
    starts = labels.tags.indptr
    blocks = block_slices(len(labels), WORD_ROWS)
    return max((int(np.diff(starts[rows.start : rows.stop + 1]).max()) for rows in blocks), default=0)


def kin_from_relevance(relevance: LabelsLike, n_queries: int, n_database: int) -> Kin:
    """A matrix (queries, database), dense or sparse, or a callback that gives blocks of one."""
    if callable(relevance):

        def read(rows: slice) -> Matrix:
            return relevance(np.arange(rows.start, rows.stop))

    else:
        matrix = sp.csr_array(relevance) if sp.issparse(relevance) else np.asarray(relevance)
        if matrix.ndim != 2 or matrix.shape != (n_queries, n_database):
            raise InvalidInput(
                f"Without database labels, an array of shape {matrix.shape} came as relevance",
                f"a matrix ({n_queries}, {n_database}) of grades, or a function that gives its rows",
                "Pass the labels of both sides, or a relevance of that shape",
            )

        def read(rows: slice) -> Matrix:
            return matrix[rows]

    def grades(rows: slice) -> Grades:
        return _as_grades(read(rows), (rows.stop - rows.start, n_database))

    return Kin(GIVEN, ASSUMED_GRADES, given=grades)


def _as_grades(block: Matrix, shape: tuple[int, int]) -> Grades:
    array = block.toarray() if sp.issparse(block) else np.asarray(block)
    if array.shape != shape:
        raise InvalidInput(
            f"The relevance function gave a block of shape {array.shape}",
            f"one row per query position and one column per database row: {shape}",
            "Return relevance[query_rows]",
        )
    if array.dtype == bool:
        return writable(array).view(np.uint8)
    if (
        array.dtype.kind not in "iuf"
        or not ((array >= 0) & (array <= MAX_GRADE) & (array == np.floor(array))).all()
    ):
        raise InvalidInput(
            f"The relevance (dtype {array.dtype}) holds values that are not grades",
            f"0 for dissimilar, 1 for similar, or whole grades up to {MAX_GRADE}",
            "Round or threshold the relevance first",
        )
    return writable(array.astype(np.uint8))
