"""Encoding a block in whatever process it lies."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._internal.types import Bytes, Features
from ..codes import n_bytes
from ..hashers import Hasher

__all__ = ["code_block", "for_workers"]


def for_workers(hasher: Hasher) -> Hasher:
    """A copy that encodes and holds nothing else; one thread, since the engine runs blocks side by side."""
    check_is_fitted(hasher, "fitted_")
    light: Hasher = hasher.without_training()
    light.n_jobs = 1
    return light


def code_block(X: Features, *, model: Hasher, how: str = "encode") -> Bytes:
    """Codes (``how`` = "encode") or bits ("transform") of a block, which may be empty."""
    if not X.shape[0]:
        bits = model.fitted_.map.n_bits
        return np.empty((0, n_bytes(bits) if how == "encode" else bits), np.uint8)
    return np.asarray(getattr(model, how)(X))
