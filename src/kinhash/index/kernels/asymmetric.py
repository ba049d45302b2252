"""Asymmetric search: the query keeps its margins, the codes stay bits, and the answer stays exact.

The distance of a query with margins ``s`` to a code is ``sum_i |s_i| [bit i differs]``: a bit the query was
sure of counts more. Adding floats for every code would be slow, so the weights are rounded down to four
bits, ``z_i = floor(|s_i| / step)``, and ``step sum_b 2**b popcount((code ^ query) & plane_b)`` is a lower
bound from four popcounts. Only codes whose bound reaches the k-th best get their sum in floats, in one fixed
order: eight bits to a byte first, then bytes left to right. The twin of `top_k_weighted` is in
`numpy_reference`.
"""

from __future__ import annotations

import numpy as np

from ..._internal.bit_planes import SAFETY, planes_of, whole_weights
from ..._internal.compile import njit
from ..._internal.types import Floats, Ints, Numbers32, Words
from .bits import ONE, ZERO, Tag, lanes, trailing_zeros
from .instructions import weighted_below
from .merge import merge_levels

__all__ = ["bit_planes", "exact_distance", "fill_table", "top_k_weighted"]


def bit_planes(weights: Floats) -> tuple[Words, Floats]:
    """Four bit planes (q, 4, W) of the weights (q, 64 W) rounded down, and the step (q,) of each query."""
    whole, step = whole_weights(weights)
    return planes_of(whole), step


@njit(cache=True, nogil=True)
def fill_table(weights: Floats, table: Floats) -> None:
    """``table[b, v]``: the weight of the ones of ``v`` in byte ``b`` of a code."""
    for b in range(table.shape[0]):
        for v in range(256):
            total = 0.0
            for bit in range(8):
                if (v >> (7 - bit)) & 1:
                    total += weights[8 * b + bit]
            table[b, v] = total


@njit(cache=True, nogil=True)
def exact_distance(blocks: Words, code: int, query: Words, table: Floats) -> float:
    """The weighted distance of code number ``code``, in floats."""
    total = 0.0
    for w in range(query.size):
        differing = blocks[code >> 6, (code >> 3) & 7, w, code & 7] ^ query[w]
        for b in range(8):
            total += table[8 * w + b, np.int64((differing >> np.uint64(8 * b)) & np.uint64(255))]
    return total


@njit(cache=True, nogil=True)
def _insert(
    near: Floats, codes: Ints, sizes: Ints, facts: Ints, distance: float, code: int, size: int, k: int
) -> None:
    """Put a code into its place, then drop the farthest ones while k rows remain without them.

    ``facts`` holds how many codes and rows are kept. Codes of one distance go together, in scan order.
    """
    at = facts[0]
    while at > 0 and near[at - 1] > distance:
        near[at], codes[at], sizes[at] = near[at - 1], codes[at - 1], sizes[at - 1]
        at -= 1
    near[at], codes[at], sizes[at] = distance, code, size
    facts[0] += 1
    facts[1] += size
    while True:
        first = facts[0] - 1
        tied = sizes[first]
        while first > 0 and near[first - 1] == near[first]:
            first -= 1
            tied += sizes[first]
        if facts[1] - tied < k:
            return
        facts[0] = first
        facts[1] -= tied


@njit(cache=True, nogil=True)
def _one_query(
    blocks: Words, n_codes: int, starts: Numbers32, query: Words, planes: Words, step: float, table: Floats,
    k: int, kept: tuple[Floats, Ints, Ints], tag: Tag,
) -> np.int64:  # fmt: skip
    near, codes, sizes = kept
    facts = np.zeros(2, np.int64)
    bound = np.int64(1) << 40
    for g in range((n_codes + 63) // 64):
        mask = weighted_below(blocks, g, query, planes, bound, tag) & lanes(g, 0, n_codes)
        while mask != ZERO:
            code = 64 * g + trailing_zeros(mask)
            mask &= mask - ONE
            distance = exact_distance(blocks, code, query, table)
            if facts[1] >= k:
                worst = near[facts[0] - 1]
                # k codes as near as that each have an earlier row, so a tie comes too late.
                if distance > worst or (distance == worst and facts[0] >= k):
                    continue
            size = np.int64(1)
            if starts.size:
                size = np.int64(starts[code + 1]) - np.int64(starts[code])
            _insert(near, codes, sizes, facts, distance, code, size, k)
            if facts[1] >= k:
                bound = np.int64(near[facts[0] - 1] / step * (1 + SAFETY)) + 1
    return facts[0]


@njit(cache=True, nogil=True)
def top_k_weighted(
    blocks: Words, n_codes: int, starts: Numbers32, rows: Numbers32, queries: Words, weights: Floats,
    planes: Words, steps: Floats, distances: Floats, ranks: Ints, tag: Tag,
) -> None:  # fmt: skip
    """Fill ``distances`` (q, k) float64 and ``ranks`` (q, k) in the order (weighted distance, rank).

    ``weights`` (q, 64 W) are the absolute margins, ``planes`` and ``steps`` their `bit_planes`; the rest is
    as in `top_k`. Working memory: 16 kB per word and 48 k bytes.
    """
    k = ranks.shape[1]
    room = min(2 * k, n_codes) + 2
    kept = (np.empty(room, np.float64), np.empty(room, np.int64), np.empty(room, np.int64))
    table = np.empty((8 * len(tag), 256), np.float64)
    for i in range(queries.shape[0]):
        fill_table(weights[i], table)
        count = _one_query(blocks, n_codes, starts, queries[i], planes[i], steps[i], table, k, kept, tag)
        merge_levels(kept[0][:count], kept[1][:count], starts, rows, distances[i], ranks[i])
