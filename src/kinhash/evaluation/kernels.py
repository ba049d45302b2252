"""The two loops that look at every pair of a query and a database row.

``tally`` counts pairs by distance and grade; ``walk`` follows one fixed order among ties. Both
take a *range* of queries and release the GIL, so the caller spreads ranges over its own threads:
no two threads write to the same row, and the result does not depend on their number.

A chunk of database rows is laid out word by word first, so that the inner loops run along
consecutive memory for any length of code and any number of tags, and LLVM makes vector code of
them. `kernels_reference` says the same in plain NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compile import njit
from .._popcount import popcount

__all__ = ["CHUNK", "GIVEN", "LANES", "SAME", "SHARED", "pack_tags", "tally", "walk"]

CHUNK = 2048  # rows whose keys stay in the nearest cache
LANES = 4  # counters side by side, because adding to the one just written has to wait

# How the grade of a pair is found.
SAME = 0  # 1 where the label words are equal (classes)
SHARED = 1  # number of tags both have; whether there is any, when the highest grade is 1
GIVEN = 2  # read from a matrix


@njit(cache=True, nogil=True)
def pack_tags(starts: Any, tags: Any, words: Any) -> None:
    """Set bit ``tag`` of row i in ``words`` (n, v) for every tag in ``tags[starts[i] : starts[i + 1]]``."""
    for i in range(len(words)):
        for k in range(starts[i], starts[i + 1]):
            words[i, tags[k] >> 6] |= np.uint64(1) << np.uint64(tags[k] & 63)


@njit(cache=True, nogil=True)
def _columns(rows: Any, first: int, count: int, out: Any) -> None:
    """Lay out ``rows[first : first + count]`` (count, w) word by word in ``out`` (w, count)."""
    for word in range(rows.shape[1]):
        column = out[word]
        for i in range(count):
            column[i] = rows[first + i, word]


@njit(cache=True, nogil=True)
def _keys(code: Any, codes: Any, label: Any, labels: Any, how: int, top_grade: int, keys: Any) -> None:
    """Key of every row of a chunk for one query: ``distance * (top_grade + 1) + grade``.

    With ``top_grade`` 1 the grade is the lowest bit. ``GIVEN`` grades are added by the caller, who
    knows the matrix.
    """
    count, step = len(keys), np.uint32(top_grade + 1)
    for word in range(len(code)):
        mine, column = code[word], codes[word, :count]
        if word == 0:
            for i in range(count):
                keys[i] = np.uint32(popcount(mine ^ column[i])) * step
        else:
            for i in range(count):
                keys[i] += np.uint32(popcount(mine ^ column[i])) * step
    if how == SAME:
        mine, column = label[0], labels[0, :count]
        for i in range(count):
            keys[i] |= np.uint32(mine == column[i])
    elif how == SHARED:
        waiting = -1  # words without a tag of the query say nothing; the others are taken in pairs
        for word in range(len(label)):
            if label[word] != np.uint64(0):
                if waiting >= 0:
                    _add_shared(label, labels, waiting, word, top_grade, keys)
                    waiting = -1
                else:
                    waiting = word
        if waiting >= 0:
            _add_shared(label, labels, waiting, -1, top_grade, keys)


@njit(cache=True, nogil=True)
def _add_shared(label: Any, labels: Any, first: int, second: int, top_grade: int, keys: Any) -> None:
    """Add the tags that one or two words share with those of the rows (whether any, for grade 1)."""
    count = len(keys)
    a, left = label[first], labels[first, :count]
    b = label[second] if second >= 0 else np.uint64(0)
    right = labels[second, :count] if second >= 0 else left
    if top_grade == 1:
        for i in range(count):
            keys[i] |= np.uint32(((a & left[i]) | (b & right[i])) != np.uint64(0))
    else:
        for i in range(count):
            keys[i] += np.uint32(popcount(a & left[i]) + popcount(b & right[i]))


@njit(cache=True, nogil=True)
def tally(
    query_codes: Any,
    codes: Any,
    query_labels: Any,
    labels: Any,
    grades: Any,
    first_column: int,
    how: int,
    top_grade: int,
    begin: int,
    end: int,
    counts: Any,
) -> None:
    """Add to ``counts`` (q, LANES, (d + 1) * (top_grade + 1)) the rows at every distance and grade.

    Queries ``begin <= i < end`` of ``query_codes`` (q, w) meet all ``codes`` (n, w); labels are
    words (q, v) and (n, v), or ``grades`` (q, columns) whose column ``first_column + j`` is row j.
    """
    code_columns = np.empty((codes.shape[1], CHUNK), np.uint64)
    label_columns = np.empty((labels.shape[1], CHUNK), np.uint64)
    buffer = np.empty(CHUNK, np.uint32)
    for first in range(0, len(codes), CHUNK):
        count = min(CHUNK, len(codes) - first)
        _columns(codes, first, count, code_columns)
        if how != GIVEN:
            _columns(labels, first, count, label_columns)
        keys = buffer[:count]
        for q in range(begin, end):
            _keys(query_codes[q], code_columns, query_labels[q], label_columns, how, top_grade, keys)
            if how == GIVEN:
                given = grades[q, first_column + first : first_column + first + count]
                for i in range(count):
                    keys[i] += min(np.uint32(given[i]), np.uint32(top_grade))
            mine = counts[q]
            even = count - count % LANES
            for i in range(0, even, LANES):
                mine[0, keys[i]] += 1
                mine[1, keys[i + 1]] += 1
                mine[2, keys[i + 2]] += 1
                mine[3, keys[i + 3]] += 1
            for i in range(even, count):
                mine[0, keys[i]] += 1


@njit(cache=True, nogil=True)
def walk(
    query_codes: Any,
    codes: Any,
    query_labels: Any,
    labels: Any,
    grades: Any,
    first_row: int,
    how: int,
    gains: Any,
    own: Any,
    top: int,
    begin: int,
    end: int,
    place: Any,
    found: Any,
    sums: Any,
) -> None:
    """Follow the order (distance, row) and add up what a metric needs, without sorting.

    ``place`` (q, d + 1) holds the next free place of the order at every distance and ``found``
    (q, d + 1) the kin in front of it; both are moved on. ``sums`` (q, 3) gathers, over the first
    ``top`` places, the precision at every kin, the number of kin, and ``gain / log2(1 + place)``.
    Rows are the next ``len(codes)`` of the database from ``first_row``; row ``own[q]`` is passed over.
    """
    top_grade = len(gains) - 1
    every_key = np.arange(place.shape[1] * len(gains))
    distance_of, grade_of = every_key // len(gains), every_key % len(gains)  # a look-up beats a division
    code_columns = np.empty((codes.shape[1], CHUNK), np.uint64)
    label_columns = np.empty((labels.shape[1], CHUNK), np.uint64)
    buffer = np.empty(CHUNK, np.uint32)
    for first in range(0, len(codes), CHUNK):
        count = min(CHUNK, len(codes) - first)
        _columns(codes, first, count, code_columns)
        if how != GIVEN:
            _columns(labels, first, count, label_columns)
        keys = buffer[:count]
        for q in range(begin, end):
            _keys(query_codes[q], code_columns, query_labels[q], label_columns, how, top_grade, keys)
            if how == GIVEN:
                given = grades[q, first_row + first : first_row + first + count]
                for i in range(count):
                    keys[i] += min(np.uint32(given[i]), np.uint32(top_grade))
            for i in range(count):
                if first_row + first + i == own[q]:
                    continue
                distance, grade = distance_of[keys[i]], grade_of[keys[i]]
                rank = place[q, distance]
                place[q, distance] = rank + 1
                if grade > 0:
                    found[q, distance] += 1
                    if rank < top:
                        sums[q, 0] += found[q, distance] / (rank + 1)
                        sums[q, 1] += 1
                        if gains[grade] != 0.0:
                            sums[q, 2] += gains[grade] / np.log2(rank + 2.0)
