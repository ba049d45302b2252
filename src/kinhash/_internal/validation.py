"""The door: what users hand in is checked here, once; inside we trust.

NumPy does not take every X as it is. We also take

* a torch tensor on any device, with or without gradient, also of bfloat16;
* a NumPy array of bfloat16 or another small float of ml_dtypes;
* an Arrow table, a pandas or a polars frame with one column of lists of numbers: that column is X, and the
  others (ids, labels, prices) are left alone. Such a column by itself is taken, too.

No package is imported for that: values are known by what they can do.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np

from ..errors import InvalidInput
from .types import Array, Features, Floats, Matrix, Numbers

FRAMES = ("pandas", "polars", "pyarrow")
MAX_BITS = 16384
CHECK_ROWS = 65536


def as_matrix(X: Features) -> Features:
    """X as something NumPy and scikit-learn take."""
    X = unmasked(X, "X")
    if hasattr(X, "detach") and hasattr(X, "cpu"):
        X = _from_tensor(X)
    elif hasattr(X, "__dlpack__") and _package(X) not in ("numpy", *FRAMES):
        X = _from_dlpack(X)
    if isinstance(X, np.ndarray) and _is_small_float(X.dtype):
        return X.astype(np.float32)
    if _package(X) not in FRAMES and hasattr(X, "__arrow_c_stream__"):
        X = _from_arrow(X)
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


def unmasked(values: Any, what: str) -> Any:
    """A masked array of which nothing is masked as a plain one; with masked values it is refused."""
    if not np.ma.isMaskedArray(values):
        return values
    n_masked = int(np.ma.getmaskarray(values).sum())
    if n_masked:
        raise InvalidInput(
            f"{what} is a masked array of which {n_masked:,} values are masked",
            "values that are all there",
            "Leave such rows out, or fill the values: values.filled(...)",
        )
    return np.asarray(values.data)


def column_names(X: Features) -> list[str] | None:
    """The column names of a dataframe of any package; None unless all of them are text.

    scikit-learn knows the dataframes of its day only, and takes others for arrays without names.
    """
    names = _column_names(X) if _is_frame(X) else None
    return names if names and all(isinstance(name, str) for name in names) else None


def in_order_of(names: Iterable[object] | None, X: Features) -> Features:
    """The frame with its columns in the order of ``names``, where it has exactly these in another order."""
    found = column_names(X)
    if names is None or found is None:
        return X
    wanted = [str(name) for name in names]
    if found == wanted or sorted(found) != sorted(wanted):
        return X
    return X.select(wanted) if _package(X) in ("polars", "pyarrow") else X[wanted]


def _from_tensor(X: Features) -> Array:
    X = X.detach().cpu()
    if str(X.dtype).rpartition(".")[2] == "bfloat16":  # NumPy has no such type
        X = X.float()
    return X.numpy()


def _from_dlpack(X: Features) -> Array:
    """An array of any library, from whatever memory it lies in."""
    if X.__dlpack_device__()[0] == np.zeros(0).__dlpack_device__()[0]:
        return np.from_dlpack(X)
    if hasattr(X, "get"):  # CuPy
        return np.asarray(X.get())
    try:
        return np.from_dlpack(X, device="cpu", copy=True)  # NumPy 2.1
    except (TypeError, BufferError, ValueError, RuntimeError) as problem:
        raise InvalidInput(
            f"X lies outside main memory and cannot be copied from there ({problem})",
            "an array in main memory",
            "Copy it first, for example with numpy.asarray or .cpu()",
        ) from problem


def _from_arrow(X: Features) -> Features:
    """A table of any library that hands out Arrow data, where PyArrow is installed to take it."""
    try:
        import pyarrow
    except ImportError:
        return X
    return pyarrow.table(X)


def _is_small_float(dtype: np.dtype[np.generic]) -> bool:
    return dtype.kind == "V" and dtype.fields is None and dtype.name.startswith(("bfloat", "float"))


def _package(X: Features) -> str:
    return type(X).__module__.partition(".")[0]


def _is_frame(X: Features) -> bool:
    return _package(X) in FRAMES or hasattr(X, "__arrow_c_stream__")


def _column_names(X: Features) -> list[Any] | None:
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


def _lists(column: Features, name: object) -> Array:
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


def check_features(estimator: Any, X: Features, *, reset: bool) -> Matrix:
    """X as a dense numeric array or CSR matrix, with scikit-learn's checks first, then ours.

    A frame with the columns of fit in another order is read in the order of fit. Names of columns are our own
    business, whichever dataframes this version of scikit-learn knows.
    Values are looked at in blocks, so a memory map is never loaded as a whole.
    """
    X = as_matrix(X)
    known = None if reset else getattr(estimator, "feature_names_in_", None)
    X = in_order_of(known, X)
    names = column_names(X)
    try:
        X = _validated(estimator, X, reset, names_checked=_check_names(estimator, names, known))
    except (ValueError, TypeError) as error:
        if isinstance(error, InvalidInput):
            raise
        kind = InvalidInput if isinstance(error, ValueError) else _InvalidType
        raise kind(_shortened(str(error)), "", "Pass a 2-D numeric matrix, one row per item") from error
    if reset and names is not None:
        estimator.feature_names_in_ = np.array(names, object)
    check_finite(X)
    return X


def _shortened(message: str) -> str:
    """Without most of the values that scikit-learn prints of an array of the wrong shape."""
    return re.sub(r"(array=[^\n]{40}).+?\.\n(?=Reshape)", r"\1 ...\n", message, flags=re.DOTALL)


def _validated(estimator: Any, X: Features, reset: bool, names_checked: bool) -> Matrix:
    from sklearn.utils.validation import check_array, validate_data

    # A fit needs rows; encoding none gives no codes.
    options = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False}
    options["ensure_min_samples"] = 1 if reset else 0
    if names_checked:  # and with them the number of columns
        return check_array(X, estimator=estimator, input_name="X", **options)
    return validate_data(estimator, X, reset=reset, **options)


def _check_names(estimator: Any, names: list[str] | None, known: Iterable[str] | None) -> bool:
    """Whether a frame has the columns of fit; others are refused. False where one side has no names."""
    if names is None or known is None:
        return False
    wanted = list(known)
    if names == wanted:
        return True
    new = [name for name in names if name not in wanted]
    gone = [name for name in wanted if name not in names]
    parts = ["The feature names should match those that were passed during fit."]  # scikit-learn's words
    parts += ["Feature names unseen at fit time:", *_first_few(new)] if new else []
    parts += ["Feature names seen at fit time, yet now missing:", *_first_few(gone)] if gone else []
    raise InvalidInput(
        "\n".join(parts),
        "the columns of fit, in any order",
        f"Select the columns that {type(estimator).__name__} was fitted on",
    )


def _first_few(names: list[str]) -> list[str]:
    return [f"- {name}" for name in sorted(names)[:5]] + ["- ..."] * (len(names) > 5)


class _InvalidType(InvalidInput, TypeError):
    """Input of a type that cannot be a matrix; scikit-learn raises TypeError there, so do we."""


def check_finite(X: Features, first_row: int = 0) -> None:
    """Refuse NaN and infinity, naming the first place; ``first_row`` is the number of X's first row."""
    import scipy.sparse as sp  # searching comes here for numbers, and needs no scipy

    if sp.issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        if not len(bad):
            return
        row = int(np.searchsorted(X.indptr, bad[0], side="right") - 1)
        column, value = int(X.indices[bad[0]]), X.data[bad[0]]
    elif X.dtype.kind == "f":
        place = _first_bad(X)
        if place is None:
            return
        row, column = place
        value = X[row, column]
    else:
        return
    kind = "NaN" if np.isnan(value) else "infinity"
    raise InvalidInput(
        f"Input X contains {kind}: the first in row {first_row + row}, column {column}",
        "finite numbers only (no NaN, no inf)",
        "Drop or impute such rows, for example with sklearn.impute.SimpleImputer",
    )


