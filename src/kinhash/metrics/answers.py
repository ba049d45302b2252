"""What a person sees in the answers of a search, for codes and for float scores alike.

Every figure has one value per query, NaN where a query has no relevant row in the database. Rows are relevant
if they have the same class or share a tag. Equal distances or scores count as the expected value over all
orders. *Look-alikes* are near by the cosine of the features, around their mean over the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices
from .._internal.types import Array, Bytes, Floats, Floats32, Ints, Matrix
from ..codes import Codes
from ..labels import Labels
from .rankings import ScoreRows, hamming_scores, shared_labels
from .tie_groups import TieGroups, discounted_gains

MAP, FIRST_TEN, LOOKS = "mAP", "first ten relevant", "nearest look-alikes found"
SAME_TAGS, JACCARD, NDCG = "first ten with same tags", "Jaccard of first ten", "nDCG of first ten"
UNLABELED = "unlabeled in first ten"
TEN, HUNDRED = 10, 100
MOST_QUERIES = 500  # enough to know figures of look-alikes to two digits
TINY = 1e-9  # places of labeled answers that are none but for rounding
BLOCK_NUMBERS = 2 << 20  # scores of one block of queries
BLOCK_ROWS = 2048

Measures = dict[str, Floats]  # by name, one value per query


# -- first answers ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AnswerSheet:
    """Queries and a database; `of_scores` says what a ranking of the database is worth.

    Parameters
    ----------
    queries, database : Labels
        Database rows of unknown label take places in the answers, counted by "unlabeled in first ten".
        Nobody knows whether they are relevant: the other figures of the first ten are shares of the
        labeled answers among them, and mAP is that of the labeled rows.
    own : array of shape (queries,), default=None
        The row of each query in the database, left out of its answers; −1 for none.
    features : pair of matrices, default=None
        Features of queries and database add "nearest look-alikes found", for at most 500 queries.
    above : sequence of AnswerSheet
        The same rows with the labels of higher levels of a tree.
    """

    queries: Labels
    database: Labels
    own: Ints | None = None
    features: tuple[Matrix, Matrix] | None = None
    above: Sequence[AnswerSheet] = ()

    def of_codes(self, queries: Codes, database: Codes) -> Measures:
        """The figures of a ranking by Hamming distance."""
        queries.require_same_kind(database)
        return self.of_scores(hamming_scores(queries, database))

    def of_random_order(self) -> Measures:
        """The figures of a ranking at random: every row ties with every other."""
        return self.of_scores(lambda wanted: np.zeros((len(wanted), len(self.database)), np.int8))

    def of_scores(self, scores: ScoreRows, ranks: bool = True) -> Measures:
        """The figures of a ranking by scores, highest first; without mAP and look-alikes unless ``ranks``."""
        tags, unknown = self.queries.is_tags, ~self.database.known
        hidden = bool(unknown.any())
        names = [MAP] * ranks + [FIRST_TEN] + [SAME_TAGS, JACCARD, NDCG] * tags + [UNLABELED] * hidden
        out = {name: np.zeros(len(self.queries)) for name in names}
        shared = shared_labels(self.queries, self.database)
        for part, block in _blocks(scores, len(self.queries), len(self.database), self.own):
            wanted, grades = np.arange(part.start, part.stop), shared(part)
            if self.own is not None:
                has = np.flatnonzero(self.own[part] >= 0)
                grades[has, self.own[part][has]] = 0
            relevant, first = grades > 0, shares_of_first(block, TEN)
            places = TEN - first @ unknown
            places = np.where(places > TINY, places, np.nan)
            out[FIRST_TEN][part] = _sums(first, relevant) / places
            if ranks:
                for i, row in zip(wanted, block, strict=True):
                    kin = relevant[i - part.start]
                    labeled = (row, kin) if not hidden else (row[~unknown], kin[~unknown])
                    precision = TieGroups.of_scores(*labeled).average_precision()[0]
                    out[MAP][i] = min(precision, 1.0)  # sums of ties may round above 1
            if tags:
                gains = self._jaccard(wanted, grades)
                out[SAME_TAGS][part] = _sums(first, gains == 1) / places
                out[JACCARD][part] = _sums(first, gains) / places
                out[NDCG][part] = _ndcg(block, gains, first > 0)
            if hidden:
                out[UNLABELED][part] = first @ unknown / TEN
            for values in out.values():
                values[part][~relevant.any(axis=1)] = np.nan
        if ranks and self._nearest is not None:
            asked, own, nearest = self._nearest
            out[LOOKS] = np.full(len(self.queries), np.nan)
            out[LOOKS][asked] = share_of_nearest(
                lambda wanted: scores(asked[wanted]), nearest, len(self.database), own=own
            )
        for up, sheet in enumerate(self.above, 1):
            level = sheet.of_scores(scores, ranks)
            names = [name for name in (MAP, FIRST_TEN) if name in level]
            out |= {f"{name}, {up} level{'s' * (up > 1)} up": level[name] for name in names}
        return out

    def _jaccard(self, wanted: Ints, shared: Bytes) -> Floats32:
        """Jaccard similarity (k, n) of tag sets."""
        mine, theirs = (np.diff(side.indicator().indptr) for side in (self.queries, self.database))
        union = mine[wanted, None] + theirs - shared.astype(np.int64)
        return np.asarray(shared / np.maximum(union, 1), np.float32)

    @cached_property
    def _nearest(self) -> tuple[Ints, Ints | None, Ints] | None:
        """Some queries, their own rows, and the relevant rows nearest to them."""
        if self.features is None:
            return None
        asked, (mine, theirs) = some_queries(len(self.queries)), self.features
        own = None if self.own is None else self.own[asked]
        return asked, own, nearest_ten(mine[asked], theirs, (self.queries[asked], self.database), own)


def shares_of_first(scores: Floats, k: int) -> Floats:
    """How likely each row (b, n) is to be among the first ``k``, equal scores in random order."""
    k = min(k, scores.shape[1])
    if not k:
        return np.zeros(scores.shape)
    last = np.partition(scores, -k, axis=1)[:, -k, None]
    above, equal = scores > last, scores == last
    places = k - above.sum(axis=1, keepdims=True)
    return np.asarray(above + equal * (places / equal.sum(axis=1, keepdims=True)))


def top_k(scores: Array, k: int) -> Ints:
    """Positions (b, k) of the highest scores of each row, equal ones in the order of the columns."""
    k = min(k, scores.shape[1])
    if not k:
        return np.zeros((len(scores), 0), np.int64)
    last = np.partition(scores, -k, axis=1)[:, -k, None]
    above, equal = scores > last, scores == last
    missing = k - above.sum(axis=1, keepdims=True)
    found = np.nonzero(above | (equal & (np.cumsum(equal, axis=1) <= missing)))[1].reshape(-1, k)
    values = np.take_along_axis(scores, found, axis=1).astype(np.float64)
    return np.take_along_axis(found, np.argsort(-values, axis=1, kind="stable"), axis=1)


def _sums(shares: Floats, gains: Array) -> Floats:
    return np.einsum("ij,ij->i", shares, gains, dtype=np.float64)


def _ndcg(scores: Floats, gains: Array, candidates: Array) -> Floats:
    """Expected nDCG (b,) of the first ten; 0 where no row has a gain."""
    out = np.zeros(len(scores))
    best = -np.sort(-np.partition(gains, -min(TEN, gains.shape[1]), axis=1)[:, -TEN:], axis=1)
    places, ones = np.broadcast_to(np.arange(best.shape[1]), best.shape), np.ones(best.shape, np.int64)
    ideal = discounted_gains(places, ones, best.astype(np.float64))
    for i in np.flatnonzero(ideal > 0):
        rows = np.flatnonzero(candidates[i])
        _, group, n = np.unique(-scores[i, rows], return_inverse=True, return_counts=True)
        sums = np.bincount(group, gains[i, rows]).astype(np.float64)
        out[i] = discounted_gains(np.cumsum(n) - n, n, sums, TEN) / ideal[i]
    return out


def self_retrieval(encoded: Codes, database: Codes, rows: Ints) -> Floats:
    """Whether the features of ``rows``, ``encoded`` as new rows, find the same rows of the database first.

    A row that shares the smallest distance with others counts as one over their number.
    """
    found = np.zeros(len(rows))
    for part, block in _blocks(hamming_scores(encoded, database), len(rows), len(database)):
        first = block == block.max(axis=1, keepdims=True)
        found[part] = first[np.arange(len(first)), rows[part]] / first.sum(axis=1)
    return found


def mixture(scores: ScoreRows, n_queries: int, mapped: Array, k: int = TEN) -> Floats:
    """Share of the first ``k`` answers taken by ``mapped`` database rows, over their fair share: 1 is fair.

    Parameters
    ----------
    scores : callable
        Query positions → scores of all database rows, higher for nearer rows.
    n_queries : int
    mapped : boolean array of shape (database,)
        Rows whose codes come from their features alone, among rows with learned codes.
    k : int, default=10
    """
    out = np.zeros(n_queries)
    for part, block in _blocks(scores, n_queries, len(mapped)):
        out[part] = shares_of_first(block, k) @ mapped / min(k, len(mapped))
    return out / np.mean(mapped)


class ScoreOfLabel(NamedTuple):
    """A class or tag, how many queries carry it, their mean score, and the same of another way to search."""

    label: Any
    queries: int
    score: float
    other: float | None = None


def scores_by_label(per_query: Floats, other: Floats | None, labels: Labels) -> list[ScoreOfLabel]:
    """Mean scores of the queries of each class or tag, the worst label first.

    Queries without relevant rows (NaN) are left out; a query with several tags counts for each. Of equal
    scores the label with more queries comes first.
    """
    counted = ~np.isnan(per_query)
    carrying = labels.indicator()[np.flatnonzero(counted)].astype(np.float64)
    queries = np.asarray(carrying.sum(axis=0)).ravel()
    found = np.flatnonzero(queries)
    names = labels.names[found].tolist()

    def means(scores: Floats | None) -> list[Any]:
        nothing = [None] * len(found)
        return nothing if scores is None else list((carrying.T @ scores[counted])[found] / queries[found])

    each = zip(names, queries[found].astype(int), means(per_query), means(other), strict=True)
    scored = [
        ScoreOfLabel(name, int(n), float(score), None if beside is None else float(beside))
        for name, n, score, beside in each
    ]
    return sorted(scored, key=lambda one: (one.score, -one.queries))


# -- look-alikes ------------------------------------------------------------------------------------


def some_queries(n_queries: int) -> Ints:
    """Numbers of 500 queries, evenly spaced, or of all where there are fewer.

    The first 500 would be of few classes where rows are sorted by class.
    """
    return np.unique(np.linspace(0, n_queries - 1, min(n_queries, MOST_QUERIES)).astype(np.int64))


def nearest_ten(
    queries: Matrix,
    database: Matrix,
    labels: tuple[Labels, Labels] | None = None,
    own: Ints | None = None,
) -> Ints:
    """Numbers (q, 10) of the database rows nearest to each query by cosine around their mean, nearest first.

    With the labels of both sides only relevant rows count; −1 where there are fewer. Earlier rows win ties.
    """
    shared = None if labels is None else shared_labels(*labels)
    mean = np.asarray(database.mean(axis=0), np.float64).ravel()
    cosine = cosine_scores(unit_rows(queries, mean=mean), unit_rows(database, mean=mean))
    out = np.full((queries.shape[0], TEN), -1)
    for part, alike in _blocks(cosine, len(out), database.shape[0], own):
        if shared is not None:
            alike[shared(part) == 0] = -np.inf
        best = top_k(alike, TEN)
        relevant = np.isfinite(np.take_along_axis(alike, best, axis=1))
        out[part, : best.shape[1]] = np.where(relevant, best, -1)
    return out


def share_of_nearest(
    scores: ScoreRows, nearest: Ints, n_database: int, k: int = HUNDRED, own: Ints | None = None
) -> Floats:
    """Share (q,) of the rows `nearest_ten` found that are among the first ``k`` answers; NaN without any."""
    out = np.zeros(len(nearest))
    for part, block in _blocks(scores, len(nearest), n_database, own):
        first = np.take_along_axis(shares_of_first(block, k), np.maximum(nearest[part], 0), axis=1)
        out[part] = (first * (nearest[part] >= 0)).sum(axis=1)
    n = (nearest >= 0).sum(axis=1)
    return np.where(n > 0, out / np.maximum(n, 1), np.nan)


def _blocks(
    scores: ScoreRows, n_queries: int, n_database: int, own: Ints | None = None
) -> Iterator[tuple[slice, Floats]]:
    """Float scores of a few queries at a time, -inf for the ``own`` row of each."""
    for part in block_slices(n_queries, max(1, BLOCK_NUMBERS // max(1, n_database))):
        block = np.array(scores(np.arange(part.start, part.stop)))
        block = block if block.dtype.kind == "f" else block.astype(np.float64)
        if own is not None:
            has = np.flatnonzero(own[part] >= 0)
            block[has, own[part][has]] = -np.inf
        yield part, block


def cosine_scores(queries: Matrix, database: Matrix) -> ScoreRows:
    """Inner products of rows of length one, dense or sparse, a few queries at a time."""

    def scores(wanted: Ints) -> Array:
        products = queries[wanted] @ database.T
        return np.asarray(products.toarray() if sp.issparse(products) else products)

    return scores


def unit_rows(X: Matrix, rows: Ints | None = None, mean: Floats | None = None) -> Matrix:
    """Rows of length one (rows of zeros stay so): float32, or sparse float64 where X is sparse.

    Parameters
    ----------
    X : matrix of shape (n, p)
        Dense or sparse.
    rows : array of int, default=None
        Row numbers of X; None for all.
    mean : array of shape (p,), default=None
        Subtracted first; sparse rows would not stay sparse, and keep their place.
    """
    rows = np.arange(X.shape[0]) if rows is None else rows
    if sp.issparse(X):
        block = sp.csr_array(X[rows], dtype=np.float64)
        size = np.repeat(abs(block).max(axis=1).toarray().ravel(), np.diff(block.indptr))
        block.data /= np.where(size > 0, size, 1)
        norms = np.sqrt(np.asarray(block.power(2).sum(axis=1)).ravel())
        block.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(block.indptr))
        return block
    out = np.empty((len(rows), X.shape[1]), np.float32)
    for part in block_slices(len(rows), BLOCK_ROWS):
        dense = np.asarray(X[rows[part]], np.float64)
        dense = dense if mean is None else dense - mean
        size = np.abs(dense).max(axis=1, keepdims=True, initial=0)  # squares neither overflow nor vanish
        scaled = (dense / np.where(size > 0, size, 1)).astype(np.float32)
        norms = np.linalg.norm(scaled, axis=1, keepdims=True)
        out[part] = scaled / np.where(norms > 0, norms, 1)
    return out


# -- pairs and triplets ----------------------------------------------------------------------------


def order_of_pairs(near: Array, grades: Array) -> Floats:
    """How often two pairs of different grade are in order: values (m,) of pairs, whose mean is that share.

    For verdicts (two grades) the mean is the area under the ROC curve, and the spread of the values gives the
    standard error of DeLong et al. (Biometrics 1988). Equal nearness counts one half. Memory: m² bytes.
    """
    near, grades = np.asarray(near, np.float64), np.asarray(grades, np.float64)
    by_grade = np.sign(grades[:, None] - grades).astype(np.int8)
    right = (np.sign(near[:, None] - near).astype(np.int8) * by_grade).sum(axis=1, dtype=np.float64)
    comparable = np.abs(by_grade).sum(axis=1, dtype=np.float64)
    total = comparable.sum()
    if not total:
        return np.full(len(near), np.nan)
    mean = right.sum() / total
    return np.asarray((1 + mean) / 2 + (right - mean * comparable) * len(near) / total)


def rank_products(one: Array, other: Array) -> Floats:
    """Products of standardized ranks (m,), whose mean is Spearman's correlation."""
    from scipy.stats import rankdata

    first, second = (ranks - ranks.mean() for ranks in (rankdata(one), rankdata(other)))
    scale = float(np.sqrt((first**2).mean() * (second**2).mean())) or 1.0
    return np.asarray(first * second / scale, np.float64)


def wins(left: Array, right: Array) -> Floats:
    """1 where ``left`` is larger, ½ where both are equal: the value of a triplet by its two nearnesses."""
    return np.asarray((1 + np.sign(np.asarray(left, np.float64) - right)) / 2)
