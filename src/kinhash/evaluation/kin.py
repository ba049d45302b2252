"""Who is kin to whom, in the form the kernels read.

Labels become 64-bit words: the class itself, or one bit per tag. What has no such form (a matrix,
a callback, tags from a very large vocabulary) becomes blocks of grades, a few queries at a time.
A *grade* is 0 for strangers and counts upwards: 1 for kin, or the number of shared tags.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._blocks import block_slices
from ..errors import InvalidInput
from ..labels import Labels
from .kernels import GIVEN, SAME, SHARED, pack_tags

__all__ = [
    "MAX_GRADE",
    "GradeBlocks",
    "Kin",
    "LabelWords",
    "kin_from_labels",
    "kin_from_relevance",
    "writable",
]

MAX_TAG_WORDS = 16  # beyond 1,024 tags a sparse product beats looking at every word
MAX_GRADE = 255
WORD_ROWS = 1 << 16  # database rows whose words are compared at once outside the kernels

Grades = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelWords:
    """Kinship read off label words: equal classes, or tags in common."""

    how: int
    query_words: Words
    labels: Labels  # of the database; turned into words block by block
    top_grade: int

    def words(self, rows: slice) -> Words:
        """Label words (rows, v) of a block of the database."""
        return label_words(self.labels[rows])

    def grades(self, queries: slice) -> Grades:
        """Grades (queries, n) as a matrix, for metrics that have no codes to count by."""
        mine = self.query_words[queries]
        out = np.zeros((len(mine), len(self.labels)), np.uint8)
        for rows in block_slices(len(self.labels), WORD_ROWS):
            theirs = self.words(rows)
            for i, words in enumerate(mine):
                if self.how == SAME:
                    out[i, rows] = (words == theirs)[:, 0]
                else:
                    shared = np.bitwise_count(words & theirs).sum(axis=1)
                    out[i, rows] = np.minimum(shared, MAX_GRADE)
        return out

    def own_grades(self, queries: Rows, rows: Rows) -> npt.NDArray[np.int64]:
        """Grade of each of these queries with one database row of its own."""
        mine, theirs = self.query_words[queries], label_words(self.labels[rows])
        if self.how == SAME:
            return np.asarray((mine == theirs).all(axis=1), np.int64)
        return np.asarray(np.bitwise_count(mine & theirs).sum(axis=1), np.int64)


@dataclass(frozen=True, eq=False)
class GradeBlocks:
    """Kinship computed for a block of queries at a time: ``grades(queries)`` is (queries, n)."""

    grades: Callable[[slice], Grades]

    how: int = GIVEN


Kin = LabelWords | GradeBlocks


def writable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
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
    pack_tags(tags.indptr.astype(np.int64), tags.indices.astype(np.int64), words)
    return words


def kin_from_labels(queries: Labels, database: Labels) -> Kin:
    """Same class, or at least one shared tag; graded by the number of shared tags."""
    queries, database = queries.aligned(database)
    if queries.classes is not None:
        return LabelWords(SAME, label_words(queries), database, top_grade=1)
    if len(queries.names) > 64 * MAX_TAG_WORDS:
        return _from_products(queries, database)
    top = min(_most_tags(queries), _most_tags(database))
    return LabelWords(SHARED, label_words(queries), database, top_grade=max(1, top))


def _most_tags(labels: Labels) -> int:
    assert labels.tags is not None
    starts = labels.tags.indptr
    blocks = block_slices(len(labels), WORD_ROWS)
    return max((int(np.diff(starts[rows.start : rows.stop + 1]).max()) for rows in blocks), default=0)


def _from_products(queries: Labels, database: Labels) -> GradeBlocks:
    assert queries.tags is not None
    assert database.tags is not None
    left = queries.tags.astype(np.int32)
    right = database.tags.astype(np.int32).T.tocsr()

    def grades(rows: slice) -> Grades:
        return np.asarray(np.minimum((left[rows] @ right).toarray(), MAX_GRADE), np.uint8)

    return GradeBlocks(grades)


def kin_from_relevance(relevance: Any, n_queries: int, n_database: int) -> GradeBlocks:
    """A matrix (queries, database), dense or sparse, or a callback that gives blocks of one."""
    if callable(relevance):

        def read(rows: slice) -> Any:
            return relevance(np.arange(rows.start, rows.stop))

    else:
        matrix = sp.csr_array(relevance) if sp.issparse(relevance) else np.asarray(relevance)
        if matrix.ndim != 2 or matrix.shape != (n_queries, n_database):
            raise InvalidInput(
                f"Without database labels, an array of shape {matrix.shape} came as relevance",
                f"a matrix ({n_queries}, {n_database}) of grades, or a function that gives its rows",
                "Pass the labels of both sides, or a relevance of that shape",
            )

        def read(rows: slice) -> Any:
            return matrix[rows]

    def grades(rows: slice) -> Grades:
        return _as_grades(read(rows), (rows.stop - rows.start, n_database))

    return GradeBlocks(grades)


def _as_grades(block: Any, shape: tuple[int, int]) -> Grades:
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
            f"The relevance (dtype {array.dtype}) holds something that is no grade",
            f"0 for strangers, 1 for kin, or whole grades up to {MAX_GRADE}",
            "Round or threshold the relevance first",
        )
    return writable(array.astype(np.uint8))
