"""How likely a search finds the row that it should find: a sample stands for all rows.

Maps and codes that put examples in order can still lose rows in a search, so both are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._internal.types import Bytes, Floats, Ints
from ..codes import to_words, word_distances
from ..supervision import MOST_SCORED, Examples

__all__ = ["found_partners", "found_themselves"]

FIRST = 10  # answers that people look at
SEARCHED = 2000  # rows that a row is searched among
SEARCHED_AT_ONCE = 100  # of these; distances of 4,000 rows to them stay in the cache


def found_partners(
    held: Sequence[Examples], codes: Callable[[Ints], Bytes], n_rows: int, seed: int
) -> Floats:
    """For both ends of held-out similar pairs, how likely the partner is among the first ten answers."""
    links = [one.links() for one in held]
    left = np.concatenate([one.left for one in links])[:MOST_SCORED]
    right = np.concatenate([one.right for one in links])[:MOST_SCORED]
    rows, partners = np.concatenate([left, right]), np.concatenate([right, left])
    return _found(codes(rows), rows, partners, codes, n_rows, FIRST, seed)


def found_themselves(rows: Ints, asked: Bytes, codes: Bytes, seed: int) -> float:
    """Share of the rows whose code as a query, of ``asked``, finds the row's own of ``codes`` first."""
    rows = np.random.default_rng(seed).permutation(rows)[:MOST_SCORED]
    return float(_found(asked[rows], rows, rows, codes.__getitem__, len(codes), 1, seed).mean())


def _found(
    asked: Bytes,
    rows: Ints,
    wanted: Ints,
    codes: Callable[[Ints], Bytes],
    n_rows: int,
    first: int,
    seed: int,
) -> Floats:
    """How likely the wanted row is among the first answers, without the row that asks.

    Rows at the same distance come in random order.
    """
    others = np.random.default_rng(seed).permutation(n_rows)[:SEARCHED]
    words, apart = to_words(asked), _differing(asked, codes(wanted))
    nearer, level = np.zeros(len(rows)), np.ones(len(rows))  # the wanted row is level with itself
    for some in np.array_split(others, max(1, len(others) // SEARCHED_AT_ONCE)):
        found = word_distances(words, to_words(codes(some)))
        nearer += (found < apart[:, None]).sum(axis=1)
        level += (found == apart[:, None]).sum(axis=1)
    asks, own = np.isin(rows, others), _differing(asked, codes(rows))
    nearer -= asks & (own < apart)
    level -= (asks & (own == apart)) + (np.isin(wanted, others) & (wanted != rows)).astype(np.int64)
    return np.clip((first - nearer) / level, 0.0, 1.0)


def _differing(left: Bytes, right: Bytes) -> Ints:
    return np.bitwise_count(left ^ right).sum(axis=1, dtype=np.int64)
