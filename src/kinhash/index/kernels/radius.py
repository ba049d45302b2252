"""All codes within a radius, by scanning: the answer multi-index hashing must equal.

A find is one number, ``query << 54 | distance << 40 | code``, so sorting finds puts them in the order of the
result. With ``planes`` (see `bit_weights`) distances and the radius are weighted. The twin of `scan_within`
is in `numpy_reference`.
"""

from __future__ import annotations

import numpy as np

from ..._internal.compile import njit
from ..._internal.types import Ints, Words
from . import numpy_reference
from .bit_weights import near_codes, weighed_bits
from .bits import CODE_BITS, DISTANCE_BITS, ONE, ZERO, Tag, trailing_zeros
from .instructions import any_below, any_below_4, any_weighted, any_weighted_4

__all__ = ["scan_within", "with_room"]

CODE_BLOCK = 4096  # words: 32 kB, the first-level cache


@njit(cache=True, nogil=True)
def _collect(
    blocks: Words, n_codes: int, g: int, queries: Words, i: int, bounds: Ints, finds: Ints, count: int,
    planes: Words | None, passing: Words | None, tag: Tag,
) -> int:  # fmt: skip
    """Note the codes of group ``g`` within reach of query ``i``; returns how many finds there are now."""
    near = near_codes(blocks, n_codes, g, queries, i, bounds, planes, passing, tag)
    while near != ZERO:
        place = trailing_zeros(near)
        near &= near - ONE
        bits = ZERO
        for w in range(len(tag)):
            bits += weighed_bits(blocks[g, place >> 3, w, place & 7] ^ queries[i, w], planes, w)
        distance = np.int64(bits)
        finds[count] = (i << CODE_BITS + DISTANCE_BITS) | (distance << CODE_BITS) | (64 * g + place)
        count += 1
    return count


@njit(cache=True, nogil=True)
def with_room(finds: Ints, count: int) -> Ints:
    """The same finds, with room for another 256."""
    if count + 256 <= finds.size:
        return finds
    larger = np.empty(2 * finds.size, np.int64)
    for j in range(count):
        larger[j] = finds[j]
    return larger


def _steps(blocks: Words, n_codes: int, queries: Words, *_: object) -> int:
    """Numbers that the twin reads: all codes for every query."""
    return len(queries) * blocks.size


@njit(cache=True, nogil=True, twin=numpy_reference.scan_within, steps=_steps)
def scan_within(
    blocks: Words, n_codes: int, queries: Words, radius: int, planes: Words | None, least: Words | None,
    passing: Words | None, tag: Tag,
) -> Ints:  # fmt: skip
    """All finds within ``radius`` of the queries (q, W), unordered; at most 512 queries (9 bits).

    ``passing`` is None, or has a bit for each code that counts. Working memory: 16 bytes per find.
    """
    n_queries = queries.shape[0]
    n_groups = (n_codes + 63) // 64
    bounds = np.empty(n_queries, np.int64)
    bounds[:] = radius + 1
    finds = np.empty(1024, np.int64)
    count = np.int64(0)
    fours = n_queries - n_queries % 4
    step = max(1, CODE_BLOCK // (64 * len(tag)))
    for start in range(0, n_groups, step):
        stop = min(n_groups, start + step)
        for i in range(0, fours, 4):
            for g in range(start, stop):
                if planes is None:
                    hits = any_below_4(blocks, g, queries, i, bounds, tag)
                else:
                    hits = any_weighted_4(blocks, g, queries, i, bounds, least, tag)
                if hits != ZERO:
                    finds = with_room(finds, count)
                while hits != ZERO:
                    b = i + trailing_zeros(hits)
                    hits &= hits - ONE
                    count = _collect(
                        blocks, n_codes, g, queries, b, bounds, finds, count, planes, passing, tag
                    )
        for i in range(fours, n_queries):
            for g in range(start, stop):
                if planes is None:
                    hits = any_below(blocks, g, queries, i, bounds, tag)
                else:
                    hits = any_weighted(blocks, g, queries, i, bounds, least, tag)
                if hits != ZERO:
                    finds = with_room(finds, count)
                    count = _collect(
                        blocks, n_codes, g, queries, i, bounds, finds, count, planes, passing, tag
                    )
    return finds[:count]
