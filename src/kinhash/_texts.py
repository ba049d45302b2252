"""Strings of any length: one array in memory, two plain arrays in a file."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["STRING", "from_bytes", "to_bytes"]

STRING = np.dtypes.StringDType()  # fixed-width text would drop a NUL at its end


def to_bytes(texts: Iterable[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """All texts in UTF-8, one after the other, and where each of them ends."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(one) for one in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def from_bytes(text: npt.NDArray[Any], ends: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Undo `to_bytes`. Raises ValueError for arrays that it would not write, before any text is made."""
    if text.dtype != np.uint8 or text.ndim != 1 or ends.dtype != np.int64 or ends.ndim != 1:
        raise ValueError("texts in arrays of another kind")
    bounds = np.concatenate([[0], ends])
    if bounds[-1] != len(text) or (bounds[1:] < bounds[:-1]).any():
        raise ValueError("texts that end before they begin, or outside their bytes")
    raw = text.tobytes()
    return np.array([raw[begin:end].decode() for begin, end in pairwise(bounds.tolist())], STRING)
