"""Names of types: of arrays, and of what users hand in (`aliases`). Docstrings state the shapes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .aliases import Facts as Facts
from .aliases import Features as Features
from .aliases import LabelsLike as LabelsLike
from .aliases import Matrix as Matrix

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Floats32: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint64]  # of codes
Numbers32: TypeAlias = npt.NDArray[np.uint32]  # of rows and codes
Ints32: TypeAlias = npt.NDArray[np.int32]
Distances: TypeAlias = npt.NDArray[np.uint16]
Rng: TypeAlias = np.random.Generator
Seed: TypeAlias = int | Rng | np.random.RandomState | None
Numbers: TypeAlias = npt.ArrayLike  # that users hand in: row numbers, weights, verdicts; a list or a column
