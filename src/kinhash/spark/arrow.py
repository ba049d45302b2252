"""Columns of Arrow batches as NumPy arrays, and codes as a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from .._internal.types import Array, Bytes
from ..errors import InvalidInput

__all__ = ["binary_column", "features_of", "labels_of"]


def features_of(column: Any) -> Array:
    """A matrix (n, p) from a column of number arrays, which must all have one length."""
    array = _whole(column)
    if array.null_count:
        raise InvalidInput(
            "The features column holds nulls", "an array or a vector in every row", "Drop such rows"
        )
    widths = np.diff(array.offsets.to_numpy())
    if len(widths) and (widths != widths[0]).any():
        raise InvalidInput(
            f"The features have {widths.min()} to {widths.max()} entries", "one length", "Drop such rows"
        )
    return _numbers(array.flatten()).reshape(len(array), int(widths[0]) if len(widths) else 0)


def labels_of(column: Any) -> Any:
    """What `read_labels` takes: classes, tag sets (arrays), or an indicator (arrays of fractions)."""
    array = _whole(column)
    if not pa.types.is_list(array.type):
        return array.to_numpy(zero_copy_only=False)
    if pa.types.is_floating(array.type.value_type):  # vectors of zeros and ones
        return features_of(array)
    return [None if row is None else set(row) for row in array.to_pylist()]


def binary_column(codes: Bytes) -> Any:
    """Packed codes (n, bytes) as a binary column."""
    data = pa.py_buffer(np.ascontiguousarray(codes))
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(codes.shape[1]), len(codes), [None, data])
    return fixed.cast(pa.binary())


def _numbers(values: Any) -> Array:
    # A null inside becomes NaN, which is refused where blocks are checked.
    return values.to_numpy(zero_copy_only=False)


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
