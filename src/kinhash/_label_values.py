"""Values that users hand in as labels: taken out of their containers, and which of them are missing."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import InvalidInput

__all__ = ["is_missing", "missing_in", "objects", "plain", "require_one_kind", "unwrapped"]


def unwrapped(y: Any) -> Any:
    """Columns of dataframes and masked arrays as NumPy arrays or lists; no value is rounded or lost."""
    if np.ma.isMaskedArray(y):
        values: Any = np.array(y.data, object)
        values[np.ma.getmaskarray(y)] = None
        return values
    if getattr(y, "ndim", 1) == 2 and hasattr(y, "to_numpy"):
        return _from_frame(y)
    if hasattr(y, "to_pylist"):  # pyarrow
        return y.to_pylist()
    if hasattr(y, "null_count") and hasattr(y, "to_list"):  # polars rounds integers beside nulls
        return y.to_list() if y.null_count() or y.dtype.is_nested() else y.to_numpy()
    if hasattr(y, "to_numpy") and hasattr(y, "dtype"):  # pandas
        return y.to_numpy() if isinstance(y.dtype, np.dtype) else y.to_numpy(dtype=object)
    return y


def _from_frame(y: Any) -> Any:
    """A dataframe with one column as that column; a wider one as a 2-D array."""
    if y.shape[1] == 1:
        return unwrapped(y.iloc[:, 0] if hasattr(y, "iloc") else y.to_series(0))
    simple = not hasattr(y, "iloc") or all(isinstance(dtype, np.dtype) for dtype in y.dtypes)
    return y.to_numpy() if simple else y.to_numpy(dtype=object)


def missing_in(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where values are missing, in the shape of the array."""
    missing = np.zeros(array.shape, np.bool_)
    if array.dtype.kind == "f":
        np.isnan(array, out=missing)
    elif array.dtype.kind in "mM":
        np.isnat(array, out=missing)
    elif array.dtype.kind in "US":
        missing[:] = np.strings.str_len(array) == 0
    elif array.dtype == object:
        missing = np.array([is_missing(x) for x in array.flat], np.bool_).reshape(array.shape)
    return missing


def is_missing(x: Any) -> bool:
    """None, empty text, pandas.NA, and NaN and NaT, which are not equal to themselves."""
    if isinstance(x, (str, bytes)):
        return not x
    return x is None or type(x).__name__ == "NAType" or bool(x != x)


def plain(value: Any) -> Any:
    """Scalars of NumPy as Python's own; dates stay, which would become integers."""
    return value.item() if isinstance(value, np.generic) and value.dtype.kind not in "mM" else value


def objects(values: list[Any]) -> npt.NDArray[Any]:
    """A 1-D array of these very values."""
    return np.fromiter(values, object, len(values))


def require_one_kind(values: set[Any]) -> None:
    """Refuse text among numbers: "1" and 1 may be the same label, or not."""
    examples = {_kind(value): value for value in values}
    if len(examples) > 1:
        (one, first), (other, second) = sorted(examples.items())[:2]
        raise InvalidInput(
            f"The labels mix {one} and {other}, for example {first!r:.40} and {second!r:.40}",
            "labels of one type",
            "Convert the labels to one type, and leave None where a label is unknown",
        )


def _kind(value: Any) -> str:
    kinds = ((str, "text"), (bytes, "bytes"), (Number, "numbers"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "other objects")
