"""Average precision of rankings by Hamming distance, exact in the presence of ties.

Short codes tie: thousands of rows share a distance, and a sort then decides by accident. Here the
score is the expectation over all orders inside the ties, from a histogram of distances, with the
worst and the best order beside it. The formula is in `tie_groups.average_precisions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from .._types import Floats
from .kin_found import DIVISORS, precisions_of_found
from .mean_score import NO_KIN, MeanScore, check_choice, check_count, mean_of, report, score_queries, spread
from .ranking import read_ranking
from .scan import QueryBlock
from .tie_groups import arranged, average_precisions, per_kin

__all__ = ["MeanAveragePrecision", "average_precision", "mean_average_precision"]

MeanAveragePrecision = MeanScore  # what ``return_details=True`` gives


@overload
def mean_average_precision(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = ...,
    *,
    n_bits: int | None = ...,
    ties: str = ...,
    top: int | None = ...,
    divide_by: str = ...,
    return_details: Literal[False] = ...,
    no_kin: str = ...,
    exclude_self: bool = ...,
    n_jobs: int | None = ...,
) -> float: ...
@overload
def mean_average_precision(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = ...,
    *,
    n_bits: int | None = ...,
    ties: str = ...,
    top: int | None = ...,
    divide_by: str = ...,
    return_details: Literal[True],
    no_kin: str = ...,
    exclude_self: bool = ...,
    n_jobs: int | None = ...,
) -> MeanAveragePrecision: ...
def mean_average_precision(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = None,
    *,
    n_bits: int | None = None,
    ties: str = "expected",
    top: int | None = None,
    divide_by: str = "kin",
    return_details: bool = False,
    no_kin: str = "skip",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> float | MeanAveragePrecision:
    """Mean over queries of the average precision of the database ranked by Hamming distance.

    Codes are `Codes` or packed uint8 rows (with ``n_bits`` when it is not 8 per byte). Labels are
    classes, an indicator matrix or tag sets; kin have the same class or share a tag. Instead of
    labels, a relevance: a matrix (queries, database), or a function that takes query positions and
    gives those rows of it, as ``query_labels`` with ``database_labels=None``.

    ``ties``: "expected" (mean over all orders of rows at equal distance), "index" (in the order of
    the database, as a stable sort would do), "optimistic" or "pessimistic" (the best or worst order).
    ``top``: only the first places count, and the sum is divided by ``min(kin, top)`` or, with
    ``divide_by="found"``, by the kin that stand there (0 where none does), as HashNet's program and many
    after it do; see `kinhash.evaluation.kin_found`.
    ``no_kin``: queries without kin are left out ("skip") or count as 0 ("zero").
    ``exclude_self``: query i is database row i, and does not find itself.

    Rows of unknown label (None, NaN) are left out on both sides. With ``return_details`` a
    `MeanAveragePrecision` comes back: AP per query, the band between worst and best order, what was left out.

    Time: one pass over all pairs (two for "index"); peak memory beyond the inputs about 40 MB.
    """
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    formula = _formula(top, divide_by)
    if return_details:
        name = "mean average precision" if top is None else f"mean average precision at {top}"
        name += " by kin found" if top is not None and divide_by == "found" else ""
        return report(name, ranking, formula, ties, no_kin, n_jobs=n_jobs)
    check_choice("rule for queries without kin", no_kin, NO_KIN)
    return mean_of(score_queries(ranking, formula, (ties,), n_jobs=n_jobs)[0], no_kin)


def average_precision(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = None,
    *,
    n_bits: int | None = None,
    ties: str = "expected",
    top: int | None = None,
    divide_by: str = "kin",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> Floats:
    """Average precision of every query (q,); NaN where it has no kin or an unknown label.

    Parameters as in `mean_average_precision`.
    """
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    scores = score_queries(ranking, _formula(top, divide_by), (ties,), n_jobs=n_jobs)[0]
    return spread(scores, ranking.sides)


def _formula(top: int | None, divide_by: str) -> Callable[[QueryBlock, str], Floats]:
    if top is not None:
        check_count("top", top)
    check_choice("divisor", divide_by, DIVISORS)

    def of_block(block: QueryBlock, order: str) -> Floats:
        n, r = block.sizes, block.kin
        if order == "index":
            sums = block.walk(top)
            if divide_by == "found":
                return np.where(r.any(axis=1), sums[:, 0] / np.maximum(sums[:, 1], 1), np.nan)
            return per_kin(sums[:, 0], r.sum(axis=1), top)
        if divide_by == "found":
            return precisions_of_found(n, r, top, order)
        return average_precisions(*arranged(n, r, order), top)

    return of_block
