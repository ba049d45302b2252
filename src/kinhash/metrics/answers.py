"""What a person sees in the answers of a search, for codes and for float scores alike.

Every figure has one value per query, NaN where a query has no relevant row in the database. Rows are relevant
if they have the same class or share a tag. Equal distances or scores count as the expected value over all
orders. *Look-alikes* are near by the cosine of the features, around their mean over the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices
from .._internal.types import Array, Bytes, Floats, Floats32, Ints, LabelsLike, Matrix, Numbers
from ..codes import Codes, CodesLike, as_codes
from ..errors import InvalidInput
from ..labels import Labels, read_labels
from .rankings import Ranking, ScoreRows, Sides, hamming_scores, query_blocks, scored_rows, shared_labels
from .tie_groups import TieGroups, discounted_gains

MAP, FIRST_TEN, LOOKS = "mAP", "first ten relevant", "nearest look-alikes found"
SAME_TAGS, JACCARD, NDCG = "first ten with same tags", "Jaccard of first ten", "nDCG of first ten"
UNLABELED = "unlabeled in first ten"
TEN, HUNDRED = 10, 100
NEAR = 20  # relevant rows that are near by definition
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
        for part in block_slices(len(self.queries), max(1, BLOCK_NUMBERS // max(1, len(self.database)))):
            wanted = np.arange(part.start, part.stop)
            block, grades = np.array(scores(wanted)), shared(part)
            block = block if block.dtype.kind == "f" else block.astype(np.float64)
            if self.own is not None:
                has = np.flatnonzero(self.own[part] >= 0)
                block[has, self.own[part][has]] = -np.inf
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
            asked, nearest = self._nearest
            out[LOOKS] = np.full(len(self.queries), np.nan)
            out[LOOKS][asked] = nearest.score_floats(lambda wanted: scores(asked[wanted])).found
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
    def _nearest(self) -> tuple[Ints, NearestKin] | None:
        if self.features is None:
            return None
        asked = some_queries(len(self.queries))
        own = None if self.own is None else self.own[asked]
        mine, theirs = self.features
        return asked, NearestKin.of(self.queries[asked], self.database, mine[asked], theirs, own=own)


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
    found, scores = np.zeros(len(rows)), hamming_scores(encoded, database)
    for part in block_slices(len(rows), max(1, BLOCK_NUMBERS // max(1, len(database)))):
        block = scores(np.arange(part.start, part.stop))
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
    for part in block_slices(n_queries, max(1, BLOCK_NUMBERS // max(1, len(mapped)))):
        block = np.asarray(scores(np.arange(part.start, part.stop)), np.float64)
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


@dataclass(frozen=True)
class NearKin:
    """How well a ranking puts the relevant rows in the order of their looks.

    ``value`` is the mean average precision of the 20 nearest relevant rows by cosine, ``per_query`` (q,) that
    of every query; ``recall`` the share of the 10 nearest among the first 100 answers, ``found`` (q,) that of
    every query; ``distinct`` how many different first tens the queries get, of ``n_queries``. Queries without
    relevant rows are NaN and left out.
    """

    value: float
    recall: float
    distinct: int
    n_queries: int
    per_query: Floats
    found: Floats

    def __str__(self) -> str:
        return (
            f"near-kin mAP {self.value:.4f} (the 20 nearest similar rows by cosine); {self.recall:.1%} of "
            f"the ten nearest are among the first hundred; {self.n_queries:,} queries get "
            f"{self.distinct:,} different first tens"
        )


def near_kin(
    queries: CodesLike | ScoreRows,
    database: CodesLike | None,
    query_labels: LabelsLike,
    database_labels: LabelsLike,
    query_features: Matrix,
    database_features: Matrix,
    *,
    n_bits: int | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> NearKin:
    """Score a ranking by the relevant rows most alike to each query; see `NearKin`.

    Parameters
    ----------
    queries, database, query_labels, database_labels, n_bits, exclude_self, n_jobs
        As in `evaluate`; labels on both sides.
    query_features, database_features : matrix of shape (queries, p) and (database, p)
        Dense or sparse. They are held once more at unit length, as float32.
    """
    own = np.arange(query_features.shape[0]) if exclude_self else None
    nearest = NearestKin.of(query_labels, database_labels, query_features, database_features, own=own)
    if database is not None:
        assert not callable(queries)
        return nearest.score_codes(as_codes(queries, n_bits), as_codes(database, n_bits), n_jobs)
    return nearest.score_floats(queries if callable(queries) else np.asarray(queries).__getitem__)


def near_kin_from_scores(scores: ScoreRows | Numbers, *sides: Any, exclude_self: bool = False) -> NearKin:
    """`near_kin` of a ranking by float scores: a matrix (q, n), or a function of query positions."""
    return near_kin(scores, None, *sides, exclude_self=exclude_self)


def distinct_answers(query_codes: Codes, database_codes: Codes, k: int = TEN, own: Ints | None = None) -> int:
    """How many different lists of the first ``k`` rows the queries get, in the order (distance, row).

    ``own`` are database rows, one for every query, that it does not find because it is that row.
    """
    query_codes.require_same_kind(database_codes)
    return _distinct(
        hamming_scores(query_codes, database_codes), len(query_codes), len(database_codes), k, own
    )


def _distinct(scores: ScoreRows, n_queries: int, n_database: int, k: int, own: Ints | None) -> int:
    found = set()
    for part in block_slices(n_queries, max(1, BLOCK_NUMBERS // max(1, n_database))):
        block = np.asarray(scores(np.arange(part.start, part.stop)), np.float64)
        most = n_database
        if own is not None:
            block[np.arange(len(block)), own[part]] = -np.inf
            most -= 1
        found |= set(map(tuple, top_k(block, min(k, most)).tolist()))
    return len(found)


def some_queries(n_queries: int) -> Ints:
    """Numbers of 500 queries, evenly spaced, or of all where there are fewer.

    The first 500 would be of few classes where rows are sorted by class.
    """
    return np.unique(np.linspace(0, n_queries - 1, min(n_queries, MOST_QUERIES)).astype(np.int64))


@dataclass(frozen=True, eq=False)
class NearestKin:
    """The 20 nearest relevant rows of some queries, found once for all rankings of the same rows.

    ``rows`` (q, 20) are database rows, the most alike first, −1 where a query has fewer; ``own`` (q,) the
    database row that each query is and does not find, if any.
    """

    rows: Ints
    n_database: int
    own: Ints | None = None

    @classmethod
    def of(
        cls,
        query_labels: LabelsLike | None,
        database_labels: LabelsLike | None,
        queries: Matrix,
        database: Matrix,
        own: Ints | None = None,
    ) -> NearestKin:
        """From labels and features; all rows are relevant without labels. Earlier rows win ties."""
        n_queries, n_database = queries.shape[0], database.shape[0]
        shared = None
        if query_labels is not None:
            mine, theirs = read_labels(query_labels), read_labels(database_labels)
            if (len(mine), len(theirs)) != (n_queries, n_database):
                raise InvalidInput(
                    f"{len(mine)} and {len(theirs)} labels came with {n_queries} and {n_database} rows of "
                    "features",
                    "a label for every row of features",
                    "Pass what belongs together",
                )
            shared = shared_labels(mine, theirs)
        mean = np.asarray(database.mean(axis=0), np.float64).ravel()
        cosine = cosine_scores(unit_rows(queries, mean=mean), unit_rows(database, mean=mean))
        rows = np.full((n_queries, NEAR), -1)
        for part in block_slices(n_queries, max(1, BLOCK_NUMBERS // max(1, n_database))):
            alike = np.array(cosine(np.arange(part.start, part.stop)))
            if shared is not None:
                alike[shared(part) == 0] = -np.inf
            if own is not None:
                alike[np.arange(len(alike)), own[part]] = -np.inf
            best = top_k(alike, NEAR)
            relevant = np.isfinite(np.take_along_axis(alike, best, axis=1))
            rows[part, : best.shape[1]] = np.where(relevant, best, -1)
        return cls(rows, n_database, own)

    def score_codes(self, queries: Codes, database: Codes, n_jobs: int | None = None) -> NearKin:
        """How well distances of codes rank them."""
        if (len(queries), len(database)) != (len(self.rows), self.n_database):
            raise InvalidInput(
                f"{len(queries)} and {len(database)} codes came with {len(self.rows)} and {self.n_database} "
                "labels",
                "a label and a row of features for every code",
                "Pass what belongs together",
            )
        queries.require_same_kind(database)
        scores, found = np.full((2, len(queries)), np.nan)
        for rows, groups in query_blocks(Ranking(queries, database, self._sides()), 2, n_jobs):
            assert groups.grades is not None
            nearest = TieGroups.of_counts(groups.n, groups.grades[:, :, 2])
            scores[rows] = groups.average_precision()
            found[rows] = nearest.kin_among_first(HUNDRED) / np.maximum(nearest.n_kin, 1)
        return self._report(scores, found, distinct_answers(queries, database, own=self.own))

    def score_floats(self, scores: ScoreRows) -> NearKin:
        """How well float scores rank them, highest first."""
        precisions, found = [], []
        for row, grades in scored_rows(scores, self._sides()):
            nearest = TieGroups.of_scores(row, grades == 2)
            found.append(nearest.kin_among_first(HUNDRED)[0] / max(int(nearest.n_kin[0]), 1))
            precisions.append(TieGroups.of_scores(row, grades > 0).average_precision()[0])
        distinct = _distinct(scores, len(self.rows), self.n_database, TEN, self.own)
        return self._report(np.array(precisions), np.array(found), distinct)

    def grades(self, queries: slice) -> Bytes:
        """Relevance (k, n): 2 for the ten nearest, 1 for the other near ones, 0 for all other rows."""
        near = self.rows[queries]
        out = np.zeros((len(near), self.n_database + 1), np.uint8)  # rows numbered −1 fall into the last
        for most, grade in ((NEAR, 1), (TEN, 2)):
            np.put_along_axis(out, near[:, :most], grade, axis=1)
        return out[:, :-1]

    def _sides(self) -> Sides:
        return Sides(self.grades, len(self.rows), self.n_database, own=self.own)

    def _report(self, scores: Floats, found: Floats, distinct: int) -> NearKin:
        has = self.rows[:, 0] >= 0
        value, recall = (float(one[has].mean()) if has.any() else float("nan") for one in (scores, found))
        per_query, found = (np.where(has, one, np.nan) for one in (scores, found))
        return NearKin(value, recall, distinct, len(self.rows), per_query, found)


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


def strangers_below(kin: Array, strangers: Array) -> tuple[Ints, Ints]:
    """For the score of every similar pair: how many dissimilar pairs score less, and how many the same."""
    ordered = np.sort(strangers)
    below = np.searchsorted(ordered, kin, "left")
    return below, np.searchsorted(ordered, kin, "right") - below
