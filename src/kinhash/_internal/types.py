"""Type names of arrays. Docstrings state the shapes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Bools", "Bytes", "Distances", "Floats", "Floats32", "Ints", "Numbers", "Seed", "Words"]

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Floats32: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint64]  # of codes
Numbers: TypeAlias = npt.NDArray[np.uint32]  # of rows and codes
Distances: TypeAlias = npt.NDArray[np.uint16]
Seed: TypeAlias = int | np.random.Generator | np.random.RandomState | None
