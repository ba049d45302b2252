"""Encoding a block in whatever process it lies."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from ..hashers.base import Hasher
from ..codes import n_bytes

__all__ = ["code_block", "for_workers"]

TRAINING = ("_stream", "_codes", "_group_of_row", "_group_marginals", "_listener", "report_")


def for_workers(hasher: Hasher) -> Hasher:
    """A copy that encodes and holds nothing else; one thread, since the engine runs blocks side by side."""
    check_is_fitted(hasher, "_map")
    light = copy.copy(hasher)
    for name in TRAINING:
        light.__dict__.pop(name, None)
    light.n_jobs = 1
    return light


def code_block(X: Any, *, model: Hasher, how: str = "encode") -> npt.NDArray[np.uint8]:
    """Codes (``how`` = "encode") or bits ("transform") of a block, which may be empty."""
    if not X.shape[0]:
        bits = model._n_features_out
        return np.empty((0, n_bytes(bits) if how == "encode" else bits), np.uint8)
    coded: npt.NDArray[np.uint8] = getattr(model, how)(X)
    return coded
