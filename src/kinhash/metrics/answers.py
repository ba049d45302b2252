"""What a person sees in the answers of a search, for codes and for float scores alike.

Every measure has one value per query, NaN where a query has no relevant row in the database. Rows are
relevant if they have the same class or share a tag. Equal distances or scores count as the expected value
over all orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices
from .._internal.types import Array, Bools, Bytes, Floats, Floats32, Ints, Matrix
from ..codes import Codes, to_words, word_distances
from ..supervision import Labels
from .cosine import ScoreRows
from .given_rankings import precision_of_scores
from .nearest_kin import NearestKin, some_queries
from .ranking import read_sides
from .tie_groups import discounted_gains

__all__ = [
    "FIRST",
    "MEASURES",
    "AnswerSheet",
    "Measures",
    "hamming_scores",
    "self_retrieval",
    "shares_of_first",
]

FIRST = 10
BLOCK_NUMBERS = 2 << 20  # scores of one block of queries

# The measures in the order of a table, and what each one is.
MEASURES = {
    "mAP": "mean average precision of the whole ranking",
    "p10": "share of relevant rows among the first ten",
    "exact": "share of the first ten with the same tag set",
    "Jaccard": "mean Jaccard similarity of the tag sets in the first ten",
    "nDCG": "nDCG of the first ten, gain = Jaccard",
    "near": "share of the ten nearest relevant rows (by cosine) among the first hundred",
    "later": "mAP where the held-out rows search each other",
}

Measures = dict[str, Floats]  # by name, one value per query


def hamming_scores(queries: Codes | Bytes, database: Codes | Bytes) -> ScoreRows:
    """Minus the distances of codes, or of packed bits of any length, a few queries at a time."""
    packed = [codes.repeated() if isinstance(codes, Codes) else codes for codes in (queries, database)]
    left, right = map(to_words, packed)
    return lambda wanted: -word_distances(left[wanted], right).astype(np.int32)


@dataclass(frozen=True, eq=False)
class AnswerSheet:
    """Queries and a database, all of known label; measures what a ranking of the database is worth.

    ``own`` (q,) is the row of each query in the database, left out of its answers; −1 for none. ``features``
    of queries and database add the measure "near", for at most 500 queries; ``above``, the same queries and
    database with the labels of higher levels of a tree, adds "mAP 1 up", "p10 1 up" and so on. Memory beyond
    these: blocks of about 80 MB.
    """

    queries: Labels
    database: Labels
    own: Ints | None = None
    features: tuple[Matrix, Matrix] | None = None
    above: tuple[AnswerSheet, ...] = ()

    def of_codes(self, queries: Codes, database: Codes) -> Measures:
        """The measures of a ranking by Hamming distance."""
        queries.require_same_kind(database)
        return self.of_scores(hamming_scores(queries, database))

    def of_random_order(self) -> Measures:
        """The measures of a ranking at random: every row ties with every other."""
        return self.of_scores(lambda wanted: np.zeros((len(wanted), len(self.database)), np.int8))

    def of_scores(self, scores: ScoreRows) -> Measures:
        """The measures of a ranking by scores, highest first."""
        found = {"mAP": self.average_precision(scores)}
        first = self._first_ten(scores)
        relevant = ~np.isnan(found["mAP"])
        found |= {name: np.where(relevant, values, np.nan) for name, values in first.items()}
        if self._nearest is not None:
            asked, nearest = self._nearest
            found["near"] = np.full(len(self.queries), np.nan)
            found["near"][asked] = nearest.score_floats(lambda wanted: scores(asked[wanted])).found
        for up, sheet in enumerate(self.above, 1):
            of_level = sheet.of_scores(scores)
            found |= {f"{name} {up} up": of_level[name] for name in ("mAP", "p10")}
        return found

    def average_precision(self, scores: ScoreRows) -> Floats:
        """Average precision of every query by scores, highest first."""
        sides = read_sides(self.queries, self.database, len(self.queries), len(self.database), self.own)
        return np.minimum(precision_of_scores(scores, sides), 1.0)  # sums of ties may round above 1

    def _first_ten(self, scores: ScoreRows) -> Measures:
        names = ("p10", "exact", "Jaccard", "nDCG") if self.queries.is_tags else ("p10",)
        out = {name: np.zeros(len(self.queries)) for name in names}
        rows = max(1, BLOCK_NUMBERS // max(1, len(self.database)))
        for part in block_slices(len(self.queries), rows):
            wanted = np.arange(part.start, part.stop)
            block, gains = np.asarray(scores(wanted), np.float64), self._jaccard(wanted)
            if self.own is not None:
                block[wanted - part.start, self.own[wanted]] = -np.inf
                gains[wanted - part.start, self.own[wanted]] = 0
            shares = shares_of_first(block, FIRST)
            out["p10"][part] = _sums(shares, gains > 0) / FIRST
            if self.queries.is_tags:
                out["exact"][part] = _sums(shares, gains == 1) / FIRST
                out["Jaccard"][part] = _sums(shares, gains) / FIRST
                out["nDCG"][part] = _ndcg(block, gains, shares > 0)
        return out

    def _jaccard(self, wanted: Ints) -> Floats32:
        """Jaccard similarity (k, n) of label sets; of classes 1 or 0."""
        left, right = self._indicators
        shared = (left[wanted] @ right.T).toarray()
        sizes = np.diff(left.indptr)[wanted, None] + np.diff(right.indptr)
        return np.asarray(shared / np.maximum(sizes - shared, 1), np.float32)

    @cached_property
    def _indicators(self) -> list[sp.csr_array]:
        aligned = self.queries.aligned(self.database)
        return [sp.csr_array(labels.indicator(), dtype=np.float32) for labels in aligned]

    @cached_property
    def _nearest(self) -> tuple[Ints, NearestKin] | None:
        if self.features is None:
            return None
        asked = some_queries(len(self.queries))
        own = None if self.own is None else self.own[asked]
        mine, theirs = self.features
        return asked, NearestKin.of(self.queries[asked], self.database, mine[asked], theirs, own=own)


def self_retrieval(encoded: Codes, database: Codes, rows: Ints) -> float:
    """How often the features of ``rows``, ``encoded`` as new rows, find the same rows of the database first.

    A row that shares the smallest distance with others counts as one over their number.
    """
    found, scores = [], hamming_scores(encoded, database)
    for part in block_slices(len(rows), max(1, BLOCK_NUMBERS // max(1, len(database)))):
        block = scores(np.arange(part.start, part.stop))
        first = block == block.max(axis=1, keepdims=True)
        found.append(first[np.arange(len(first)), rows[part]] / first.sum(axis=1))
    return float(np.concatenate(found).mean()) if found else float("nan")


def shares_of_first(scores: Floats, k: int) -> Floats:
    """How likely each row (b, n) is to be among the first ``k``, equal scores in random order."""
    k = min(k, scores.shape[1])
    last = np.partition(scores, -k, axis=1)[:, -k, None]
    above, equal = scores > last, scores == last
    places = k - above.sum(axis=1, keepdims=True)
    return np.asarray(above + equal * (places / equal.sum(axis=1, keepdims=True)))


def _sums(shares: Floats, gains: Array) -> Floats:
    return np.einsum("ij,ij->i", shares, gains, dtype=np.float64)


def _ndcg(scores: Floats, gains: Array, candidates: Bools) -> Floats:
    """Expected nDCG (b,) of the first ten; 0 where no row has a gain."""
    out = np.zeros(len(scores))
    best = -np.sort(-np.partition(gains, -min(FIRST, gains.shape[1]), axis=1)[:, -FIRST:], axis=1)
    places, ones = np.broadcast_to(np.arange(best.shape[1]), best.shape), np.ones(best.shape, np.int64)
    ideal = discounted_gains(places, ones, best.astype(np.float64))
    for i in np.flatnonzero(ideal > 0):
        rows = np.flatnonzero(candidates[i])
        _, group, n = np.unique(-scores[i, rows], return_inverse=True, return_counts=True)
        sums = np.bincount(group, gains[i, rows]).astype(np.float64)
        out[i] = discounted_gains(np.cumsum(n) - n, n, sums, FIRST) / ideal[i]
    return out
