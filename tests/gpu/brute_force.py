"""The kernels' answers against all distances, for codes of 1 to 16 words.

``python brute_force.py 2000`` compares so many cases on a real card.
"""

import sys
from dataclasses import replace

import numpy as np

from kinhash.gpu import SHIFT, Queries, nearest, within


def check_one(card, seed: int, most_rows: int, most_queries: int = 7, most_words: int = 16) -> None:
    """One case; raises where an answer is wrong."""
    rng = np.random.default_rng(seed)
    n_words = int(rng.integers(1, most_words + 1))
    n_rows, n_queries = int(rng.integers(1, most_rows)), int(rng.integers(0, most_queries))
    alive = int(rng.integers(1, 64 * n_words + 1)) if rng.random() < 0.5 else 3

    def draw(n):
        bits = np.zeros((n, 64 * n_words), np.uint8)
        bits[:, :alive] = rng.integers(0, 2, (n, alive))
        return bits, np.packbits(bits, axis=1).view(np.uint64)

    bits, words = draw(n_rows)
    query_bits, queries = draw(n_queries)
    rows = card.rows(words)
    passing = rng.random(n_rows) < rng.choice([0.02, 0.5, 1.1])
    if not passing.all():
        rows = replace(rows, mask=card.mask(passing))
    weights = None
    if rng.random() < 0.6:
        weights = rng.integers(0, 16, (n_queries, 64 * n_words)).astype(np.uint8)
    each = np.ones((1, 64 * n_words), np.float32) if weights is None else weights.astype(np.float32)
    largest = int(each.sum(axis=1).max(initial=0))
    signed = each * (1 - 2 * query_bits.astype(np.float32))
    distances = ((each * query_bits).sum(axis=1)[:, None] + signed @ bits.T.astype(np.float32)).astype(
        np.int64
    )
    asked = Queries(queries, weights, largest)
    ranks = np.flatnonzero(passing)
    keys = np.sort((distances[:, ranks] << SHIFT) | ranks, axis=1).astype(np.uint64)
    k = int(rng.integers(0, min(len(ranks), rng.choice([20, 600])) + 1))
    np.testing.assert_array_equal(nearest(card, rows, asked, k), keys[:, :k], str(seed))
    limits = rng.integers(-1, largest + 1, n_queries)
    number, found = within(card, rows, asked, limits)
    near = keys >> np.uint64(SHIFT) <= np.maximum(limits, 0)[:, None]
    near &= (limits >= 0)[:, None]
    np.testing.assert_array_equal(number, np.nonzero(near)[0], str(seed))
    np.testing.assert_array_equal(found, keys[near], str(seed))


def main(n_cases: int) -> None:
    from kinhash.gpu import Card

    class Cramped(Card):
        """Little room, so that few rows take every path."""

        least_room, most_ties, most_sorted = 1024, 1024, 1024

    cards = Card(), Cramped()
    for seed in range(n_cases):
        large = seed % 8 == 0
        check_one(cards[seed // 8 % 2], seed, 40_000 if large else 3000, 40, 2 if large else 16)
    print(f"{n_cases} cases equal to all distances")


if __name__ == "__main__":
    main(int(sys.argv[1]))
