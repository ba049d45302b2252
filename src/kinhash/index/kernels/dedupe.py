"""Every distinct code once: numbered in the order of first appearance, with the rows that have it.

Open addressing with linear probing; the table doubles when five eighths are full, so it stays as small as
the distinct codes allow, and few codes are found in the cache. The twins are in `numpy_reference`.
"""

from __future__ import annotations

import numpy as np

from ..._internal.compile import njit
from ..._internal.types import Numbers32, Words
from . import numpy_reference

__all__ = ["group_codes", "list_rows"]


@njit(cache=True, nogil=True)
def _stir(h: np.uint64) -> np.uint64:
    h ^= h >> np.uint64(32)
    h *= np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(29)
    return h


@njit(cache=True, nogil=True)
def _hash_row(words: Words, i: int) -> np.uint64:
    h = np.uint64(0)
    for w in range(words.shape[1]):
        h = _stir(h + words[i, w])
    return h


@njit(cache=True, nogil=True)
def _hash_code(blocks: Words, c: int) -> np.uint64:
    h = np.uint64(0)
    for w in range(blocks.shape[2]):
        h = _stir(h + blocks[c >> 6, (c >> 3) & 7, w, c & 7])
    return h


@njit(cache=True, nogil=True)
def _regrown(slots: Numbers32, blocks: Words, n_codes: int) -> Numbers32:
    slots = np.zeros(2 * slots.size, np.uint32)
    last = np.uint64(slots.size - 1)
    for c in range(n_codes):
        h = _hash_code(blocks, c) & last
        while slots[h] != 0:
            h = (h + np.uint64(1)) & last
        slots[h] = c + 1
    return slots


def _steps(words: Words, *_: object) -> int:
    """What sorting costs the twin, in numbers read."""
    return 20 * words.size


@njit(cache=True, nogil=True, twin=numpy_reference.group_codes, steps=_steps)
def group_codes(words: Words, blocks: Words, code_of_row: Numbers32) -> np.int64:
    """Write the distinct rows of ``words`` (n, W) to ``blocks`` and the number of each row's code beside it.

    Codes are numbered as they first appear. ``blocks`` must have room for n codes; its unused places are
    left as they are. Returns how many distinct codes there are. Working memory: at most 20 bytes per
    distinct code.
    """
    slots = np.zeros(1 << 12, np.uint32)
    last = np.uint64(slots.size - 1)
    n_codes = np.int64(0)
    for i in range(words.shape[0]):
        h = _hash_row(words, i) & last
        while True:
            c = np.int64(slots[h]) - 1
            if c < 0:
                c = n_codes
                n_codes += 1
                slots[h] = n_codes
                for w in range(words.shape[1]):
                    blocks[c >> 6, (c >> 3) & 7, w, c & 7] = words[i, w]
                break
            same = True
            for w in range(words.shape[1]):
                same &= blocks[c >> 6, (c >> 3) & 7, w, c & 7] == words[i, w]
            if same:
                break
            h = (h + np.uint64(1)) & last
        code_of_row[i] = c
        if 8 * n_codes > 5 * slots.size:
            slots = _regrown(slots, blocks, n_codes)
            last = np.uint64(slots.size - 1)
    return n_codes


@njit(cache=True, nogil=True, twin=numpy_reference.list_rows)
def list_rows(code_of_row: Numbers32, n_codes: int, starts: Numbers32, rows: Numbers32) -> None:
    """Posting lists: ``rows[starts[c]:starts[c + 1]]`` are the rows with code ``c``, ascending."""
    starts[:] = 0
    for i in range(code_of_row.size):
        starts[code_of_row[i] + 1] += 1
    for c in range(n_codes):
        starts[c + 1] += starts[c]
    free = starts[:n_codes].copy()
    for i in range(code_of_row.size):
        c = code_of_row[i]
        rows[free[c]] = i
        free[c] += 1
