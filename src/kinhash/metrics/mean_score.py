"""A mean over queries that says what it was taken over."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Self, TypeVar

import numpy as np

from .._internal.types import Floats
from .._internal.validation import check_choice
from ..errors import KinhashWarning
from .distance_histogram import ordered_queries, query_blocks
from .ranking import Ranking, Sides
from .tie_groups import TIES, TieGroups

__all__ = ["NO_KIN", "MeanScore", "mean_of", "score_queries", "summarize"]

NO_KIN = ("skip", "zero")
Formula = Callable[[TieGroups, str], Floats]  # groups of some queries, the order of ties → their scores
Score = TypeVar("Score", bound="MeanScore")


class MeanScore(float):
    """A score averaged over queries: a number that knows all one needs to compare it.

    ``per_query`` is NaN for queries without relevant rows and for queries whose own label is unknown.
    ``worst`` and ``best`` are the same scores under the worst and the best order inside ties, and
    ``band`` holds their means: no order of the ties leaves that band. ``n_queries`` and ``n_database`` count
    all rows; ``n_without_kin`` are queries without a relevant row, ``n_unknown_queries`` and
    ``n_unknown_rows`` those of unknown label, which are left out.
    """

    metric: str
    band: tuple[float, float]
    ties: str
    no_kin: str
    per_query: Floats
    worst: Floats
    best: Floats
    n_queries: int
    n_without_kin: int
    n_unknown_queries: int
    n_database: int
    n_unknown_rows: int

    def __new__(cls, value: float, **facts: object) -> Self:
        self = super().__new__(cls, value)
        vars(self).update(facts)
        return self

    @property
    def value(self) -> float:
        """The mean as a plain number."""
        return float(self)

    def __str__(self) -> str:
        counted = "counted as zero" if self.no_kin == "zero" else "left out"
        return (
            f"{self.metric} {self.value:.4f} (ties: {self.ties}; any order of ties lies within "
            f"{self.band[0]:.4f} .. {self.band[1]:.4f}) over {self.n_queries} queries, "
            f"{self.n_without_kin} without similar rows {counted}, "
            f"{self.n_unknown_queries} of unknown label; {self.n_database} database rows, "
            f"{self.n_unknown_rows} of unknown label"
        )


def summarize(
    metric: str,
    scores: Floats,
    sides: Sides,
    ties: str,
    no_kin: str,
    means: list[float] | None = None,
    kind: type[Score] = MeanScore,  # type: ignore[assignment]
    **more: object,
) -> Score:
    """A mean score from scores (3, known queries) under ``ties``, the worst and the best order.

    ``means`` are the three values, where they are not means over queries; ``more`` what ``kind`` adds.
    """
    if means is None:
        value = mean_of(scores[0], no_kin)
        means = [value] * 3 if np.isnan(value) else [value, *(mean_of(row, no_kin) for row in scores[1:])]
    mine, worst, best = (sides.spread(row) for row in scores)
    return kind(
        means[0],
        metric=metric,
        band=(means[1], means[2]),
        ties=ties,
        no_kin=no_kin,
        per_query=mine,
        worst=worst,
        best=best,
        n_queries=sides.n_queries,
        n_without_kin=int(np.isnan(scores[0]).sum()),
        n_unknown_queries=sides.n_unknown_queries,
        n_database=sides.n_database,
        n_unknown_rows=sides.n_unknown_rows,
        **more,
    )


def score_queries(
    ranking: Ranking,
    formula: Formula,
    orders: tuple[str, ...],
    *,
    top_grade: int | None = 1,
    n_jobs: int | None = None,
) -> Floats:
    """Scores (orders, known queries) by ``formula`` under each of these orders of ties."""
    for order in orders:
        check_choice("ties", order, TIES)
    scores = np.full((len(orders), len(ranking.queries)), np.nan)
    if set(orders) != {"index"}:
        for rows, groups in query_blocks(ranking, top_grade, n_jobs):
            for row, order in zip(scores, orders, strict=True):
                if order != "index":
                    row[rows] = formula(groups, order)
    if "index" in orders:
        for rows, groups in ordered_queries(ranking):
            scores[orders.index("index"), rows] = formula(groups, "index")
    return scores


def mean_of(scores: Floats, no_kin: str) -> float:
    """Mean over queries with relevant rows, or over all with 0 for those without; NaN where none is left."""
    scores = np.nan_to_num(scores, nan=0.0) if no_kin == "zero" else scores[~np.isnan(scores)]
    if len(scores) == 0:
        warnings.warn(
            "No query has a similar row in the database, so the mean over queries is NaN.",
            KinhashWarning,
            stacklevel=5,
        )
        return float("nan")
    return float(scores.mean())
