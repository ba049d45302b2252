"""The loop that looks at every pair of a query and a database row: ten times as fast as one row at a time.

It takes a *range* of queries and releases the GIL, so the caller spreads ranges over its own threads:
no two threads write to the same row, and the result does not depend on their number. Codes and labels of the
database come word by word, so that the inner loops run along consecutive memory for any length of code and
any number of tags, and LLVM makes vector code of them.
"""

from __future__ import annotations

import numpy as np

from .._internal.compile import njit
from .._internal.popcount import popcount
from .._internal.types import Array

__all__ = ["GIVEN", "LANES", "SAME", "SHARED", "tally"]

CHUNK = 2048  # rows whose keys stay in the nearest cache
LANES = 4  # counters side by side, because adding to the one just written has to wait

# How the grade of a pair is found.
SAME = 0  # 1 where the label words are equal (classes)
SHARED = 1  # number of tags both have; whether there is any, when the highest grade is 1
GIVEN = 2  # read from a matrix


@njit(cache=True, nogil=True)
def tally(
    query_codes: Array,
    codes: Array,
    query_labels: Array,
    labels: Array,
    grades: Array,
    first_column: int,
    how: int,
    top_grade: int,
    begin: int,
    end: int,
    counts: Array,
) -> None:
    """Add to ``counts`` (q, LANES, (d + 1) * (top_grade + 1)) the rows at every distance and grade.

    Queries ``begin <= i < end`` of ``query_codes`` (q, w) meet all ``codes`` (w, n); labels are
    words (q, v) and (v, n), or ``grades`` (q, columns) whose column ``first_column + j`` is row j.
    """
    buffer, step = np.empty(CHUNK, np.uint32), np.uint32(top_grade + 1)
    n = codes.shape[1]
    for first in range(0, n, CHUNK):
        count = min(CHUNK, n - first)
        keys = buffer[:count]  # distance * (top_grade + 1) + grade
        for q in range(begin, end):
            keys[:] = 0
            for word in range(len(codes)):
                mine, column = query_codes[q, word], codes[word, first : first + count]
                for i in range(count):
                    keys[i] += np.uint32(popcount(mine ^ column[i])) * step
            if how == SAME:
                mine, column = query_labels[q, 0], labels[0, first : first + count]
                for i in range(count):
                    keys[i] |= np.uint32(mine == column[i])
            elif how == SHARED:
                for word in range(len(labels)):
                    _add_shared(query_labels[q, word], labels[word, first : first + count], top_grade, keys)
            else:
                given = grades[q, first_column + first : first_column + first + count]
                for i in range(count):
                    keys[i] += min(np.uint32(given[i]), np.uint32(top_grade))
            mine_counts, even = counts[q], count - count % LANES
            for i in range(0, even, LANES):
                for lane in range(LANES):
                    mine_counts[lane, keys[i + lane]] += 1
            for i in range(even, count):
                mine_counts[0, keys[i]] += 1


@njit(cache=True, nogil=True)
def _add_shared(mine: np.uint64, column: Array, top_grade: int, keys: Array) -> None:
    """Add the tags of one word that the rows share, or whether there is any, for grade 1."""
    if mine == np.uint64(0):  # a word without a tag of the query says nothing
        return
    if top_grade == 1:
        for i in range(len(keys)):
            keys[i] |= np.uint32((mine & column[i]) != np.uint64(0))
    else:
        for i in range(len(keys)):
            keys[i] += np.uint32(popcount(mine & column[i]))
