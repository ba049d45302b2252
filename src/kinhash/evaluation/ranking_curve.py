"""Precision at every recall along the ranking itself, exact about ties.

To find the share ρ of its ``K`` kin, a query goes through its list to some place. With ``N`` rows and ``R``
kin in front of a group of ``n`` rows, ``r`` of them kin, the expected number of kin among the first ``N + t``
places is ``R + r t / n``; it reaches ``ρK`` at the place ``N + n (ρK − R) / r``, and the precision there is
``ρK`` over that place. No radius is needed, and no look-up is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Floats
from ..errors import InvalidInput
from .ranking import read_ranking
from .scan import query_blocks

__all__ = ["PrecisionAtRecall", "precision_at_recall", "precisions_at_recalls"]

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PrecisionAtRecall:
    """``precision`` (len(recall),): mean over the queries that have kin; ``per_query`` (q, len(recall))."""

    recall: Floats
    precision: Floats
    per_query: Floats
    n_queries: int
    n_without_kin: int


def precision_at_recall(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = None,
    *,
    recall: Any = None,
    n_bits: int | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> PrecisionAtRecall:
    """Precision at these shares of the kin (0 to 1; 0.05 steps unless given) along the ranking.

    At recall 0 it is the share of kin among the nearest rows there are. Other parameters, time and memory as
    in `mean_average_precision`.
    """
    wanted = np.linspace(0, 1, 21) if recall is None else np.atleast_1d(np.asarray(recall, np.float64))
    if wanted.ndim != 1 or not len(wanted) or not ((wanted >= 0) & (wanted <= 1)).all():
        raise InvalidInput("recall is not a list of shares", "numbers from 0 to 1", "Pass such numbers")
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    found = np.full((len(ranking.queries), len(wanted)), np.nan)
    for block in query_blocks(ranking, n_jobs=n_jobs):
        found[block.rows] = precisions_at_recalls(block.sizes, block.kin, wanted)
    able = ~np.isnan(found[:, 0])
    mean = found[able].mean(axis=0) if able.any() else np.full(len(wanted), np.nan)
    return PrecisionAtRecall(wanted, mean, found, len(found), int((~able).sum()))


def precisions_at_recalls(n: Counts, r: Counts, recall: Floats) -> Floats:
    """Precisions (q, len(recall)) of groups (q, g); NaN for a query without kin."""
    out = np.full((len(n), len(recall)), np.nan)
    places, kin = np.cumsum(n, axis=1), np.cumsum(r, axis=1)
    for query in np.flatnonzero(kin[:, -1] > 0):
        some = np.flatnonzero(r[query] > 0)  # the groups in which recall moves
        target = recall * kin[query, -1]
        group = some[np.minimum(np.searchsorted(kin[query, some], target - 1e-9), len(some) - 1)]
        size, own = n[query, group], r[query, group]
        before = kin[query, group] - own
        place = places[query, group] - size + size * (target - before) / own
        first = places[query, group] - size == 0  # at recall 0 both vanish: the share of the first group
        out[query] = np.where(
            target > 0, target / np.where(place > 0, place, 1), np.where(first, own / size, 0)
        )
    return out