def _first_bad(X: Array) -> tuple[int, int] | None:
    for start in range(0, len(X), CHECK_ROWS):
        block = X[start : start + CHECK_ROWS]
        # The sum is NaN or infinite if any entry is, and adding is cheaper than testing each;
        # only then look closer (a sum of finite numbers may overflow, too).
        with np.errstate(all="ignore"):
            suspicious = not np.isfinite(block.sum())
        if suspicious:
            bad = np.argwhere(~np.isfinite(block))
            if len(bad):
                return start + int(bad[0, 0]), int(bad[0, 1])
    return None


def check_rows(found: int, what: str, n_rows: int | None, of: str = "rows") -> None:
    """Refuse another number of labels, ids, ... than there are rows, if that is known."""
    if n_rows is not None and found != n_rows:
        raise InvalidInput(
            f"{found:,} {what} came with {n_rows:,} {of}",
            "one for each of them, in the same order",
            "Pass what belongs together",
        )


def check_n_bits(n_bits: object) -> int:
    """Number of bits of a code."""
    return check_integer("n_bits", n_bits, 1, MAX_BITS)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number, Python's or NumPy's; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """An integer parameter within its range."""
    if is_integer(value) and low <= value and (high is None or value <= high):
        return int(value)
    reach = f"from {low} to {high}" if high is not None else f"of at least {low}"
    raise InvalidInput(f"{name} is {value!r}", f"an integer {reach}", f"Set {name} within that range")


