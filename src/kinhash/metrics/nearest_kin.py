"""Do the most similar relevant rows come first? People notice it, mAP over all relevant rows does not.

The *near kin* of a query are the few of its kin most alike to it by the cosine of the features, around their
mean over the database. Codes that know classes alone give every query of a class the same answer: their
near-kin mAP is about chance, and few *distinct answers* come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices
from .._internal.types import Array, Bytes, Floats, Ints, LabelsLike, Matrix, Numbers
from ..codes import Codes, CodesLike, as_codes
from ..errors import InvalidInput
from ..index import HammingIndex
from ..supervision import read_labels
from .cosine import ScoreRows, unit_rows
from .distance_histogram import query_blocks
from .given_rankings import scored_rows
from .ranking import Ranking, Sides
from .relevance import kin_from_relevance
from .tie_groups import TieGroups

__all__ = ["NearKin", "NearestKin", "distinct_answers", "near_kin", "near_kin_from_scores", "some_queries"]

NEAR = 20  # kin that are near by definition
NEAREST = 10  # those that should be among the first
FIRST = 100
ANSWER = 10
QUERIES = 500  # enough to know the figures to two digits
BLOCK_ROWS = 4096


def some_queries(n_queries: int) -> Ints:
    """Numbers of 500 queries, evenly spaced, or of all where there are fewer.

    The first 500 would be of few classes where rows are sorted by class.
    """
    return np.unique(np.linspace(0, n_queries - 1, min(n_queries, QUERIES)).astype(np.int64))


@dataclass(frozen=True)
class NearKin:
    """How well a ranking puts kin in the order of their looks.

    ``value`` is the mean average precision of the 20 nearest kin (near-kin mAP), ``per_query`` (q,) that of
    every query; ``recall`` the share of the 10 nearest kin among the first 100 answers, ``found`` (q,) that
    of every query; ``distinct`` how many different first tens the queries get, of ``n_queries``. Queries
    without relevant rows are NaN and left out.
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
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike,
    query_features: Matrix,
    database_features: Matrix,
    *,
    n_bits: int | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> NearKin:
    """Score a ranking by the kin most alike to each query; see `NearKin`.

    Labels are classes or tags as in `mean_average_precision`; features (q, p) and (n, p), dense or sparse.
    ``exclude_self``: query i is database row i, and does not find itself.
    Ties count as the expected value over all orders; for ``distinct``, the order is (distance, row).
    Peak memory beyond the inputs: 40 MB, and 4,096 rows of features and their cosines with all queries.
    """
    queries, database = as_codes(query_codes, n_bits), as_codes(database_codes, n_bits)
    own = np.arange(len(queries)) if exclude_self else None
    sides = query_labels, database_labels, query_features, database_features
    return NearestKin.of(*sides, own=own).score_codes(queries, database, n_jobs)


def near_kin_from_scores(
    scores: ScoreRows | Numbers,
    query_labels: LabelsLike,
    database_labels: LabelsLike,
    query_features: Matrix,
    database_features: Matrix,
    *,
    exclude_self: bool = False,
) -> NearKin:
    """`near_kin` of a ranking by float scores, highest first.

    ``scores`` is a matrix (q, n), or a function that takes query positions and gives their rows.
    """
    own = np.arange(query_features.shape[0]) if exclude_self else None
    sides = query_labels, database_labels, query_features, database_features
    rows = scores if callable(scores) else np.asarray(scores).__getitem__
    return NearestKin.of(*sides, own=own).score_floats(rows)


def distinct_answers(
    query_codes: Codes, database_codes: Codes, k: int = ANSWER, own: Ints | None = None
) -> int:
    """How many different lists of the first ``k`` rows the queries get, in the order (distance, row).

    ``own`` are database rows, one for every query, that it does not find because it is that row.
    """
    database = Codes(database_codes.packed, database_codes.n_bits, fields=database_codes.fields)
    queries = Codes(query_codes.packed, query_codes.n_bits, fields=query_codes.fields)
    index = HammingIndex.from_codes(database)
    found = index.search(queries, k=min(k, len(database)), exclude=own)
    return len(np.unique(found.ids, axis=0))


