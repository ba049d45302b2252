"""Write a data set in the compact format that ``compact`` describes and reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.errors import InvalidInput
from kinhash.labels import Labels

from .base import Dataset
from .files import write_npz

__all__ = ["write_compact"]

Arrays = dict[str, npt.NDArray[Any]]


def write_compact(path: str | Path, dataset: Dataset, *, quantize: bool = False) -> None:
    """Write ``dataset`` in the compact format, all or nothing.

    ``quantize`` stores dense features as one byte per value, with 256 steps between the smallest and
    the largest value of each column: a quarter of the size for about 0.1 % of the range in error.
    """
    arrays: Arrays = {}
    if sp.issparse(dataset.features):
        X = sp.csr_array(dataset.features)
        arrays |= {
            "x_indptr": X.indptr,
            "x_indices": X.indices,
            "x_shape": np.array(X.shape),
            "x_data": X.data,
        }
    elif dataset.features is not None:
        arrays |= _quantized(dataset.features) if quantize else {"features": np.asarray(dataset.features)}
    if dataset.feature_names is not None:
        arrays["x_names"] = _plain(dataset.feature_names)
    if dataset.labels is not None:
        arrays |= _label_arrays(dataset.labels)
    if dataset.names is not None:
        arrays["image"] = _plain(dataset.names)
    if dataset.train is not None and dataset.queries is not None:
        for name, rows in (("is_train", dataset.train), ("is_test", dataset.queries)):
            arrays[name] = np.zeros(len(dataset), bool)
            arrays[name][rows] = True
    write_npz(path, arrays)


def _label_arrays(labels: Labels) -> Arrays:
    if not labels.known.all():
        raise InvalidInput(
            f"{int((~labels.known).sum())} rows have unknown labels",
            "labels for every row: the compact format has no mark for unknown ones",
            "Leave those rows out",
        )
    if labels.classes is not None:
        return {"labels": labels.classes, "class_names": _plain(labels.names).astype(str)}
    assert labels.tags is not None
    return {
        "label_indptr": labels.tags.indptr,
        "label_indices": labels.tags.indices,
        "label_names": _plain(labels.names).astype(str),
    }


def _quantized(features: npt.NDArray[Any]) -> Arrays:
    low, high = features.min(axis=0), features.max(axis=0)
    scale = np.where(high > low, (high - low) / 255, 1).astype(np.float32)
    steps = np.rint((features - low) / scale).astype(np.uint8)
    return {"features": steps, "scale": scale, "offset": low.astype(np.float32)}


def _plain(names: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return names.astype(str) if names.dtype == object else names