def check_number(name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False) -> float:
    """A real parameter within its range."""
    fits = isinstance(value, numbers.Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if fits and (low < value or (value == low and not open_low)) and value <= high:
        return float(value)
    above = "above" if open_low else "of at least"
    upto = "" if high == np.inf else f" and at most {high}"
    raise InvalidInput(
        f"{name} is {value!r}", f"a number {above} {low}{upto}", f"Set {name} within that range"
    )


def check_flag(name: str, value: object) -> bool:
    """True or False, NumPy's own included."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidInput(f"{name} is {value!r}", "True or False", "Pass one of them")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """One of a few values."""
    if any(value is choice or (isinstance(value, type(choice)) and value == choice) for choice in choices):
        return value
    from ..errors import UnknownName

    raise UnknownName.among(f"value of {name}", value, [str(choice) for choice in choices])


def check_weights(weights: Numbers | None, n_rows: int) -> Floats | None:
    """Row weights: one non-negative number per row, not all zero, in units of their mean (zeros left out).

    Weights say how much rows count beside each
    other, so that a common factor changes nothing, and equal ones are none. Rows of weight 0 are as good as
    absent.
    """
    if weights is None:
        return None
    array = np.asarray(unmasked(weights, "sample_weight"), dtype=np.float64)
    if array.ndim == 0:
        array = np.full(n_rows, float(array))
    if array.shape != (n_rows,):
        raise InvalidInput(
            f"sample_weight has shape {array.shape} and X has {n_rows} rows",
            "one weight per row (sample_weight.shape == (n_samples,))",
            "Pass as many weights as rows",
        )
    if not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise InvalidInput(
            "sample_weight holds negative, missing or only zero weights",
            "finite weights of at least 0, some above 0",
            "Set the weight of rows you do not want to 0",
        )
    if (array == array[0]).all():
        return None  # sums with and without factors of 1 may differ in last digits
    present = array[array > 0]
    peak = float(present.max())  # first, so that the mean does not overflow
    mean = max(peak * float((present / peak).mean()), float(np.finfo(np.float64).tiny))
    fraction, exponent = np.frexp(array / mean)
    # To 40 binary digits: what a common factor did to the last ones is gone.
    return np.ldexp(np.rint(np.ldexp(fraction, 40)), exponent - 40)


def make_rng(random_state: object) -> np.random.Generator:
    """A Generator from what scikit-learn users pass: None, an integer, a RandomState or a Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    if random_state is np.random:
        return np.random.default_rng(np.random.randint(2**31 - 1))  # noqa: NPY002
    if random_state is None or isinstance(random_state, (numbers.Integral, np.random.Generator)):
        try:
            return np.random.default_rng(random_state)  # type: ignore[arg-type]
        except ValueError:
            pass
    raise InvalidInput(
        f"random_state is {random_state!r}",
        "None, a non-negative integer, or a NumPy generator",
        "Pass an integer to make results repeatable",
    )
