"""Codewords for many classes: as many different codes as there are classes, far from each other.

Balanced classes have one eigenvalue, K − 1 times over, and any basis of its eigenspace is as good as any
other. So where there are more classes than directions to keep there is nothing to solve: what is left of the
energy is that the codes of different classes should be far apart. Here they are drawn at random and picked
one after the other, each the farthest of the pool from those picked before. As long as ``K ≤ 2^d``, no two
classes share one. `comfortable` says how many classes d bits hold well.
"""

from __future__ import annotations

import numpy as np

from .._types import Bools, Bytes

__all__ = ["bits_for", "comfortable", "spread_codewords"]

POOL = 4  # codes to pick from, for every one that is picked
MOST_MORE = 20_000  # ... and at most so many more than are picked


def comfortable(n_bits: int) -> int:
    """How many classes codes hold well: ``d ≥ 2 log₂ K + 8``, that is K = 2^((d − 8) / 2), and two at least.

    Random codes then differ by an eighth of their bits or more, and a few wrong bits lead to no other class.
    """
    return int(2 ** min(max((n_bits - 8) / 2, 1), 60))


def bits_for(n_classes: int) -> int:
    """The fewest bits, in whole bytes, that hold so many classes well."""
    return 8 * int(np.ceil((2 * np.log2(max(n_classes, 2)) + 8) / 8))


def spread_codewords(n_words: int, n_bits: int, rng: np.random.Generator) -> Bools:
    """Codes (K, d), the first ones the farthest apart; all different where there are so many.

    Time: K times the pool; for 3,000 of 64 bits .2 s. Memory: the pool, 4 K codes.
    """
    size = min(POOL * n_words, n_words + MOST_MORE)
    pool = _different_codes(size, n_bits, rng)
    if len(pool) < n_words:  # fewer codes than classes: some have to be shared, none more than another
        pool = np.tile(pool, (-(-n_words // len(pool)), 1))
        return np.unpackbits(pool[:n_words], axis=1, count=n_bits).astype(bool)
    padded = np.zeros((len(pool), -(-pool.shape[1] // 8) * 8), np.uint8)
    padded[:, : pool.shape[1]] = pool
    words = padded.view(np.uint64)
    picked = np.zeros(n_words, np.int64)
    nearest = np.full(len(pool), n_bits + 1, np.int64)
    for place in range(n_words):
        picked[place] = best = int(nearest.argmax())
        away = np.bitwise_count(words ^ words[best]).sum(axis=1, dtype=np.int64)
        np.minimum(nearest, away, out=nearest)
        nearest[best] = -1
    return np.unpackbits(pool[picked], axis=1, count=n_bits).astype(bool)


def _different_codes(wanted: int, n_bits: int, rng: np.random.Generator) -> Bytes:
    """So many different random codes, or all there are: packed."""
    if n_bits <= 20 and 2**n_bits <= 4 * wanted:
        numbers = rng.permutation(2**n_bits)[:wanted]
        bits = (numbers[:, None] >> np.arange(n_bits)) & 1
        return np.packbits(bits.astype(np.uint8), axis=1)
    found = np.packbits(rng.integers(0, 2, (wanted, n_bits), dtype=np.uint8), axis=1)
    while len(different := np.unique(found, axis=0)) < wanted:
        more = rng.integers(0, 2, (wanted - len(different), n_bits), dtype=np.uint8)
        found = np.concatenate([different, np.packbits(more, axis=1)])
    return rng.permutation(different)