@dataclass(frozen=True, eq=False)
class NearestKin:
    """The 20 nearest kin of some queries, found once for all rankings of the same rows.

    ``rows`` (q, 20) are database rows, the most alike first, -1 where a query has fewer kin; ``own`` (q,)
    the database row that each query is and does not find, if any.
    """

    rows: Ints
    n_database: int
    own: Ints | None = None

    @classmethod
    def of(
        cls,
        query_labels: LabelsLike,
        database_labels: LabelsLike,
        queries: Matrix,
        database: Matrix,
        own: Ints | None = None,
    ) -> NearestKin:
        """From labels and features; among equal cosines the earlier rows are nearer."""
        mine, theirs = read_labels(query_labels), read_labels(database_labels)
        if (len(mine), len(theirs)) != (queries.shape[0], database.shape[0]):
            raise InvalidInput(
                f"{len(mine)} and {len(theirs)} labels came with {queries.shape[0]} and {database.shape[0]} "
                "rows of features",
                "a label for every row of features",
                "Pass what belongs together",
            )
        left, right = (sp.csr_array(one.indicator(), dtype=np.float32) for one in mine.aligned(theirs))
        mean = np.asarray(database.mean(axis=0), np.float64).ravel()
        asked = _around(queries, mean)
        best, rows = np.full((len(mine), NEAR), -np.inf), np.full((len(mine), NEAR), -1)
        for part in block_slices(len(theirs), BLOCK_ROWS):
            alike = _product(asked, _around(database[part], mean).T)
            alike[_product(left, right[part].T) == 0] = -np.inf
            if own is not None:
                here = np.flatnonzero((own >= part.start) & (own < part.stop))
                alike[here, own[here] - part.start] = -np.inf
            numbers = np.broadcast_to(np.arange(part.start, part.stop), alike.shape)
            best, rows = _largest(np.hstack([best, alike]), np.hstack([rows, numbers]), NEAR)
        order = np.argsort(-best, axis=1, kind="stable")
        rows = np.where(np.isfinite(best), rows, -1)
        return cls(np.take_along_axis(rows, order, axis=1), len(theirs), own)

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
        for rows, groups in query_blocks(
            Ranking(queries, database, self._sides()), top_grade=2, n_jobs=n_jobs
        ):
            assert groups.grades is not None
            nearest = TieGroups.of_counts(groups.n, groups.grades[:, :, 2])
            scores[rows] = groups.average_precision()
            found[rows] = nearest.kin_among_first(FIRST) / np.maximum(nearest.n_kin, 1)
        return self._report(scores, found, distinct_answers(queries, database, own=self.own))

    def score_floats(self, scores: ScoreRows) -> NearKin:
        """How well float scores rank them, highest first."""
        precisions, found, tens = [], [], set()
        for i, (row, grades) in enumerate(scored_rows(scores, self._sides())):
            nearest = TieGroups.of_scores(row, grades == 2)
            found.append(nearest.kin_among_first(FIRST)[0] / max(int(nearest.n_kin[0]), 1))
            precisions.append(TieGroups.of_scores(row, grades > 0).average_precision()[0])
            first = _first_rows(row, ANSWER)
            tens.add(tuple((first if self.own is None else first + (first >= self.own[i])).tolist()))
        return self._report(np.array(precisions), np.array(found), len(tens))

    def grades(self, queries: Ints) -> Bytes:
        """Relevance (k, n): 2 for the ten nearest kin, 1 for the other near ones, 0 for all other rows."""
        out = np.zeros((len(queries), self.n_database + 1), np.uint8)  # rows numbered -1 fall into the last
        for most, grade in ((NEAR, 1), (NEAREST, 2)):
            np.put_along_axis(out, self.rows[queries, :most], grade, axis=1)
        return out[:, :-1]

    def _sides(self) -> Sides:
        n_queries = len(self.rows)
        kin = kin_from_relevance(self.grades, n_queries, self.n_database)
        return Sides(kin, n_queries, self.n_database, own=self.own)

    def _report(self, scores: Floats, found: Floats, distinct: int) -> NearKin:
        has = self.rows[:, 0] >= 0
        value, recall = (float(one[has].mean()) if has.any() else float("nan") for one in (scores, found))
        per_query, found = (np.where(has, one, np.nan) for one in (scores, found))
        return NearKin(value, recall, distinct, len(self.rows), per_query, found)


def _largest(values: Floats, rows: Ints, most: int) -> tuple[Floats, Ints]:
    """The ``most`` largest values of every line, the first of equal ones, in their old order."""
    last = np.partition(values, -most, axis=1)[:, -most, None]
    above, equal = values > last, values == last
    missing = most - above.sum(axis=1, keepdims=True)
    kept = above | (equal & (np.cumsum(equal, axis=1) <= missing))
    return values[kept].reshape(-1, most), rows[kept].reshape(-1, most)


def _first_rows(scores: Array, k: int) -> Ints:
    """Rows of the highest scores, equal ones in the order of the rows."""
    k = min(k, len(scores))
    rows = np.flatnonzero(scores >= np.partition(scores, -k)[-k]) if k else np.empty(0, np.int64)
    return rows[np.argsort(-scores[rows].astype(np.float64), kind="stable")][:k]


def _product(left: Matrix, right: Matrix) -> Array:
    product = left @ right
    return product.toarray() if sp.issparse(product) else np.asarray(product)


def _around(X: Matrix, mean: Floats) -> Matrix:
    """Rows less the mean, at unit length; sparse rows would not stay sparse, and keep their place."""
    return unit_rows(X if sp.issparse(X) else np.asarray(X, np.float64) - mean)
