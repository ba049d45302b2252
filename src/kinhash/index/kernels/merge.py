"""Rows of several codes at one distance, merged into ascending order.

The rows of one code are ascending already, so codes are sorted runs: neighbors are merged pair by pair,
``log2(runs)`` passes, without a general sort.
"""

from __future__ import annotations

import numpy as np

from ..._internal.compile import njit
from ..._internal.types import Array, Bools, Ints, Numbers32

__all__ = ["merge_level", "merge_levels"]


@njit(cache=True, nogil=True)
def _merge_pairs(source: Ints, target: Ints, ends: Ints, n_runs: int) -> int:
    """Merge runs 0 and 1, 2 and 3, ... into ``target``; updates ``ends``, returns how many are left."""
    begin, out = 0, 0
    for pair in range(0, n_runs, 2):
        middle = ends[pair]
        end = ends[pair + 1] if pair + 1 < n_runs else middle
        left, right = begin, middle
        while left < middle and right < end:
            if source[left] < source[right]:
                target[out] = source[left]
                left += 1
            else:
                target[out] = source[right]
                right += 1
            out += 1
        while left < middle:
            target[out] = source[left]
            left += 1
            out += 1
        while right < end:
            target[out] = source[right]
            right += 1
            out += 1
        ends[pair // 2] = end
        begin = end
    return (n_runs + 1) // 2


@njit(cache=True, nogil=True)
def _merge_all(buffer: Ints, spare: Ints, ends: Ints, n_runs: int) -> None:
    """Turn the runs in ``buffer`` into a single one, in ``buffer``."""
    while n_runs > 1:
        n_runs = _merge_pairs(buffer, spare, ends, n_runs)
        for j in range(ends[n_runs - 1]):  # a loop: slice assignment costs seconds of compilation
            buffer[j] = spare[j]


@njit(cache=True, nogil=True)
def _take(rows: Numbers32, begin: int, end: int, mask: Bools | None, out: Ints) -> int:
    """Write the rows of one code that pass, as many as there is room for; returns how many."""
    count = 0
    for p in range(begin, end):
        if count == out.size:
            break
        if mask is not None and not mask[rows[p]]:
            continue
        out[count] = rows[p]
        count += 1
    return count


@njit(cache=True, nogil=True)
def merge_level(
    codes: Ints, first: int, last: int, starts: Numbers32, rows: Numbers32, ranks: Ints, filled: int,
    mask: Bools | None,
) -> int:  # fmt: skip
    """Append the rows of ``codes[first:last]`` to ``ranks[:filled]`` in ascending order, until it is full.

    Only rows of the mask, unless it is None; where every code has one row, the codes are of such rows. The
    codes come in the order of their smallest row, passing or not, so gathering stops at the first code whose
    rows all come too late. Returns the new fill. Working memory: 48 bytes per place left in ``ranks``.
    """
    need = ranks.size - filled
    if starts.size == 0:  # one row per code, its own number
        count = min(need, last - first)
        for j in range(count):
            ranks[filled + j] = codes[first + j]
        return filled + count
    if last - first == 1:
        begin = np.int64(starts[codes[first]])
        return filled + _take(rows, begin, np.int64(starts[codes[first] + 1]), mask, ranks[filled:])
    buffer = np.empty(3 * need, np.int64)
    spare = np.empty(3 * need, np.int64)
    ends = np.empty(last - first + 1, np.int64)
    held, n_runs, latest = np.int64(0), np.int64(0), np.int64(-1)  # a bare 0 is a type of its own to numba
    for c in range(first, last):
        begin = np.int64(starts[codes[c]])
        if latest >= 0 and np.int64(rows[begin]) > latest:
            break
        held += _take(rows, begin, np.int64(starts[codes[c] + 1]), mask, buffer[held : held + need])
        ends[n_runs] = held
        n_runs += 1
        if held > 2 * need:
            _merge_all(buffer, spare, ends, n_runs)
            held, n_runs, ends[0], latest = np.int64(need), np.int64(1), need, buffer[need - 1]
    _merge_all(buffer, spare, ends, n_runs)
    count = min(need, int(held))
    for j in range(count):
        ranks[filled + j] = buffer[j]
    return filled + count


@njit(cache=True, nogil=True)
def merge_levels(
    near: Array, codes: Ints, starts: Numbers32, rows: Numbers32, distances: Array, ranks: Ints
) -> None:
    """Fill ``ranks`` with the rows of codes in the order of their distances ``near``, which ascend."""
    filled = first = np.int64(0)
    while filled < ranks.size:
        last = first + 1
        while last < codes.size and near[last] == near[first]:
            last += 1
        after = merge_level(codes, first, last, starts, rows, ranks, filled, None)
        for at in range(filled, after):
            distances[at] = near[first]
        filled, first = after, last
