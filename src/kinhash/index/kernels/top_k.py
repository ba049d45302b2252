"""The k nearest rows of every query: one pass over the distinct codes, selection by counting.

The scan keeps, per query, a shrinking limit ``T``: the smallest distance such that the codes met so far
hold k rows within it. Distances are small integers, so ``T`` follows from two counters per
distance, rows and codes, and no heap is needed. Codes are numbered in the order of their smallest
row, hence a later code at distance ``T`` cannot matter once k codes lie within ``T``: each of those
has a row that comes first. For distinct codes that leaves "nearer than ``T``", the usual test.

Few groups of 64 codes pass the test (some 450 of 15,625 for a million random codes and k = 100), so
what happens to a candidate hardly counts, and the scan runs at the speed of the memory.

Codes with fields go through the same scan, with ``planes`` and ``least`` of `bit_weights`; with ``planes``
None the compiler leaves the weighing out.

A filter comes as ``passing``, a bit for each code that may have a row that passes, and ``mask``, which rows
pass: both are None without one. Where codes repeat, the first row of a code that passes need not be its
smallest. So only codes whose smallest row passes (they *lead*) count towards the ``k`` codes above, and of
the codes at ``T`` the list keeps those whose first passing rows come first.

The twin of `top_k` is in `numpy_reference`.
"""

from __future__ import annotations

import numpy as np

from ..._internal.compile import njit
from ..._internal.types import Bools, Distances, Ints, Numbers32, Words
from ...codes import MAX_WEIGHT
from . import numpy_reference
from .bit_weights import near_codes, weighed_bits
from .bits import CODE, CODE_BITS, ONE, ZERO, Tag, trailing_zeros
from .heap import FAR, put_in_heap
from .instructions import any_below, any_below_4, any_weighted, any_weighted_4
from .merge import merge_level
from .passing import count_passing, first_passing

__all__ = ["top_k"]

QUERY_BLOCK = 100  # queries that share a block of codes
CODE_BLOCK = 4096  # words of a block of codes: 32 kB, the first-level cache
MOST_NOTES = 4 << 20  # numbers noted at a time: 32 MB, or what a single query needs

# A candidate is one number, ``distance << 40 | code``.
# The notes on a query are one row of int64: these four facts, then rows and codes met at every distance,
# then the candidates. One array, and arguments spelled out below, because taking arrays out of a tuple
# counts references, and that costs more than the work on a candidate.
COUNT, LIMIT, ROWS, CODES = 0, 1, 2, 3  # candidates; the limit T; rows and codes within T
FACTS = 4


@njit(cache=True, nogil=True)
def _width(planes: Words | None, tag: Tag) -> int:
    """One more than the largest distance there can be."""
    if planes is None:
        return 64 * len(tag) + 1
    return MAX_WEIGHT * 64 * len(tag) + 1


@njit(cache=True, nogil=True)
def _admit(notes: Ints, i: int, width: int, key: int, weight: int, leads: int, k: int) -> int:
    """Note a candidate of query ``i``, then lower its limit as far as k rows allow. Returns the new bound.

    ``leads`` is 1 if the smallest row of the code passes, else 0.
    """
    rows_at, codes_at, keys = FACTS, FACTS + width, FACTS + 2 * width
    distance = key >> CODE_BITS
    notes[i, keys + notes[i, COUNT]] = key
    notes[i, COUNT] += 1
    notes[i, rows_at + distance] += weight
    notes[i, codes_at + distance] += leads
    limit = notes[i, LIMIT]
    n_rows = notes[i, ROWS] + weight
    n_codes = notes[i, CODES] + leads
    while n_rows - notes[i, rows_at + limit] >= k:
        n_rows -= notes[i, rows_at + limit]
        n_codes -= notes[i, codes_at + limit]
        limit -= 1
    notes[i, LIMIT] = limit
    notes[i, ROWS] = n_rows
    notes[i, CODES] = n_codes
    return limit if n_codes >= k else limit + 1


