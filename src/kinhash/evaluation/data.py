"""The data a protocol works on: features, labels, a name and a checksum."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._blocks import FIT_ROWS, block_slices, require_memory
from .._inputs import as_matrix
from .._types import Floats
from ..datasets import Dataset
from ..errors import InvalidInput
from ..labels import Labels, read_labels
from .partition import Partition

__all__ = ["Data", "kin_labels", "read_data", "standardised", "training_labels"]

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Data:
    """Features (n, p), dense or CSR, with the labels of their rows."""

    name: str
    checksum: str
    features: Any
    labels: Labels


def read_data(dataset: Any) -> Data:
    """Accept a `Dataset` or ``(X, y)``; what comes without a checksum gets one of its contents."""
    if isinstance(dataset, Dataset):
        name, X, y, checksum = dataset.name, dataset.features, dataset.labels, dataset.checksum
    elif isinstance(dataset, (tuple, list)) and len(dataset) == 2:
        (X, y), name, checksum = dataset, "unnamed", ""
    else:
        raise InvalidInput(
            f"The data came as {type(dataset).__name__}",
            "a kinhash.datasets.Dataset, or a pair (X, y)",
            "Pass (X, y), or kinhash.datasets.load(name)",
        )
    if X is None:
        raise InvalidInput(f"{name} has no features", "a matrix of features", "Pick another data set")
    if y is None:
        raise InvalidInput(
            f"The data set ({name}) has no labels", "classes or tags for its rows", "Pass labels, too"
        )
    X = _as_matrix(X)
    labels = read_labels(y, X.shape[0])
    return Data(name, checksum or _checksum(X, labels), X, labels)


def _as_matrix(X: Any) -> Any:
    if sp.issparse(X):
        return sp.csr_array(X)
    X = as_matrix(X)
    array = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    if array.ndim != 2:
        raise InvalidInput(
            f"X has shape {array.shape}", "a matrix with one row per item", "Reshape X to (rows, columns)"
        )
    return array


def _checksum(X: Any, labels: Labels) -> str:
    """sha256 of the values, little endian, and of the labels with their names."""
    digest = hashlib.sha256(f"{X.shape} {X.dtype.newbyteorder('<').str}".encode())
    if sp.issparse(X):
        for part, kind in ((X.indptr, "<i8"), (X.indices, "<i8"), (X.data, X.dtype.newbyteorder("<"))):
            digest.update(part.astype(kind).tobytes())
    else:
        for rows in block_slices(len(X), FIT_ROWS):
            digest.update(np.ascontiguousarray(X[rows], X.dtype.newbyteorder("<")).tobytes())
    indicator = labels.indicator()
    for part in (labels.known, indicator.indptr, indicator.indices):
        digest.update(part.astype("<i8").tobytes())
    digest.update("\n".join(str(name) for name in labels.names.tolist()).encode())
    return digest.hexdigest()


def standardised(X: Any, rows: Rows | None) -> npt.NDArray[np.float32]:
    """X as dense float32 with columns of mean 0 and deviation 1 over ``rows`` (None: all rows).

    A constant column becomes zero. Peak memory beyond the result: a block of 4,096 rows.
    """
    n, p = X.shape
    require_memory(4 * n * p, "Standardising the features", "Use fewer columns, or standardise='none'")
    rows = np.arange(n) if rows is None else rows
    mean, square = np.zeros(p), np.zeros(p)
    for part in block_slices(len(rows), FIT_ROWS):
        mean += _dense(X, rows[part]).sum(axis=0) / len(rows)
    for part in block_slices(len(rows), FIT_ROWS):
        square += ((_dense(X, rows[part]) - mean) ** 2).sum(axis=0) / len(rows)
    spread = np.sqrt(square)
    scale = np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-288), spread, np.inf)
    out = np.empty((n, p), np.float32)
    for part in block_slices(n, FIT_ROWS):
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
