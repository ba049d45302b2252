"""What users hand in as X and NumPy does not take as it is: tensors, and frames with a column of embeddings.

* A torch tensor on any device, with or without gradient, also of bfloat16.
* A NumPy array of bfloat16 or another small float of ml_dtypes.
* An Arrow table, a pandas or a polars frame with one column of lists of numbers: that column is X, and the
  others (ids, labels, prices) are left alone. Such a column by itself is taken, too.

Everything else passes through untouched. No package is imported here: values are known by what they can do.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ._types import Array
from .errors import InvalidInput

__all__ = ["as_matrix", "column_names", "in_order_of"]

FRAMES = ("pandas", "polars", "pyarrow")


def as_matrix(X: Any) -> Any:
    """X as something NumPy and scikit-learn take."""
    if hasattr(X, "detach") and hasattr(X, "cpu"):
        X = _from_tensor(X)
    if isinstance(X, np.ndarray) and _is_small_float(X.dtype):
        return X.astype(np.float32)
    if _package(X) not in FRAMES:
        return X
    names = _column_names(X)
    if names is None:
        return _lists(X, "X") if _holds_lists(X) else X
    found = [name for name in names if _holds_lists(X[name])]
    if len(found) > 1:
        raise InvalidInput(
            f"X has several columns of lists: {', '.join(map(str, found))}"[:300],
            "one column of embeddings",
            "Pass the column that holds the features",
        )
    return _lists(X[found[0]], found[0]) if found else X


def column_names(X: Any) -> list[str] | None:
    """The column names of a dataframe of any package; None unless all of them are text.

    scikit-learn knows the dataframes of its day only, and takes others for arrays without names.
    """
    names = _column_names(X) if _is_frame(X) else None
    return names if names and all(isinstance(name, str) for name in names) else None


def in_order_of(names: Any, X: Any) -> Any:
    """The frame with its columns in the order of ``names``, where it has exactly these in another order."""
    found = column_names(X)
    if names is None or found is None:
        return X
    wanted = [str(name) for name in names]
    if found == wanted or sorted(found) != sorted(wanted):
        return X
    return X.select(wanted) if _package(X) in ("polars", "pyarrow") else X[wanted]


def _from_tensor(X: Any) -> Any:
    X = X.detach().cpu()
    if str(X.dtype).rpartition(".")[2] == "bfloat16":  # NumPy has no such type
        X = X.float()
    return X.numpy()


def _is_small_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "V" and dtype.fields is None and dtype.name.startswith(("bfloat", "float"))


def _package(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def _is_frame(X: Any) -> bool:
    return _package(X) in FRAMES or hasattr(X, "__dataframe__")


def _column_names(X: Any) -> list[Any] | None:
    """The names of a table's columns; None for a single column."""
    if _package(X) == "pyarrow":
        return list(X.column_names) if hasattr(X, "column_names") else None
    return list(X.columns) if hasattr(X, "columns") else None


def _holds_lists(column: Any) -> bool:
    """Whether the first value is a list of numbers."""
    if not len(column):
        return False
    first = column[0] if _package(column) != "pandas" else getattr(column, "iloc", column)[0]
    if _package(first) == "pyarrow":
        first = first.as_py()
    if isinstance(first, (str, bytes)) or not hasattr(first, "__len__") or not len(first):
        return False
    return isinstance(first[0], numbers.Real)


def _lists(column: Any, name: object) -> Array:
    """Lists of equal length as a matrix."""
    package = _package(column)
    if package == "pandas":
        rows = [() if row is None or np.ndim(row) != 1 else row for row in column.tolist()]
        _require_equal(np.array([len(row) for row in rows]), name)
        return np.array(rows)
    if package == "polars":
        fixed = hasattr(column.dtype, "shape")  # Array, as opposed to List
        lengths = (column.arr if fixed else column.list).len().fill_null(0).to_numpy()
        values = column.explode()
    else:
        column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        values = column.flatten()
    _require_equal(lengths, name)
    if values.null_count if package == "pyarrow" else values.null_count():
        raise InvalidInput(f"The lists in {name!r} hold missing numbers", "numbers only", "Fill or drop them")
    flat = values.to_numpy(zero_copy_only=False) if package == "pyarrow" else values.to_numpy()
    return np.asarray(flat).reshape(len(column), -1)


def _require_equal(lengths: Array, name: object) -> None:
    odd = np.flatnonzero(lengths != lengths[0])
    if len(odd):
        raise InvalidInput(
            f"The lists in {name!r} have {lengths[0]} entries in row 0 and {lengths[odd[0]]} in row {odd[0]}",
            "lists of equal length",
            "Drop or mend rows without an embedding",
        )
