"""Exact search in two steps: the distinct kin codes first, the alike bits of the nearest of them next.

Rows of a kind share their kin bits, so a million rows have few distinct kin codes. The codes with one kin
code are a *group*; they lie together, in the order of their smallest row. A query visits the groups by what
their kin bits cost, and stops at the first that costs more than its k-th best code in total. Inside a group
that cost is the same for all codes, so the plain kernels do the rest, with the bound left for the alike bits.

Groups do not come in the order of rows, so the k best codes are kept by (distance, number of the code) in a
heap. The numbers are in the order of the smallest row of a code, so k codes before a code bring k rows
before its first, and the heap holds all that can matter. The twin of `top_k_grouped` is in `numpy_reference`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._internal.compile import njit
from ..._internal.popcount import popcount
from ..._internal.types import Distances, Ints, Numbers32, Words
from . import numpy_reference
from .bits import CODE, CODE_BITS, ONE, ZERO, Tag, lanes, trailing_zeros
from .dedupe import group_codes, list_rows
from .heap import FAR, put_in_heap, sort_heap
from .instructions import any_below, mask_below
from .layout import aligned_blocks, blocks_of, codes_at
from .merge import merge_levels

__all__ = ["Groups", "build_groups", "top_k_grouped"]

LARGE_ENOUGH = 128  # codes per group on average: below, visiting groups can hardly save anything


@dataclass(frozen=True, eq=False)
class Groups:
    """``codes[starts[g]:starts[g + 1]]`` are the numbers of the codes of group ``g``, ascending.

    ``blocks`` has the codes themselves in that order, ``kin`` (G, W) the kin bits of every group.
    """

    kin: Words
    starts: Numbers32
    codes: Numbers32
    blocks: Words

    def __len__(self) -> int:
        return len(self.kin)

    @property
    def n_bytes(self) -> int:
        """Memory the groups take."""
        return self.kin.nbytes + self.starts.nbytes + self.codes.nbytes + self.blocks.nbytes


def build_groups(codes: Words, kin: Words) -> Groups | None:
    """The groups of distinct codes (n, W), with ones at the kin bits (W,); None if they would be too small.

    Memory: 12 bytes per 64-bit code, and as much again while they are built.
    """
    n_codes, n_words = codes.shape
    kin_blocks = aligned_blocks(n_codes, n_words)
    group_of_code = np.empty(n_codes, np.uint32)
    kin_words = codes & kin
    kin_words.flags.writeable = False
    n_groups = group_codes(kin_words, kin_blocks, group_of_code)
    if n_groups * LARGE_ENOUGH > n_codes:
        return None
    starts, order = np.empty(n_groups + 1, np.uint32), np.empty(n_codes, np.uint32)
    list_rows(group_of_code, n_groups, starts, order)
    groups = Groups(codes_at(kin_blocks, np.arange(n_groups)), starts, order, blocks_of(codes[order]))
    for array in (groups.kin, starts, order, groups.blocks):
        array.flags.writeable = False
    return groups


@njit(cache=True, nogil=True)
def _order_groups(costs: Ints, counts: Ints, order: Ints) -> None:
    """Group numbers by ascending cost, by counting; ``counts`` has a place for every cost and one more."""
    for c in range(counts.size):
        counts[c] = 0
    for g in range(costs.size):
        counts[costs[g] + 1] += 1
    for c in range(counts.size - 1):
        counts[c + 1] += counts[c]
    for g in range(costs.size):
        order[counts[costs[g]]] = g
        counts[costs[g]] += 1


@njit(cache=True, nogil=True)
def _plain_bound(heap: Ints, first: int, differing: int, kin_weight: int, alike_weight: int) -> int:
    """How many bits a code may differ in, less one, to come before the last of the heap.

    The code is of a group whose kin bits differ in ``differing``, and its number is ``first`` at least, so
    its distance must be below ``(heap[0] - first - 1) >> CODE_BITS`` plus one.
    """
    left = ((heap[0] - first - 1) >> CODE_BITS) + 1 - kin_weight * differing
    return differing + (left + alike_weight - 1) // alike_weight


@njit(cache=True, nogil=True)
def _visit(
    blocks: Words, codes: Numbers32, start: int, stop: int, differing: int, queries: Words, i: int,
    kin_weight: int, alike_weight: int, bounds: Ints, heap: Ints, tag: Tag,
) -> None:  # fmt: skip
    """Put the codes ``start ... stop`` of one group into the heap, as far as they belong there."""
    bounds[i] = _plain_bound(heap, np.int64(codes[start]), differing, kin_weight, alike_weight)
    for b in range(start >> 6, (stop + 63) >> 6):
        if any_below(blocks, b, queries, i, bounds, tag) == ZERO:
            continue
        mask = mask_below(blocks, b, queries, i, bounds, tag) & lanes(b, start, stop)
        while mask != ZERO:
            place = trailing_zeros(mask)
            mask &= mask - ONE
            bits = ZERO
            for w in range(len(tag)):
                bits += popcount(blocks[b, place >> 3, w, place & 7] ^ queries[i, w])
            distance = kin_weight * differing + alike_weight * (np.int64(bits) - differing)
            key = distance << CODE_BITS | np.int64(codes[64 * b + place])
            if key < heap[0]:
                put_in_heap(heap, key)
        following = np.int64(codes[min(64 * b + 64, stop - 1)])
        bounds[i] = _plain_bound(heap, following, differing, kin_weight, alike_weight)


def _steps(*arguments: Any) -> int:
    """Numbers32 that the twin reads: all codes for every query."""
    blocks, queries = arguments[3], arguments[9]
    return len(queries) * blocks.size


@njit(cache=True, nogil=True, twin=numpy_reference.top_k_grouped, steps=_steps)
def top_k_grouped(
    kin: Words, group_starts: Numbers32, codes: Numbers32, blocks: Words, kin_bits: Words, kin_weight: int,
    alike_weight: int, starts: Numbers32, rows: Numbers32, queries: Words, distances: Distances, ranks: Ints,
    tag: Tag,
) -> None:  # fmt: skip
    """Fill ``distances`` and ``ranks`` (q, k) as `top_k` does, from `Groups` (the first four arguments).

    ``kin_bits`` (W,) are ones at the kin bits. Working memory: 16 bytes per group and 64 k bytes.
    """
    n_groups = kin.shape[0]
    costs, order = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    counts = np.empty(64 * len(tag) + 2, np.int64)
    heap = np.empty(min(ranks.shape[1], codes.size), np.int64)
    bounds = np.empty(queries.shape[0], np.int64)
    for i in range(queries.shape[0]):
        for g in range(n_groups):
            bits = ZERO
            for w in range(len(tag)):
                bits += popcount(kin[g, w] ^ (queries[i, w] & kin_bits[w]))
            costs[g] = np.int64(bits)
        _order_groups(costs, counts, order)
        for place in range(heap.size):
            heap[place] = FAR
        for place in range(n_groups):
            g = order[place]
            if kin_weight * costs[g] > heap[0] >> CODE_BITS:
                break
            start, stop = np.int64(group_starts[g]), np.int64(group_starts[g + 1])
            _visit(
                blocks, codes, start, stop, costs[g], queries, i, kin_weight, alike_weight, bounds, heap, tag
            )
        sort_heap(heap)
        merge_levels(heap >> CODE_BITS, heap & CODE, starts, rows, distances[i], ranks[i])
