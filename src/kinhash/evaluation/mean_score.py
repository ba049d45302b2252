"""A mean over queries that says what it was taken over."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .._types import Floats
from ..errors import InvalidInput, KinhashWarning, UnknownName
from .ranking import Ranking, Sides
from .scan import QueryBlock, query_blocks

__all__ = [
    "NO_KIN",
    "TIES",
    "MeanScore",
    "check_choice",
    "check_count",
    "mean_of",
    "report",
    "score_queries",
    "spread",
]

TIES = ("expected", "index", "optimistic", "pessimistic")
NO_KIN = ("skip", "zero")


@dataclass(frozen=True, eq=False)
class MeanScore:
    """A score averaged over queries, and everything one must know to compare it.

    ``per_query`` is NaN for queries without kin and for queries whose own label is unknown.
    ``worst`` and ``best`` are the same scores under the worst and the best order inside ties, and
    ``band`` holds their means: no order of the ties leaves that band.
    """

    metric: str
    value: float
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

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        counted = "counted as zero" if self.no_kin == "zero" else "left out"
        return (
            f"{self.metric} {self.value:.4f} (ties: {self.ties}; any order of ties lies within "
            f"{self.band[0]:.4f} .. {self.band[1]:.4f}) over {self.n_queries} queries, "
            f"{self.n_without_kin} without kin {counted}, {self.n_unknown_queries} of unknown label; "
            f"{self.n_database} database rows, {self.n_unknown_rows} of unknown label"
        )


def report(
    metric: str,
    ranking: Ranking,
    formula: Callable[[QueryBlock, str], Floats],
    ties: str,
    no_kin: str,
    *,
    top_grade: int | None = 1,
    n_jobs: int | None = None,
) -> MeanScore:
    """Score every query under ``ties``, and under the worst and the best order beside it."""
    check_choice("rule for queries without kin", no_kin, NO_KIN)
    orders = (ties, "pessimistic", "optimistic")
    mine, worst, best = score_queries(ranking, formula, orders, top_grade=top_grade, n_jobs=n_jobs)
    sides = ranking.sides
    value = mean_of(mine, no_kin)
    return MeanScore(
        metric=metric,
        value=value,
        band=(value, value) if np.isnan(value) else (mean_of(worst, no_kin), mean_of(best, no_kin)),
        ties=ties,
        no_kin=no_kin,
        per_query=spread(mine, sides),
        worst=spread(worst, sides),
        best=spread(best, sides),
        n_queries=sides.n_queries,
        n_without_kin=int(np.isnan(mine).sum()),
        n_unknown_queries=sides.n_unknown_queries,
        n_database=sides.n_database,
        n_unknown_rows=sides.n_unknown_rows,
    )


def score_queries(
    ranking: Ranking,
    formula: Callable[[QueryBlock, str], Floats],
    orders: tuple[str, ...],
    *,
    top_grade: int | None = 1,
    n_jobs: int | None = None,
) -> Floats:
    """Scores (orders, known queries); ``formula(block, order)`` scores one block of queries."""
    for order in orders:
        check_choice("order of ties", order, TIES)
    scores = np.full((len(orders), len(ranking.queries)), np.nan)
    for block in query_blocks(ranking, top_grade, n_jobs):
        for row, order in zip(scores, orders, strict=True):
            row[block.rows] = formula(block, order)
    return scores


def spread(scores: Floats, sides: Sides) -> Floats:
    """Scores of the known queries at their places among all queries, NaN elsewhere."""
    if sides.known_queries is None:
        return scores
    out = np.full(sides.n_queries, np.nan)
    out[sides.known_queries] = scores
    return out


def mean_of(scores: Floats, no_kin: str) -> float:
    """Mean over queries with kin, or over all with 0 for those without; NaN where none is left."""
    scores = np.nan_to_num(scores, nan=0.0) if no_kin == "zero" else scores[~np.isnan(scores)]
    if len(scores) == 0:
        warnings.warn(
            "There is no query with kin in the database, so the mean over queries is NaN.",
            KinhashWarning,
            stacklevel=4,
        )
        return float("nan")
    return float(scores.mean())


def check_choice(kind: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a word that is not among ``choices``, listing them."""
    if value not in tuple(choices):
        raise UnknownName.among(kind, value, choices)


def check_count(name: str, value: int) -> int:
    """A whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidInput(f"{name} is {value!r}", "a whole number of 1 or more", f"Choose such a {name}")
    return int(value)
