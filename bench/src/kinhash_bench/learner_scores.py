"""Scores of rankings with tied rows, as expected values: average precision, the first ten, near neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["agreement", "found_precision", "levels", "near", "scored", "unit"]

LEVELS = 65_535
KEYS = ("map", "ten", "exact", "jaccard")

Array = npt.NDArray[Any]
Figures = dict[str, float]


def unit(X: Array) -> Array:
    """Rows at length one."""
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9), np.float32)


def levels(scores: Array) -> Array:
    """Whole numbers (q, n) that order rows as scores (q, n) do, the highest first."""
    top = scores.max(axis=1, keepdims=True)
    spread = np.maximum(top - scores.min(axis=1, keepdims=True), 1e-12)
    return ((top - scores) * (LEVELS / spread)).astype(np.int32)


@njit(cache=True)
def _expected(distances: Array, gains: Array, own: Array) -> tuple[Array, Array]:
    """Average precision (q,) by the first gain, and the mean of each gain (q, g) in the first ten."""
    n_queries, n, n_gains = gains.shape
    levels = distances.max() + 1
    precision, first = np.zeros(n_queries), np.zeros((n_queries, n_gains))
    for i in range(n_queries):
        count, sums = np.zeros(levels, np.int64), np.zeros((levels, n_gains))
        for j in range(n):
            if j != own[i]:
                count[distances[i, j]] += 1
                for g in range(n_gains):
                    sums[distances[i, j], g] += gains[i, j, g]
        before, found, total = 0, 0.0, 0.0
        for level in range(levels):
            size = count[level]
            if size == 0:
                continue
            taken = min(size, max(10 - before, 0))
            for g in range(n_gains):
                first[i, g] += sums[level, g] * taken / size / 10
            relevant = sums[level, 0]
            if relevant > 0:
                others = (relevant - 1) / (size - 1) if size > 1 else 0.0
                for k in range(size):
                    total += relevant / size * (found + 1 + k * others) / (before + k + 1)
            before, found = before + size, found + relevant
        precision[i] = total / found if found else np.nan
    return precision, first


@njit(cache=True)
def _near(distances: Array, best: Array, own: Array, most: int) -> Array:
    """Share (q,) of the rows in ``best`` (−1: none) that are among the first ``most``."""
    n_queries, n = distances.shape
    share, levels = np.full(n_queries, np.nan), distances.max() + 1
    for i in range(n_queries):
        count = np.zeros(levels, np.int64)
        for j in range(n):
            if j != own[i]:
                count[distances[i, j]] += 1
        before, level = 0, 0
        while level < levels and before + count[level] <= most:
            before, level = before + count[level], level + 1
        hits, total = 0.0, 0
        for j in best[i]:
            if j >= 0:
                total += 1
                if distances[i, j] < level:
                    hits += 1
                elif distances[i, j] == level:
                    hits += (most - before) / count[level]
        if total:
            share[i] = hits / total
    return share


def agreement(y: Array, z: Array) -> Array:
    """Gains (q, n, g): the same class; of tags at least one shared, all shared, Jaccard."""
    if y.ndim == 1:
        return (y[:, None] == z[None]).astype(np.float32)[..., None]
    shared = y @ z.T
    jaccard = shared / (y.sum(axis=1)[:, None] + z.sum(axis=1)[None] - shared)
    return np.stack([shared > 0, jaccard > 0.999, jaccard], axis=2).astype(np.float32)


def scored(distances: Array, gains: Array, name: str = "", own: Array | None = None) -> Figures:
    """mAP and the first ten; of tags also exact matches and mean Jaccard in the first ten."""
    precision, first = _expected(distances, gains, _own(distances, own))
    values = [np.nanmean(precision), *first.mean(axis=0)]
    return {
        f"{name}{key}": float(v) for key, v in zip(("map", "ten", "exact", "jaccard"), values, strict=False)
    }


def near(distances: Array, X: Array, Z: Array, gains: Array | None, own: Array | None = None) -> float:
    """Of the ten nearest (relevant) rows by cosine, the share in the first hundred."""
    mean, own = Z.mean(axis=0), _own(distances, own)
    cosine = unit(X - mean) @ unit(Z - mean).T
    if gains is not None:
        cosine[gains[..., 0] == 0] = -9
    cosine[np.flatnonzero(own >= 0), own[own >= 0]] = -9
    best = np.argpartition(-cosine, 10, axis=1)[:, :10]
    best = np.where(np.take_along_axis(cosine, best, axis=1) > -9, best, -1)
    return float(np.nanmean(_near(distances, best, own, 100)))


def found_precision(distances: Array, gains: Array, most: int = 1_000) -> float:
    """Mean average precision of the first ``most``, divided by the relevant rows found; ties by row."""
    order = np.argsort(distances, axis=1, kind="stable")[:, :most]
    hits = np.take_along_axis(gains[..., 0], order, axis=1)
    precision = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
    return float(((precision * hits).sum(axis=1) / np.maximum(hits.sum(axis=1), 1)).mean())


def _own(distances: Array, own: Array | None) -> Array:
    return np.full(len(distances), -1) if own is None else own