@njit(cache=True, nogil=True)
def _forget_distant(notes: Ints, i: int, keys: int) -> None:
    """Drop candidates beyond the limit; without a filter, at most 2 k are left, so the list stays short."""
    kept = keys
    for j in range(keys, keys + notes[i, COUNT]):
        if notes[i, j] >> CODE_BITS <= notes[i, LIMIT]:
            notes[i, kept] = notes[i, j]
            kept += 1
    notes[i, COUNT] = kept - keys


@njit(cache=True, nogil=True)
def _forget_late(
    notes: Ints, i: int, keys: int, k: int, starts: Numbers32, rows: Numbers32, mask: Bools
) -> None:
    """Of the candidates at the limit, keep the k whose first passing rows come first: 2 k are left in all."""
    first = np.empty(k, np.int64)
    first[:] = FAR
    for j in range(keys, keys + notes[i, COUNT]):
        if notes[i, j] >> CODE_BITS == notes[i, LIMIT]:
            row = first_passing(mask, starts, rows, notes[i, j] & CODE)
            if row < first[0]:
                put_in_heap(first, row)
    kept = keys
    for j in range(keys, keys + notes[i, COUNT]):
        late = False
        if notes[i, j] >> CODE_BITS == notes[i, LIMIT]:
            late = first_passing(mask, starts, rows, notes[i, j] & CODE) > first[0]
        if not late:
            notes[i, kept] = notes[i, j]
            kept += 1
    notes[i, COUNT] = kept - keys


@njit(cache=True, nogil=True)
def _absorb(
    blocks: Words, n_codes: int, starts: Numbers32, rows: Numbers32, g: int, queries: Words, i: int, k: int,
    bounds: Ints, notes: Ints, planes: Words | None, passing: Words | None, mask: Bools | None, tag: Tag,
) -> None:  # fmt: skip
    """Take in the codes of group ``g`` that are nearer than the bound of query ``i``."""
    width = _width(planes, tag)
    bound = bounds[i]
    near = near_codes(blocks, n_codes, g, queries, i, bounds, planes, passing, tag)
    if FACTS + 2 * width + notes[i, COUNT] + 64 > notes.shape[1]:
        _forget_distant(notes, i, FACTS + 2 * width)
        full = FACTS + 2 * width + notes[i, COUNT] + 64 > notes.shape[1]
        if mask is not None and starts.size and full:
            _forget_late(notes, i, FACTS + 2 * width, k, starts, rows, mask)
    while near != ZERO:
        place = trailing_zeros(near)
        near &= near - ONE
        bits = ZERO
        for w in range(len(tag)):
            bits += weighed_bits(blocks[g, place >> 3, w, place & 7] ^ queries[i, w], planes, w)
        distance = np.int64(bits)
        if distance < bound:
            code = 64 * g + place
            weight = leads = np.int64(1)
            if starts.size:
                if mask is None:
                    weight = np.int64(starts[code + 1]) - np.int64(starts[code])
                else:
                    weight = count_passing(mask, starts, rows, code, k)
                    if weight == 0:
                        continue
                    leads = np.int64(mask[rows[starts[code]]])
            bound = _admit(notes, i, width, distance << CODE_BITS | code, weight, leads, k)
    bounds[i] = bound


@njit(cache=True, nogil=True)
def _emit(
    starts: Numbers32, rows: Numbers32, notes: Ints, i: int, width: int, distances: Distances, ranks: Ints,
    mask: Bools | None,
) -> None:  # fmt: skip
    """Write the k rows of query ``i`` in the order (distance, rank)."""
    counts, keys = FACTS + width, FACTS + 2 * width
    _forget_distant(notes, i, keys)
    n_keys, limit = notes[i, COUNT], notes[i, LIMIT]
    for d in range(counts, counts + limit + 1):
        notes[i, d] = 0
    for j in range(keys, keys + n_keys):
        notes[i, counts + (notes[i, j] >> CODE_BITS)] += 1
    place = np.int64(0)
    for d in range(counts, counts + limit + 1):  # a counting sort keeps codes of one distance in scan order
        place += notes[i, d]
        notes[i, d] = place - notes[i, d]
    codes = np.empty(n_keys, np.int64)
    for j in range(keys, keys + n_keys):
        d = counts + (notes[i, j] >> CODE_BITS)
        codes[notes[i, d]] = notes[i, j] & CODE
        notes[i, d] += 1
    filled = first = np.int64(0)
    for d in range(limit + 1):
        last = notes[i, counts + d]
        if last > first:
            after = merge_level(codes, first, last, starts, rows, ranks, filled, mask)
            for at in range(filled, after):
                distances[at] = d
            filled, first = after, last


