"""Bit layouts in the form the kernels take: the bits of the weights, and which bits of a code are kin bits.

A weight is at most 15, so four bit planes hold the weights of all bits, and the weighted distance is
``sum_b 2**b popcount((code ^ query) & planes[b])``. The first test of a scan is quicker: it counts the ones
of every byte, and in ``least`` a byte has what its lightest bit counts, which is exact unless a field ends
inside a byte, and never too much.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..._internal.compile import njit
from ..._internal.popcount import popcount
from ..._internal.types import Ints, Words
from ...codes import MAX_WEIGHT, BitLayout, n_bytes, pack_bits, to_words
from .bits import Tag, lanes
from .instructions import mask_below, weighted_below

__all__ = ["N_PLANES", "Weighing", "near_codes", "weighed_bits", "weighing_of"]

N_PLANES = MAX_WEIGHT.bit_length()


@dataclass(frozen=True, eq=False)
class Weighing:
    """A `BitLayout` for codes of one length; ``planes`` (4, W) is None if every bit counts one."""

    planes: Words | None
    least: Words  # (W,), eight bytes in a word
    light: int  # what the lightest bit counts
    kin: Words  # (W,), ones at the kin bits

    def distances(self, differing: Words) -> Ints:
        """The weighted number of ones of rows (n, W)."""
        if self.planes is None:
            return np.bitwise_count(differing).sum(axis=1, dtype=np.int64)
        total = np.zeros(len(differing), np.int64)
        for number, plane in enumerate(self.planes):
            total += np.bitwise_count(differing & plane).sum(axis=1, dtype=np.int64) << number
        return total


@lru_cache(maxsize=64)
def weighing_of(fields: BitLayout, n_bits: int) -> Weighing:
    """Bit planes of these weights for codes of ``n_bits``."""
    weights = fields.weights(n_bits)
    kin = to_words(pack_bits(np.arange(n_bits)[None] < fields.kin(n_bits)))[0]
    padded = np.full(8 * n_bytes(n_bits), MAX_WEIGHT)
    padded[:n_bits] = weights
    least = _frozen(to_words(padded.reshape(-1, 8).min(axis=1).astype(np.uint8)[None])[0])
    if fields.plain:
        return Weighing(None, least, 1, _frozen(kin))
    planes = to_words(pack_bits((weights >> np.arange(N_PLANES)[:, None]) & 1))
    return Weighing(_frozen(planes), least, int(weights.min()), _frozen(kin))


def _frozen(words: Words) -> Words:
    words = np.ascontiguousarray(words)
    words.flags.writeable = False
    return words


@njit(cache=True, nogil=True)
def weighed_bits(differing: np.uint64, planes: Words | None, w: int) -> np.uint64:
    """What the ones of word ``w`` of a difference count."""
    if planes is None:
        return popcount(differing)
    total = np.uint64(0)
    for b in range(planes.shape[0]):
        total += popcount(differing & planes[b, w]) << np.uint64(b)
    return total


@njit(cache=True, nogil=True)
def near_codes(
    blocks: Words, n_codes: int, g: int, queries: Words, i: int, bounds: Ints, planes: Words | None,
    passing: Words | None, tag: Tag,
) -> np.uint64:  # fmt: skip
    """Which codes of group ``g`` are nearer to query ``i`` than its bound, and pass, as 64 bits."""
    if planes is None:
        near = mask_below(blocks, g, queries, i, bounds, tag)
    else:
        near = weighted_below(blocks, g, queries[i], planes, bounds[i], tag)
    if passing is not None:
        near &= passing[g]
    return near & lanes(g, 0, n_codes)
