"""A mean over queries that says what it was taken over."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, KinhashWarning, UnknownName
from ._ranking import Sides

__all__ = ["NO_KIN", "TIES", "MeanScore", "check_choice", "check_count", "mean_of", "report", "spread"]

TIES = ("expected", "index", "optimistic", "pessimistic")
NO_KIN = ("skip", "zero")

Floats = npt.NDArray[np.float64]


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

    def __str__(self) -> str:
        counted = "counted as zero" if self.no_kin == "zero" else "left out"
        return (
            f"{self.metric} {self.value:.4f} (ties: {self.ties}; any order of ties lies within "
            f"{self.band[0]:.4f} .. {self.band[1]:.4f}) over {self.n_queries} queries, "
            f"{self.n_without_kin} without kin {counted}, {self.n_unknown_queries} of unknown label; "
            f"{self.n_database} database rows, {self.n_unknown_rows} of unknown label"
        )


def report(metric: str, scores: Mapping[str, Floats], ties: str, no_kin: str, sides: Sides) -> MeanScore:
    """Bring the scores of the known queries under each order of ties into one value."""
    mine = scores[ties]
    value, *band = (mean_of(scores[order], no_kin) for order in (ties, "pessimistic", "optimistic"))
    return MeanScore(
        metric=metric,
        value=value,
        band=(band[0], band[1]),
        ties=ties,
        no_kin=no_kin,
        per_query=spread(mine, sides),
        worst=spread(scores["pessimistic"], sides),
        best=spread(scores["optimistic"], sides),
        n_queries=sides.n_queries,
        n_without_kin=int(np.isnan(mine).sum()),
        n_unknown_queries=sides.n_queries - len(sides.queries),
        n_database=sides.n_database,
        n_unknown_rows=sides.n_database - len(sides.rows),
    )


def spread(scores: Floats, sides: Sides) -> Floats:
    """Scores of the known queries at their places among all queries, NaN elsewhere."""
    if len(scores) == sides.n_queries:
        return scores
    out = np.full((sides.n_queries, *scores.shape[1:]), np.nan)
    out[sides.queries] = scores
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
