"""Near-kin: how well a ranking puts the relevant rows in the order of their looks.

Many methods give all rows of a class the same code. Near-kin mAP asks for the 20 relevant rows that are most
alike to a query by the cosine of the features around their mean, so such codes score low.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinhash.codes import Codes, as_codes
from kinhash.errors import InvalidInput
from kinhash.labels import read_labels
from kinhash.metrics import (
    Ranking,
    ScoreRows,
    Sides,
    TieGroups,
    cosine_scores,
    hamming_scores,
    query_blocks,
    scored_rows,
    shared_labels,
    top_k,
    unit_rows,
)
from kinhash.plugins import Bytes, Floats, Ints, block_slices

NEAR, TEN, HUNDRED = 20, 10, 100  # rows that are near by definition, nearest rows, and answers they are among
BLOCK_NUMBERS = 2 << 20  # scores of one block of queries


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
    queries: Any,
    database: Any,
    query_labels: Any,
    database_labels: Any,
    query_features: Any,
    database_features: Any,
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


def near_kin_from_scores(scores: Any, *sides: Any, exclude_self: bool = False) -> NearKin:
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
        query_labels: Any,
        database_labels: Any,
        queries: Any,
        database: Any,
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
