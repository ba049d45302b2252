"""How far the features carry without learning: ranking by cosine.

A figure to compare with the one published beside a file (``Facts.figures``), and the floor every
hasher has to beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._blocks import block_slices, map_blocks
from ..errors import InvalidInput
from ._base import Dataset

__all__ = ["CosineRanking", "cosine_ranking"]

QUERIES_AT_ONCE = 32


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
    dataset: Dataset, n_queries: int = 1000, *, standardise: bool = True, random_state: int = 0
) -> CosineRanking:
    """Rank all other rows by cosine for random labelled queries; kin share a class or a tag.

    ``standardise`` brings columns to mean 0 and variance 1 first (all rows). Chance is the mean share
    of kin. Equal cosines are ranked by row number. Peak memory beyond the set: its features as dense
    float32 once more, and 32 rankings per thread.
    """
    if dataset.labels is None:
        raise InvalidInput(f"{dataset.name} has no labels", "a data set with labels", "Pick another data set")
    Y = sp.csr_array(dataset.labels.indicator(), dtype=np.float32)
    labelled = np.flatnonzero(np.diff(Y.indptr) > 0)
    rng = np.random.default_rng(random_state)
    queries = np.sort(rng.choice(labelled, min(n_queries, len(labelled)), replace=False))
    X = None if dataset.features is None else _directions(dataset.features, standardise)
    by_tag = sp.csr_array(Y.T)

    def one(rows: slice) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        own = queries[rows]
        kin = (Y[own] @ by_tag).toarray() > 0
        kin[np.arange(len(own)), own] = False
        shares = kin.sum(axis=1) / (kin.shape[1] - 1)
        precisions = np.full(len(own), np.nan)
        if X is not None:
            cosines = X[own] @ X.T
            cosines[np.arange(len(own)), own] = -np.inf  # last, and kin to nobody
            for k in range(len(own)):
                precisions[k] = _average_precision(kin[k], cosines[k])
        return precisions, shares

    results = list(map_blocks(one, block_slices(len(queries), QUERIES_AT_ONCE)))
    precisions, shares = (np.concatenate(part) for part in zip(*results, strict=True))
    scored = precisions[~np.isnan(precisions)]
    return CosineRanking(
        mean_average_precision=float(scored.mean()) if len(scored) else None,
        standard_error=_error_of_mean(scored),
        chance=float(shares.mean()),
        chance_error=_error_of_mean(shares),
        n_queries=len(queries),
    )


def _directions(features: Any, standardise: bool) -> npt.NDArray[np.float32]:
    X: npt.NDArray[np.float32] = np.array(
        features.toarray() if sp.issparse(features) else features, np.float32, order="C"
    )
    if standardise:
        mean, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        X -= mean.astype(np.float32)
        X /= np.where(spread > 0, spread, 1).astype(np.float32)
    length = np.linalg.norm(X, axis=1, keepdims=True)
    X /= np.where(length > 0, length, 1)
    return X


def _average_precision(kin: npt.NDArray[np.bool_], scores: npt.NDArray[np.float32]) -> float:
    """Mean of the precision at each kin row; NaN without kin."""
    ranks = np.flatnonzero(kin[np.argsort(-scores, kind="stable")]) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).mean()) if len(ranks) else np.nan


def _error_of_mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
