"""The data an evaluation works on: features, labels, a name and a checksum."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinhash.errors import InvalidInput
from kinhash.labels import Labels, read_labels
from kinhash.plugins import as_matrix, block_slices

__all__ = ["Data", "read_data"]

BLOCK = 4096  # rows that are digested at a time
Matrix = Any


@dataclass(frozen=True, eq=False)
class Data:
    """Features (n, p), dense or CSR, with the labels of their rows."""

    name: str
    checksum: str
    features: Matrix
    labels: Labels


def read_data(dataset: Any) -> Data:
    """Accept ``(X, y)``, or an object with ``name``, ``features``, ``labels`` and ``checksum``.

    What comes without a checksum gets one of its contents.
    """
    if isinstance(dataset, (tuple, list)) and len(dataset) == 2:
        (X, y), name, checksum = dataset, "unnamed", ""
    elif all(hasattr(dataset, part) for part in ("name", "features", "labels", "checksum")):
        name, X, y, checksum = dataset.name, dataset.features, dataset.labels, dataset.checksum
    else:
        raise InvalidInput(
            f"The data came as {type(dataset).__name__}",
            "a pair (X, y), or a data set with a name, features, labels and a checksum",
            "Pass (X, y), or what kinhash_bench.datasets.load(name) returns",
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


def _as_matrix(X: Matrix) -> Matrix:
    if sp.issparse(X):
        return sp.csr_array(X)
    X = as_matrix(X)
    array = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    if array.ndim != 2:
        raise InvalidInput(
            f"X has shape {array.shape}", "a matrix with one row per item", "Reshape X to (rows, columns)"
        )
    return array


def _checksum(X: Matrix, labels: Labels) -> str:
    """sha256 of the values, little endian, and of the labels with their names."""
    digest = hashlib.sha256(f"{X.shape} {X.dtype.newbyteorder('<').str}".encode())
    if sp.issparse(X):
        for part, kind in ((X.indptr, "<i8"), (X.indices, "<i8"), (X.data, X.dtype.newbyteorder("<"))):
            digest.update(part.astype(kind).tobytes())
    else:
        for rows in block_slices(len(X), BLOCK):
            digest.update(np.ascontiguousarray(X[rows], X.dtype.newbyteorder("<")).tobytes())
    indicator = labels.indicator()
    for part in (labels.known, indicator.indptr, indicator.indices):
        digest.update(part.astype("<i8").tobytes())
    digest.update("\n".join(str(name) for name in labels.names.tolist()).encode())
    return digest.hexdigest()