def _steps(
    blocks: Words, n_codes: int, starts: Numbers32, rows: Numbers32, queries: Words, *_: object
) -> int:
    """Numbers32 that the twin reads: all codes for every query."""
    return len(queries) * blocks.size


@njit(cache=True, nogil=True, twin=numpy_reference.top_k, steps=_steps)
def top_k(
    blocks: Words, n_codes: int, starts: Numbers32, rows: Numbers32, queries: Words, distances: Distances,
    ranks: Ints, planes: Words | None, least: Words, passing: Words | None, mask: Bools | None, tag: Tag,
) -> None:  # fmt: skip
    """Fill ``distances`` and ``ranks`` (q, k) with the k nearest rows, in the order (distance, rank).

    ``blocks`` and ``n_codes`` are the distinct codes (see `vector`), ``rows[starts[c]:starts[c + 1]]`` the
    ranks of the rows with code ``c``, ascending; both are empty when every code has one row, the one
    of its own number. ``k`` must not exceed the number of rows that pass the filter (``passing`` and
    ``mask``, or None and None). ``tag`` has one entry per word.
    Working memory: about 24 k + 1 kB per word (15 kB with fields) for each of up to 100 queries, within 32 MB
    or one query; and 48 k bytes.
    """
    n_queries, k = ranks.shape
    n_groups = (n_codes + 63) // 64
    width = _width(planes, tag)
    length = FACTS + 2 * width + min(3 * k + 256, n_codes + 128)
    in_block = max(1, min(QUERY_BLOCK, n_queries, MOST_NOTES // length))
    notes = np.empty((in_block, length), np.int64)
    bounds = np.empty(in_block, np.int64)
    step = max(1, CODE_BLOCK // (64 * len(tag)))
    for base in range(0, n_queries, in_block):
        part = queries[base : base + in_block]
        fours = part.shape[0] - part.shape[0] % 4
        notes[:, : FACTS + 2 * width] = 0
        notes[:, LIMIT] = width - 1
        bounds[:] = width
        for start in range(0, n_groups, step):
            stop = min(n_groups, start + step)
            for i in range(0, fours, 4):
                for g in range(start, stop):
                    if planes is None:
                        hits = any_below_4(blocks, g, part, i, bounds, tag)
                    else:
                        hits = any_weighted_4(blocks, g, part, i, bounds, least, tag)
                    while hits != ZERO:
                        b = i + trailing_zeros(hits)
                        hits &= hits - ONE
                        _absorb(
                            blocks,
                            n_codes,
                            starts,
                            rows,
                            g,
                            part,
                            b,
                            k,
                            bounds,
                            notes,
                            planes,
                            passing,
                            mask,
                            tag,
                        )
            for i in range(fours, part.shape[0]):
                for g in range(start, stop):
                    if planes is None:
                        hits = any_below(blocks, g, part, i, bounds, tag)
                    else:
                        hits = any_weighted(blocks, g, part, i, bounds, least, tag)
                    if hits != ZERO:
                        _absorb(
                            blocks,
                            n_codes,
                            starts,
                            rows,
                            g,
                            part,
                            i,
                            k,
                            bounds,
                            notes,
                            planes,
                            passing,
                            mask,
                            tag,
                        )
        for i in range(part.shape[0]):
            _emit(starts, rows, notes, i, width, distances[base + i], ranks[base + i], mask)
