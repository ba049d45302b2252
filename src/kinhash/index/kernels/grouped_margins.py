"""Queries with margins in two steps: groups of kin codes by what they cost, then their alike bits.

What the kin bits of a group cost a query is one sum, so the bound by bit planes (see `asymmetric`) is over
the alike bits alone, from what the k-th best leaves for them. Sums in floats are those of `asymmetric`, bit
for bit, so both give the same answers. The twin of `top_k_weighted_grouped` is in `numpy_reference`.
"""

from __future__ import annotations

import numpy as np

from ..._internal.bit_planes import SAFETY
from ..._internal.compile import njit
from ..._internal.types import Floats, Ints, Numbers32, Words
from .asymmetric import exact_distance, fill_table
from .bits import ONE, ZERO, Tag, lanes, trailing_zeros
from .instructions import weighted_below
from .merge import merge_levels

__all__ = ["top_k_weighted_grouped"]


@njit(cache=True, nogil=True)
def _keep(near: Floats, found: Ints, count: int, distance: float, code: int) -> int:
    """Put a code into its place by (distance, code), the last one makes room; returns how many are kept."""
    at = min(count, near.size - 1)
    if count == near.size and (near[at] < distance or (near[at] == distance and found[at] < code)):
        return count
    while at > 0 and (near[at - 1] > distance or (near[at - 1] == distance and found[at - 1] > code)):
        near[at], found[at] = near[at - 1], found[at - 1]
        at -= 1
    near[at], found[at] = distance, code
    return min(count + 1, near.size)


@njit(cache=True, nogil=True)
def _costs(kin: Words, query: Words, kin_bits: Words, table: Floats, costs: Floats) -> None:
    """What the kin bits of every group cost the query."""
    for g in range(costs.size):
        total = 0.0
        for w in range(query.size):
            differing = kin[g, w] ^ (query[w] & kin_bits[w])
            for b in range(8):
                total += table[8 * w + b, np.int64((differing >> np.uint64(8 * b)) & np.uint64(255))]
        costs[g] = total


@njit(cache=True, nogil=True)
def _visit(
    blocks: Words, codes: Numbers32, start: int, stop: int, cost: float, query: Words, planes: Words,
    step: float, table: Floats, near: Floats, found: Ints, count: int, tag: Tag,
) -> int:  # fmt: skip
    """Keep the codes ``start ... stop`` of one group as far as they belong among the best."""
    bound = np.int64(1) << 40
    for b in range(start >> 6, (stop + 63) >> 6):
        if count == near.size:
            bound = np.int64(max(0.0, near[count - 1] * (1 + SAFETY) - cost) / step) + 1
        mask = weighted_below(blocks, b, query, planes, bound, tag) & lanes(b, start, stop)
        while mask != ZERO:
            place = 64 * b + trailing_zeros(mask)
            mask &= mask - ONE
            distance = exact_distance(blocks, place, query, table)
            count = _keep(near, found, count, distance, np.int64(codes[place]))
    return count


@njit(cache=True, nogil=True)
def top_k_weighted_grouped(
    kin: Words, group_starts: Numbers32, codes: Numbers32, blocks: Words, kin_bits: Words, starts: Numbers32,
    rows: Numbers32, queries: Words, weights: Floats, planes: Words, steps: Floats, distances: Floats,
    ranks: Ints, tag: Tag,
) -> None:  # fmt: skip
    """Fill ``distances`` and ``ranks`` (q, k) as `top_k_weighted` does, from `Groups` (the first four).

    ``planes`` and ``steps`` are those of the weights of the alike bits alone. Working memory: 16 bytes per
    group, 16 kB per word and 64 k bytes.
    """
    costs = np.empty(kin.shape[0], np.float64)
    kept = min(ranks.shape[1], codes.size)
    near, found = np.empty(kept, np.float64), np.empty(kept, np.int64)
    table = np.empty((8 * len(tag), 256), np.float64)
    for i in range(queries.shape[0]):
        fill_table(weights[i], table)
        _costs(kin, queries[i], kin_bits, table, costs)
        count = 0
        for g in np.argsort(costs):
            if count == kept and costs[g] > near[count - 1] * (1 + SAFETY):
                break
            start, stop = np.int64(group_starts[g]), np.int64(group_starts[g + 1])
            count = _visit(
                blocks, codes, start, stop, costs[g], queries[i], planes[i], steps[i], table,
                near, found, count, tag,
            )  # fmt: skip
        merge_levels(near[:count], found[:count], starts, rows, distances[i], ranks[i])
