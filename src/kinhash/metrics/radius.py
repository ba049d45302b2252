"""What a search within a Hamming radius finds. Whole distances are in or out, so ties do not matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.types import Floats, Ints, LabelsLike
from .._internal.validation import check_choice, check_integer
from ..codes import CodesLike
from ..errors import InvalidInput
from .distance_histogram import query_blocks
from .mean_score import NO_KIN, MeanScore, summarize
from .ranking import read_ranking

__all__ = [
    "PrecisionRecallCurve",
    "PrecisionWithinRadius",
    "precision_recall_curve",
    "precision_within_radius",
    "radius_for_precision",
]


class PrecisionWithinRadius(MeanScore):
    """Share of relevant rows among what lies within ``radius`` of a query, and how often nothing does.

    ``per_query`` counts an empty look-up as 0. ``n_empty`` of the averaged queries found nothing;
    ``value_found`` is the mean over the others, NaN if there is none.
    """

    radius: int
    value_found: float
    n_empty: int

    def __str__(self) -> str:
        return (
            f"{self.metric}: {self.value:.4f} over {self.n_queries} queries, "
            f"{self.n_empty} empty look-ups counted as zero ({self.value_found:.4f} without them), "
            f"{self.n_without_kin} queries without similar rows, {self.n_unknown_queries} of unknown label"
        )


def precision_within_radius(
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    *,
    radius: int,
    n_bits: int | None = None,
    no_kin: str = "skip",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> PrecisionWithinRadius:
    """Share of relevant rows among the rows within ``radius`` of each query; an empty look-up counts as zero.

    Other parameters, time and memory as in `mean_average_precision`.
    """
    check_choice("no_kin", no_kin, NO_KIN)
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    radius = check_integer("radius", radius, 0)
    scores, empty = np.full(len(ranking.queries), np.nan), np.zeros(len(ranking.queries), bool)
    for rows, groups in query_blocks(ranking, n_jobs=n_jobs):
        found, kin = (counts[:, : radius + 1].sum(axis=1) for counts in (groups.n, groups.r))
        scores[rows] = np.where(groups.n_kin > 0, kin / np.maximum(found, 1), np.nan)
        empty[rows] = found == 0
    averaged = np.ones_like(empty) if no_kin == "zero" else ~np.isnan(scores)
    found = np.nan_to_num(scores[averaged & ~empty])
    return summarize(
        f"precision within radius {radius}",
        np.stack([scores] * 3),
        ranking.sides,
        "expected",
        no_kin,
        kind=PrecisionWithinRadius,
        radius=radius,
        value_found=float(found.mean()) if len(found) else float("nan"),
        n_empty=int((empty & averaged).sum()),
    )


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision and recall at every radius 0 .. d, each an array (d + 1,).

    ``precision`` and ``recall`` are means over the queries that have relevant rows, an empty look-up counting
    as precision 0; ``empty`` is the share of those queries that find nothing. ``pooled_precision``
    throws the pairs of all queries together (kin found / rows found), as many published curves do;
    it is NaN while nothing at all is found. ``rows`` is the mean number of rows found.
    """

    radius: Ints
    precision: Floats
    recall: Floats
    pooled_precision: Floats
    empty: Floats
    rows: Floats
    n_queries: int
    n_without_kin: int


def precision_recall_curve(
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
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
    d, n_queries = ranking.database.max_distance, len(ranking.queries)
    precision, recall, empty, rows, kin = np.zeros((5, d + 1))
    with_kin = 0
    for _, groups in query_blocks(ranking, n_jobs=n_jobs):
        n, r = np.cumsum(groups.n, axis=1), np.cumsum(groups.r, axis=1)
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
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    *,
    precision: float,
    n_bits: int | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> int | None:
    """The largest radius up to which at least this share of all rows found is kin.

    Precision is pooled over the pairs of all queries with a known label, those without relevant rows
    included: what a user of a fixed radius will see. It first falls below ``precision`` at the radius
    after the one returned. None when the nearest rows found already fall below it (or nothing can
    be found at all). Choose the radius on validation rows, not on the queries you report.
    """
    if not 0 < precision <= 1:
        raise InvalidInput(
            f"precision is {precision!r}", "a share above 0 and up to 1", "Choose such a precision"
        )
    sides = query_codes, database_codes, query_labels, database_labels
    curve = precision_recall_curve(*sides, n_bits=n_bits, exclude_self=exclude_self, n_jobs=n_jobs)
    pooled = curve.pooled_precision
    below = np.flatnonzero(pooled < precision)  # NaN, nothing found yet, is not below
    last = int(below[0]) - 1 if len(below) else len(pooled) - 1
    return last if last >= 0 and not np.isnan(pooled[last]) else None
