"""Average precision of rankings by Hamming distance, exact in the presence of ties.

Short codes tie: thousands of rows share a distance, and a sort then decides by accident. Here the
score is the expectation over all orders inside the ties, from a histogram of distances, with the
worst and the best order beside it. The formula is in `tie_groups.average_precisions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

from .._types import Floats
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
    ``top``: only the first places count, and the sum is divided by ``min(kin, top)``.
    ``no_kin``: queries without kin are left out ("skip") or count as 0 ("zero").
    ``exclude_self``: query i is database row i, and does not find itself.

    Rows of unknown label (None, NaN) are left out on both sides. With ``return_details`` a
    `MeanAveragePrecision` comes back: AP per query, the band between worst and best order, what was left out.

    Time: one pass over all pairs (two for "index"); peak memory beyond the inputs about 40 MB.
    """
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    formula = _formula(top)
    if return_details:
        name = "mean average precision" if top is None else f"mean average precision at {top}"
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
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> Floats:
    """Average precision of every query (q,); NaN where it has no kin or an unknown label.

    Parameters as in `mean_average_precision`.
    """
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    scores = score_queries(ranking, _formula(top), (ties,), n_jobs=n_jobs)[0]
    return spread(scores, ranking.sides)


def _formula(top: int | None) -> Callable[[QueryBlock, str], Floats]:
    if top is not None:
        check_count("top", top)

    def of_block(block: QueryBlock, order: str) -> Floats:
        n, r = block.sizes, block.kin
        if order != "index":
            return average_precisions(*arranged(n, r, order), top)
        sums = block.walk(top)
        return per_kin(sums[:, 0], r.sum(axis=1), top)

    return of_block
