"""The functions of `vector` for processors without wide vectors: one code at a time.

Before AVX2, counting bits by vector means shuffling tables through 16-byte registers, and the plain
popcount instruction wins. Same names, same arguments, same answers.
"""

from __future__ import annotations

import numpy as np

from ..._internal.compile import njit
from ..._internal.popcount import popcount
from ..._internal.types import Ints, Words
from .bits import Tag

__all__ = ["any_below", "any_below_4", "any_weighted", "any_weighted_4", "mask_below", "weighted_below"]

ONE = np.uint64(1)
BYTE = np.uint64(255)


@njit(cache=True, nogil=True)
def _distance(blocks: Words, group: int, place: int, queries: Words, number: int, tag: Tag) -> np.int64:
    total = np.uint64(0)
    for w in range(len(tag)):
        total += popcount(blocks[group, place >> 3, w, place & 7] ^ queries[number, w])
    return np.int64(total)


@njit(cache=True, nogil=True)
def any_below(blocks: Words, group: int, queries: Words, first: int, bounds: Ints, tag: Tag) -> np.uint64:
    """1 if a code of the group is nearer to query ``first`` than its bound, else 0."""
    nearest = np.int64(1 << 20)
    for place in range(64):
        nearest = min(nearest, _distance(blocks, group, place, queries, first, tag))
    return ONE if nearest < bounds[first] else np.uint64(0)


@njit(cache=True, nogil=True)
def any_below_4(blocks: Words, group: int, queries: Words, first: int, bounds: Ints, tag: Tag) -> np.uint64:
    """Four answers of `any_below` in four bits; the codes are read once."""
    a = b = c = d = np.int64(1 << 20)
    for place in range(64):
        a = min(a, _distance(blocks, group, place, queries, first, tag))
        b = min(b, _distance(blocks, group, place, queries, first + 1, tag))
        c = min(c, _distance(blocks, group, place, queries, first + 2, tag))
        d = min(d, _distance(blocks, group, place, queries, first + 3, tag))
    result = np.uint64(a < bounds[first])
    result |= np.uint64(b < bounds[first + 1]) << ONE
    result |= np.uint64(c < bounds[first + 2]) << np.uint64(2)
    return result | np.uint64(d < bounds[first + 3]) << np.uint64(3)


@njit(cache=True, nogil=True)
def any_weighted(
    blocks: Words, group: int, queries: Words, first: int, bounds: Ints, weights: Words, tag: Tag
) -> np.uint64:
    """As `any_below`, with ``weights`` (W,): each byte of them is what a bit of that byte counts."""
    for place in range(64):
        total = np.uint64(0)
        for w in range(len(tag)):
            differing = blocks[group, place >> 3, w, place & 7] ^ queries[first, w]
            for shift in range(0, 64, 8):
                byte = np.uint64(shift)
                total += popcount((differing >> byte) & BYTE) * ((weights[w] >> byte) & BYTE)
        if np.int64(total) < bounds[first]:
            return ONE
    return np.uint64(0)


@njit(cache=True, nogil=True)
def any_weighted_4(
    blocks: Words, group: int, queries: Words, first: int, bounds: Ints, weights: Words, tag: Tag
) -> np.uint64:
    """Four answers of `any_weighted` in four bits."""
    result = np.uint64(0)
    for b in range(4):
        result |= any_weighted(blocks, group, queries, first + b, bounds, weights, tag) << np.uint64(b)
    return result


@njit(cache=True, nogil=True)
def mask_below(blocks: Words, group: int, queries: Words, number: int, bounds: Ints, tag: Tag) -> np.uint64:
    """Which of the 64 codes of a group are nearer to the query than its bound, as 64 bits."""
    mask = np.uint64(0)
    for place in range(64):
        if _distance(blocks, group, place, queries, number, tag) < bounds[number]:
            mask |= ONE << np.uint64(place)
    return mask


@njit(cache=True, nogil=True)
def weighted_below(blocks: Words, group: int, query: Words, planes: Words, bound: int, tag: Tag) -> np.uint64:
    """Which of the 64 codes of a group have a weighted distance below ``bound``, as 64 bits."""
    mask = np.uint64(0)
    for place in range(64):
        total = np.uint64(0)
        for w in range(len(tag)):
            differing = blocks[group, place >> 3, w, place & 7] ^ query[w]
            for b in range(planes.shape[0]):
                total += popcount(differing & planes[b, w]) << np.uint64(b)
        if np.int64(total) < bound:
            mask |= ONE << np.uint64(place)
    return mask
