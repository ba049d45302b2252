"""Names of types: of arrays, and of what users hand in. Docstrings state the shapes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

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

Facts: TypeAlias = dict[str, Any]  # values by name, as reports, headers of files and JSON hold them

# What users hand in has no common type. The door (`validation`) checks features, and leaves a `Matrix`.
Features: TypeAlias = Any  # rows of numbers: array, memory map, sparse, tensor, Arrow table or data frame
LabelsLike: TypeAlias = Any  # classes, tags or an indicator matrix; measures take a relevance as well
Matrix: TypeAlias = Any  # rows of numbers as an array, a memory map or CSR
