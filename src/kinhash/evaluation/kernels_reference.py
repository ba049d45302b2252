"""The kernels of `kernels` in plain NumPy: slow, obvious, and the truth in the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .kernels import GIVEN, SAME

__all__ = ["pack_tags", "tally", "walk"]


def pack_tags(starts: Any, tags: Any, words: Any) -> None:
    """Set bit ``tag`` of row i in ``words`` (n, v) for every tag in ``tags[starts[i] : starts[i + 1]]``."""
    rows = np.repeat(np.arange(len(words)), np.diff(starts))
    np.bitwise_or.at(words, (rows, tags >> 6), np.uint64(1) << (tags & 63).astype(np.uint64))


def _distances_and_grades(
    code: Any, codes: Any, label: Any, labels: Any, given: Any, how: int, top_grade: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    distances = np.bitwise_count(code ^ codes).sum(axis=1, dtype=np.int64)
    if how == GIVEN:
        grades = given.astype(np.int64)
    elif how == SAME:
        grades = (label == labels).all(axis=1).astype(np.int64)
    else:
        grades = np.bitwise_count(label & labels).sum(axis=1, dtype=np.int64)
    return distances, np.minimum(grades, top_grade)


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
    """Count rows by distance and grade; everything goes to the first lane."""
    for q in range(begin, end):
        given = grades[q, first_column : first_column + len(codes)] if how == GIVEN else None
        distance, grade = _distances_and_grades(
            query_codes[q], codes, query_labels[q], labels, given, how, top_grade
        )
        np.add.at(counts[q, 0], distance * (top_grade + 1) + grade, 1)


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
    """Follow the order (distance, row), one row at a time."""
    for q in range(begin, end):
        given = grades[q, first_row : first_row + len(codes)] if how == GIVEN else None
        distances, all_grades = _distances_and_grades(
            query_codes[q], codes, query_labels[q], labels, given, how, len(gains) - 1
        )
        for row, (distance, grade) in enumerate(zip(distances, all_grades, strict=True)):
            if first_row + row == own[q]:
                continue
            place[q, distance] += 1
            found[q, distance] += grade > 0
            rank = place[q, distance]
            if grade > 0 and rank <= top:
                sums[q] += [found[q, distance] / rank, 1, gains[grade] / np.log2(1 + rank)]
