"""Rows that pass a filter, in the form that scans take: a bit for each code, and what a code's list holds.

A distinct code counts if any of its rows passes. The twins are in `numpy_reference`.
"""

from __future__ import annotations

import numpy as np

from ..._internal.compile import njit
from ..._internal.types import Bools, Numbers32, Words

__all__ = ["count_passing", "first_passing", "mark_rows", "passing_codes"]

ONE = np.uint64(1)
NO_ROW = np.int64(1) << np.int64(62)


@njit(cache=True, nogil=True)
def mark_rows(mask: Bools, rows: Numbers32) -> None:
    """``mask[rows] = True``."""
    for j in range(rows.size):
        mask[rows[j]] = True


@njit(cache=True, nogil=True)
def passing_codes(mask: Bools, starts: Numbers32, rows: Numbers32, bits: Words) -> None:
    """Set bit ``c % 64`` of word ``c // 64`` where a row of code ``c`` passes; ``bits`` come as zeros."""
    for c in range(starts.size - 1):
        for p in range(starts[c], starts[c + 1]):
            if mask[rows[p]]:
                bits[c >> 6] |= ONE << np.uint64(c & 63)
                break


@njit(cache=True, nogil=True)
def count_passing(mask: Bools, starts: Numbers32, rows: Numbers32, code: int, most: int) -> np.int64:
    """How many rows of a code pass, counted up to ``most``."""
    count = np.int64(0)
    for p in range(np.int64(starts[code]), np.int64(starts[code + 1])):
        if mask[rows[p]]:
            count += 1
            if count == most:
                break
    return count


@njit(cache=True, nogil=True)
def first_passing(mask: Bools, starts: Numbers32, rows: Numbers32, code: int) -> np.int64:
    """The first row of a code that passes."""
    for p in range(np.int64(starts[code]), np.int64(starts[code + 1])):
        if mask[rows[p]]:
            return np.int64(rows[p])
    return NO_ROW
