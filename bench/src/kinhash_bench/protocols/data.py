"""Rows and labels as a protocol hands them to a method."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.labels import Labels
from kinhash.plugins import Floats, block_slices, require_memory

from .partition import Partition

__all__ = ["kin_labels", "standardized", "training_labels"]

BLOCK_ROWS = 4096

Rows = npt.NDArray[np.int64]


def standardized(X: Any, rows: Rows | None) -> npt.NDArray[np.float32]:
    """X as dense float32 with columns of mean 0 and deviation 1 over ``rows`` (None: all rows).

    A constant column becomes zero. Peak memory beyond the result: a block of 4,096 rows.
    """
    n, p = X.shape
    require_memory(4 * n * p, "Standardizing the features", "Use fewer columns, or standardize='none'")
    rows = np.arange(n) if rows is None else rows
    mean, square = np.zeros(p), np.zeros(p)
    for part in block_slices(len(rows), BLOCK_ROWS):
        mean += _dense(X, rows[part]).sum(axis=0) / len(rows)
    for part in block_slices(len(rows), BLOCK_ROWS):
        square += ((_dense(X, rows[part]) - mean) ** 2).sum(axis=0) / len(rows)
    spread = np.sqrt(square)
    scale = np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-288), spread, np.inf)
    out = np.empty((n, p), np.float32)
    for part in block_slices(n, BLOCK_ROWS):
        out[part] = (_dense(X, part) - mean) / scale
    return out


def _dense(X: Any, rows: Any) -> Floats:
    block = X[rows]
    return np.asarray(block.toarray() if sp.issparse(block) else block, np.float64)


def training_labels(labels: Labels, partition: Partition) -> Any:
    """Labels of the training rows in a form any method takes: classes by name, or an indicator matrix.

    Labels that are never to be seen are not even columns. Where tags of some rows are unknown, which
    no matrix can say, a `Labels` value is handed over.
    """
    mine = labels[partition.train]
    if mine.classes is not None:
        if mine.known.all():
            return mine.names[mine.classes]
        classes = np.full(len(mine), None, object)
        classes[mine.known] = mine.names[mine.classes[mine.known]].tolist()
        return classes
    seen = np.setdiff1d(np.arange(len(mine.names)), partition.unseen)
    assert mine.tags is not None
    tags = mine.tags if len(seen) == len(mine.names) else sp.csr_array(mine.tags[:, seen])
    return tags if mine.known.all() else Labels(mine.names[seen], mine.known, tags=tags)


def kin_labels(labels: Labels, partition: Partition) -> Labels:
    """Labels that decide who is kin when scoring: of tags, only the unseen ones where there are any."""
    if labels.tags is None or not len(partition.unseen):
        return labels
    tags = sp.csr_array(labels.tags[:, partition.unseen])
    return Labels(labels.names[partition.unseen], labels.known, tags=tags)
