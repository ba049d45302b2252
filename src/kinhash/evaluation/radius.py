"""What a search within a Hamming radius finds. Whole distances are in or out, so ties do not matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Floats
from ..errors import InvalidInput
from .mean_score import NO_KIN, check_choice, mean_of, spread
from .ranking import Ranking, read_ranking
from .scan import query_blocks

__all__ = [
    "PrecisionRecallCurve",
    "PrecisionWithinRadius",
    "precision_recall_curve",
    "precision_within_radius",
    "radius_for_precision",
]

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PrecisionWithinRadius:
    """Share of kin among what lies within ``radius`` of a query, and how often nothing does.

    ``per_query`` counts an empty look-up as 0 and is NaN for queries without kin in the database or
    of unknown label. ``n_empty`` of the averaged queries found nothing; ``value_found`` is the mean
    over the others, NaN if there is none.
    """

    value: float
    value_found: float
    radius: int
    per_query: Floats
    n_queries: int
    n_empty: int
    n_without_kin: int
    n_unknown_queries: int
    n_unknown_rows: int

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return (
            f"precision within radius {self.radius}: {self.value:.4f} over {self.n_queries} queries, "
            f"{self.n_empty} empty look-ups counted as zero ({self.value_found:.4f} without them), "
            f"{self.n_without_kin} queries without kin, {self.n_unknown_queries} of unknown label"
        )


def precision_within_radius(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = None,
    *,
    radius: int,
    n_bits: int | None = None,
    no_kin: str = "skip",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> PrecisionWithinRadius:
    """Share of kin among the rows within ``radius`` of each query; an empty look-up counts as zero.

    Other parameters, time and memory as in `mean_average_precision`.
    """
    check_choice("rule for queries without kin", no_kin, NO_KIN)
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    if isinstance(radius, bool) or not isinstance(radius, (int, np.integer)) or radius < 0:
        raise InvalidInput(f"radius is {radius!r}", "a whole number of 0 or more", "Choose such a radius")
    scores, empty = np.full(len(ranking.queries), np.nan), np.zeros(len(ranking.queries), bool)
    for block in query_blocks(ranking, n_jobs=n_jobs):
        rows, kin = block.sizes[:, : radius + 1].sum(axis=1), block.kin[:, : radius + 1].sum(axis=1)
        scores[block.rows] = np.where(block.kin.any(axis=1), kin / np.maximum(rows, 1), np.nan)
        empty[block.rows] = rows == 0
    averaged = np.ones_like(empty) if no_kin == "zero" else ~np.isnan(scores)
    found = np.nan_to_num(scores[averaged & ~empty])
    return PrecisionWithinRadius(
        value=mean_of(scores, no_kin),
        value_found=float(found.mean()) if len(found) else float("nan"),
        radius=int(radius),
        per_query=spread(scores, ranking.sides),
        n_queries=ranking.sides.n_queries,
        n_empty=int((empty & averaged).sum()),
        n_without_kin=int(np.isnan(scores).sum()),
        n_unknown_queries=ranking.sides.n_unknown_queries,
        n_unknown_rows=ranking.sides.n_unknown_rows,
    )


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision and recall at every radius 0 .. d, each an array (d + 1,).

    ``precision`` and ``recall`` are means over the queries that have kin, an empty look-up counting
    as precision 0; ``empty`` is the share of those queries that find nothing. ``pooled_precision``
    throws the pairs of all queries together (kin found / rows found), as many published curves do;
    it is NaN while nothing at all is found. ``rows`` is the mean number of rows found.
    """

    radius: Counts
    precision: Floats
    recall: Floats
    pooled_precision: Floats
    empty: Floats
    rows: Floats
    n_queries: int
    n_without_kin: int


def precision_recall_curve(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = None,
    *,
    n_bits: int | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> PrecisionRecallCurve:
    """Precision and recall of a search within every radius; see `PrecisionRecallCurve`.

    All arrays of means are NaN when no query has kin. Other parameters, time and memory as in
    `mean_average_precision`.
    """
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    return _curve(ranking, n_jobs)


def _curve(ranking: Ranking, n_jobs: int | None) -> PrecisionRecallCurve:
    d, n_queries = ranking.database.max_distance, len(ranking.queries)
    precision, recall, empty = np.zeros((3, d + 1))
    rows, kin = np.zeros((2, d + 1), np.int64)
    with_kin = 0
    for block in query_blocks(ranking, n_jobs=n_jobs):
        n, r = np.cumsum(block.sizes, axis=1), np.cumsum(block.kin, axis=1)
        rows += n.sum(axis=0)
        kin += r.sum(axis=0)
        able = r[:, -1] > 0
        n, r = n[able], r[able]
        with_kin += len(n)
        precision += (r / np.maximum(n, 1)).sum(axis=0)
        recall += (r / np.maximum(r[:, -1:], 1)).sum(axis=0)
        empty += (n == 0).sum(axis=0)
    share = 1 / with_kin if with_kin else np.nan
    return PrecisionRecallCurve(
        radius=np.arange(d + 1),
        precision=precision * share,
        recall=recall * share,
        pooled_precision=np.where(rows > 0, kin / np.maximum(rows, 1), np.nan),
        empty=empty * share,
        rows=rows / n_queries if n_queries else np.full(d + 1, np.nan),
        n_queries=n_queries,
        n_without_kin=n_queries - with_kin,
    )


def radius_for_precision(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = None,
    *,
    precision: float,
    n_bits: int | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> int | None:
    """The largest radius up to which at least this share of all rows found is kin.

    Precision is pooled over the pairs of all queries with a known label, those without kin
    included: what a user of a fixed radius will see. It first falls below ``precision`` at the radius
    after the one returned. None when the nearest rows found already fall below it (or nothing can
    be found at all). Choose the radius on validation rows, not on the queries you report.
    """
    if not 0 < precision <= 1:
        raise InvalidInput(
            f"precision is {precision!r}", "a share above 0 and up to 1", "Choose such a precision"
        )
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    pooled = _curve(ranking, n_jobs).pooled_precision
    if np.isnan(pooled).all():
        return None
    below = np.flatnonzero(pooled < precision)  # NaN, nothing found yet, is not below
    last = int(below[0]) - 1 if len(below) else len(pooled) - 1
    return last if last >= 0 and not np.isnan(pooled[last]) else None
