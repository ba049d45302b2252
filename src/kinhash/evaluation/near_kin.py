"""Do the nearest kin come first? What a person sees, and mAP over all kin cannot.

The *near kin* of a query are the few of its kin most alike to it by the cosine of the features, around their
mean over the database. Codes that know classes alone give every query of a class the same answer: their
near-kin mAP is about chance, and few *distinct answers* come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._types import Bools, Floats
from ..codes import Codes, as_codes
from ..errors import InvalidInput
from ..index import HammingIndex
from ..labels import read_labels
from .at_k import recall_at_k
from .float_rankings import unit_rows
from .hamming_rankings import average_precision

__all__ = ["NearKin", "distinct_answers", "near_kin"]

NEAR = 20  # kin that are near by definition
NEAREST = 10  # those that should be among the first
FIRST = 100
ANSWER = 10

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NearKin:
    """How well codes rank kin by their looks.

    ``value`` is the mean average precision of the 20 nearest kin (near-kin mAP), ``per_query`` (q,) that of
    every query; ``recall`` the share of the 10 nearest kin among the first 100 answers; ``distinct`` how many
    different first tens the queries get, of ``n_queries``. Queries without kin are NaN and left out.
    """

    value: float
    recall: float
    distinct: int
    n_queries: int
    per_query: Floats


def near_kin(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any,
    query_features: Any,
    database_features: Any,
    *,
    n_bits: int | None = None,
    n_jobs: int | None = None,
) -> NearKin:
    """Score a ranking by the kin most alike to each query; see `NearKin`.

    Labels are classes or tags as in `mean_average_precision`; features (q, p) and (n, p), dense or sparse.
    Ties count as the expected value over all orders; for ``distinct``, the order is (distance, row).
    Peak memory beyond the inputs: the features at unit length, and 5 n bytes per query of a block.
    """
    queries, database = as_codes(query_codes, n_bits), as_codes(database_codes, n_bits)
    near = _NearRows.of(query_labels, database_labels, query_features, database_features)
    if (len(queries), len(database)) != near.shape:
        raise InvalidInput(
            f"{len(queries)} and {len(database)} codes came with {near.shape[0]} and {near.shape[1]} labels",
            "a label and a row of features for every code",
            "Pass what belongs together",
        )
    scores = average_precision(queries, database, lambda rows: near(rows, NEAR), n_jobs=n_jobs)
    found = recall_at_k(queries, database, lambda rows: near(rows, NEAREST), k=FIRST, n_jobs=n_jobs)
    value = float("nan") if np.isnan(scores).all() else float(np.nanmean(scores))
    return NearKin(value, found.value, distinct_answers(queries, database), len(queries), scores)


def distinct_answers(query_codes: Codes, database_codes: Codes, k: int = ANSWER) -> int:
    """How many different lists of the first ``k`` rows the queries get, in the order (distance, row)."""
    database = Codes(database_codes.packed, database_codes.n_bits, fields=database_codes.fields)
    queries = Codes(query_codes.packed, query_codes.n_bits, fields=query_codes.fields)
    found = HammingIndex.from_codes(database).search(queries, k=min(k, len(database)))
    return len(np.unique(found.ids, axis=0))


@dataclass(frozen=True)
class _NearRows:
    """Which database rows are the nearest kin of some queries."""

    queries: Any  # at unit length around the database's mean, as are the others
    database: Any
    query_labels: sp.csr_array
    database_labels: sp.csr_array

    @classmethod
    def of(cls, query_labels: Any, database_labels: Any, queries: Any, database: Any) -> _NearRows:
        mine, theirs = read_labels(query_labels), read_labels(database_labels)
        names = np.unique(np.concatenate([mine.names, theirs.names]))
        tags = [sp.csr_array(one.renamed(names).indicator(), dtype=np.float32) for one in (mine, theirs)]
        if mine.is_tags != theirs.is_tags:
            raise InvalidInput("Classes came with tags", "labels of one kind on both sides", "Pass those")
        mean = np.asarray(database.mean(axis=0), np.float64).ravel()
        return cls(_around(queries, mean), _around(database, mean), *tags)

    @property
    def shape(self) -> tuple[int, int]:
        """Queries and database rows."""
        return self.query_labels.shape[0], self.database_labels.shape[0]

    def __call__(self, rows: Rows, most: int) -> Bools:
        """Relevance (k, n) of some queries: their ``most`` nearest kin, earlier rows first among equals."""
        kin = (self.query_labels[rows] @ self.database_labels.T).toarray() > 0
        alike = np.asarray(self.queries[rows] @ self.database.T)
        alike = np.where(kin, alike, -np.inf)
        most = min(most, kin.shape[1])
        last = np.partition(alike, -most, axis=1)[:, -most, None]
        near, equal = alike > last, alike == last
        missing = most - near.sum(axis=1, keepdims=True)
        return (near | (equal & (np.cumsum(equal, axis=1) <= missing))) & kin


def _around(X: Any, mean: Floats) -> Any:
    """Rows less the mean, at unit length; sparse rows would not stay sparse, and keep their place."""
    if sp.issparse(X):
        return unit_rows(X).toarray().astype(np.float32) if X.shape[1] <= 4096 else unit_rows(X)
    return unit_rows(np.asarray(X, np.float64) - mean)
