"""Codewords for many classes: one code per class, far from each other.

Balanced classes have a single eigenvalue of multiplicity K − 1, and any basis of its eigenspace is as good as
any other. With more classes than directions, the energy therefore only asks that codes of different classes
are far apart. A greedy search picks them from a pool of random codes: each one is the farthest from those
picked before. No two classes share a code while ``K ≤ 2^d``. `comfortable` says how many classes d bits hold
well.
"""

from __future__ import annotations

import numpy as np

from .._internal.types import Bools, Bytes, Ints, Rng

__all__ = ["bits_for", "comfortable", "spread_codewords", "tree_codewords"]

POOL = 4  # codes to pick from, for every one that is picked
MOST_MORE = 20_000  # ... at most this number of codes beyond those that are picked


def comfortable(n_bits: int) -> int:
    """Number of classes that ``n_bits`` hold well: K = 2^((d − 8) / 2), at least two.

    Random codes then differ in at least an eighth of their bits: a few wrong bits do not change the class.
    """
    return int(2 ** min(max((n_bits - 8) / 2, 1), 60))


def bits_for(n_classes: int) -> int:
    """Smallest number of bits, in whole bytes, that holds ``n_classes`` well."""
    return 8 * int(np.ceil((2 * np.log2(max(n_classes, 2)) + 8) / 8))


def spread_codewords(n_words: int, n_bits: int, rng: Rng) -> Bools:
    """Codes (K, d), the first ones farthest apart, and all different if d bits allow it.

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


def tree_codewords(levels: Ints, n_bits: int, rng: Rng) -> Bools:
    """Codes (K, d) of leaves with nodes (K, L): a field of bits for every level, siblings far apart in it.

    Leaves below one node share its bits. Upper levels get more bits (4 : 3 : 2 for three levels), because
    they have to be seen against the noise of all bits below. Nodes of different parents differ further up.
    """
    n_levels = levels.shape[1]
    shares = np.arange(n_levels + 1, 1, -1)
    ends = [0, *np.round(np.cumsum(shares) / shares.sum() * n_bits).astype(int)]
    out = np.empty((len(levels), n_bits), bool)
    for level in range(n_levels):
        nodes, first, of_leaf = np.unique(levels[:, level], return_index=True, return_inverse=True)
        parents = levels[first, level - 1] if level else np.zeros(len(nodes), np.int64)
        words = np.empty((len(nodes), ends[level + 1] - ends[level]), bool)
        for parent in np.unique(parents):
            siblings = np.flatnonzero(parents == parent)
            words[siblings] = spread_codewords(len(siblings), words.shape[1], rng)
        out[:, ends[level] : ends[level + 1]] = words[of_leaf]
    return out


def _different_codes(wanted: int, n_bits: int, rng: Rng) -> Bytes:
    """Different random codes, packed: ``wanted`` of them, or all that exist."""
    if n_bits <= 20 and 2**n_bits <= 4 * wanted:
        numbers = rng.permutation(2**n_bits)[:wanted]
        bits = (numbers[:, None] >> np.arange(n_bits)) & 1
        return np.packbits(bits.astype(np.uint8), axis=1)
    found = np.packbits(rng.integers(0, 2, (wanted, n_bits), dtype=np.uint8), axis=1)
    while len(different := np.unique(found, axis=0)) < wanted:
        more = rng.integers(0, 2, (wanted - len(different), n_bits), dtype=np.uint8)
        found = np.concatenate([different, np.packbits(more, axis=1)])
    return rng.permutation(different)
