"""Mean average precision of a data set ranked by cosine, without learning.

To compare with the figure published beside a file (``Facts.figures``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinhash.errors import InvalidInput
from kinhash.metrics import Sides, TieGroups, read_sides, scored_rows
from kinhash.plugins import Floats, block_slices

from ..datasets import Dataset
from .float_rankings import Cosine, score_rows

__all__ = ["CosineRanking", "cosine_ranking"]

BLOCK_BYTES = 16 << 20


@dataclass(frozen=True)
class CosineRanking:
    """Mean average precision over queries, its standard error, and what a random order would give.

    ``mean_average_precision`` is None for sets that hold tags only.
    """

    mean_average_precision: float | None
    standard_error: float
    chance: float
    chance_error: float
    n_queries: int


def cosine_ranking(
    dataset: Dataset, n_queries: int = 1000, *, standardize: bool = True, random_state: int = 0
) -> CosineRanking:
    """Rank all other rows by cosine for random labeled queries; kin share a class or a tag.

    ``standardize`` brings columns to mean 0 and variance 1 first (all rows). Chance is the mean share
    of kin. Equal cosines count with the mean over all their orders; rows of unknown label are left out.
    Peak memory beyond the set: its features as float32 once or twice more, and blocks of 16 MB.
    """
    if dataset.labels is None:
        raise InvalidInput(f"{dataset.name} has no labels", "a data set with labels", "Pick another data set")
    labels, n_rows = dataset.labels, len(dataset.labels)
    labeled = np.flatnonzero(np.diff(labels.indicator().indptr) > 0)
    rng = np.random.default_rng(random_state)
    queries = np.sort(rng.choice(labeled, min(n_queries, len(labeled)), replace=False))
    sides = read_sides(labels[queries], labels, len(queries), n_rows, queries)
    shares, scored = _kin_shares(sides), np.empty(0)
    if dataset.features is not None:
        cosine = Cosine(standardize).fit(dataset.features)
        rows = cosine.prepare(dataset.features)
        each = scored_rows(score_rows(cosine, rows[queries], rows), sides)
        precisions = [TieGroups.of_scores(row, grades > 0).average_precision()[0] for row, grades in each]
        scored = np.array([one for one in precisions if not np.isnan(one)])
    return CosineRanking(
        mean_average_precision=float(scored.mean()) if len(scored) else None,
        standard_error=_error_of_mean(scored),
        chance=float(shares.mean()),
        chance_error=_error_of_mean(shares),
        n_queries=len(queries),
    )


def _kin_shares(sides: Sides) -> Floats:
    """Share of kin among all other rows, for every query."""
    assert sides.own is not None
    n_known = sides.n_database - sides.n_unknown_rows
    kin = np.empty(sides.n_queries)
    for part in block_slices(sides.n_queries, max(1, BLOCK_BYTES // n_known)):
        grades = sides.grades(part)
        grades[np.arange(len(grades)), sides.own[part]] = 0
        kin[part] = (grades > 0).sum(axis=1)
    return kin / (n_known - 1)


def _error_of_mean(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
