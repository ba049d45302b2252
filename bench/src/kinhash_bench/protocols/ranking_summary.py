"""What tables and curves ask of a ranking beside its mean average precision, in one pass over the pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinhash.metrics import TieGroups, query_blocks, read_ranking
from kinhash.plugins import Floats

__all__ = ["CUTS", "PLACES", "RADIUS", "RECALLS", "RankingProfile", "ranking_profile"]

RECALLS = np.linspace(0, 1, 21)
PLACES = (10, 100, 1000)  # precision among the first N
CUTS = (1000, 5000)  # mAP of the first N, as published for ImageNet, and for NUS-WIDE and COCO
RADIUS = 2


@dataclass(frozen=True)
class RankingProfile:
    """Means over the queries that have kin, in expectation over the order of ties.

    ``ranked_precision``: precision at `RECALLS` along the ranking. ``precision_at``: share of kin among the
    first places. ``map_at``: mAP@K divided by ``min(kin, K)``, ``map_at_found``: by the kin found. Both leave
    out a K of all rows or more. ``within_radius``: precision of a look-up within `RADIUS`, empty ones as 0;
    ``empty``: the share of empty ones.
    """

    ranked_precision: tuple[float, ...]
    precision_at: dict[int, float]
    map_at: dict[int, float]
    map_at_found: dict[int, float]
    within_radius: float
    empty: float


def ranking_profile(
    queries: Any, database: Any, query_labels: Any, database_labels: Any, *, exclude_self: bool = False
) -> RankingProfile | None:
    """Profile of a ranking by Hamming distance; None where no query has kin. Memory: about 40 MB."""
    ranking = read_ranking(queries, database, query_labels, database_labels, None, exclude_self)
    cuts = [k for k in CUTS if k < len(ranking.database)]
    found: list[Floats] = []
    for _, groups in query_blocks(ranking):
        able = groups.n_kin > 0
        found.append(_of_groups(TieGroups.of_counts(groups.n[able], groups.r[able]), cuts))
    rows = np.concatenate(found) if found else np.empty((0, 0))
    if not len(rows):
        return None
    mean = iter(rows.mean(axis=0).tolist())
    return RankingProfile(
        ranked_precision=tuple(next(mean) for _ in RECALLS),
        precision_at={k: next(mean) for k in PLACES},
        map_at={k: next(mean) for k in cuts},
        map_at_found={k: next(mean) for k in cuts},
        within_radius=next(mean),
        empty=next(mean),
    )


def _of_groups(groups: TieGroups, cuts: list[int]) -> Floats:
    """One row per query, its columns in the order of `RankingProfile`."""
    near, kin = (counts[:, : RADIUS + 1].sum(axis=1) for counts in (groups.n, groups.r))
    columns = [
        *(groups.kin_among_first(k) / k for k in PLACES),
        *(groups.average_precision(k) for k in cuts),
        *(groups.average_precision(k, "found") for k in cuts),
        kin / np.maximum(near, 1),
        near == 0,
    ]
    return np.column_stack([precision_at_recall(groups, RECALLS), *columns])


def precision_at_recall(groups: TieGroups, recall: Floats) -> Floats:
    """Precisions (q, len(recall)) along the ranking; NaN for a query without kin.

    To find the share ρ of its ``K`` kin, a query goes to the place ``N + n (ρK − R) / r``, where the expected
    number of kin reaches ``ρK``.
    """
    out = np.full((len(groups.n), len(recall)), np.nan)
    for query in np.flatnonzero(groups.n_kin):
        some = np.flatnonzero(groups.r[query] > 0)  # the groups in which recall moves
        N, n, R, r = (counts[query, some] for counts in (groups.N, groups.n, groups.R, groups.r))
        target = recall * r.sum()
        at = np.minimum(np.searchsorted(R + r, target - 1e-9), len(some) - 1)
        place = N[at] + n[at] * (target - R[at]) / r[at]
        at_zero = np.where(N[at] == 0, r[at] / n[at], 0)  # the share of kin among the nearest rows
        out[query] = np.where(target > 0, target / np.where(place > 0, place, 1), at_zero)
    return out
