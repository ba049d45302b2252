"""Scores of single classes or tags, the worst first: a mean over queries hides those that are never found."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._internal.types import Floats
from ..supervision import Labels

__all__ = ["ScoreOfLabel", "scores_by_label"]


class ScoreOfLabel(NamedTuple):
    """A class or tag, how many queries carry it, their mean score, and the same of another way to search."""

    label: Any
    queries: int
    score: float
    other: float | None = None


def scores_by_label(per_query: Floats, other: Floats | None, labels: Labels) -> list[ScoreOfLabel]:
    """From the scores of single queries (q,) with these labels; a query with several tags counts for each.

    Queries without relevant rows (NaN) are left out, and so are labels that no other query carries. Of
    equal scores the label with more queries comes first.
    """
    counted = ~np.isnan(per_query)
    carrying = labels.indicator()[np.flatnonzero(counted)].astype(np.float64)
    queries = np.asarray(carrying.sum(axis=0)).ravel()
    found = np.flatnonzero(queries)

    def means(scores: Floats) -> Floats:
        return np.asarray(carrying.T @ scores[counted], np.float64)[found] / queries[found]

    own = means(per_query)
    beside = None if other is None else means(other)
    names = labels.names.tolist()
    return [
        ScoreOfLabel(
            names[found[place]],
            int(queries[found[place]]),
            float(own[place]),
            None if beside is None else float(beside[place]),
        )
        for place in np.lexsort((-queries[found], own))
    ]
