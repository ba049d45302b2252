"""Names of values that type checkers cannot tell apart. NumPy is not needed, so commands start quickly."""

from __future__ import annotations

from typing import Any, TypeAlias

Facts: TypeAlias = dict[str, Any]  # values by name, as reports, headers of files and JSON hold them

# What users hand in has no common type. The door (`validation`) checks features, and leaves a `Matrix`.
Features: TypeAlias = Any  # rows of numbers: array, memory map, sparse, tensor, Arrow table or data frame
LabelsLike: TypeAlias = Any  # classes, tags or an indicator matrix; measures take a relevance as well
Matrix: TypeAlias = Any  # rows of numbers as an array, a memory map or CSR
