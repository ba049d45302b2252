"""Payload columns that travel with the rows, and what is refused among columns and ids.

A column is an array of booleans, numbers or strings, or a `ListColumn` for several values in a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .._internal.texts import STRING
from .._internal.types import Array, Ints
from .._internal.validation import is_integer, unmasked
from ..errors import InvalidInput

MOST_IDS = 2**63  # ids are 64-bit integers with a sign, so all of them are smaller
IdsLike = npt.ArrayLike | Sequence[str]


def as_ids(ids: IdsLike, what: str = "ids") -> Array:
    """Ids as int64 or strings, in the order given; anything else is refused."""
    ids = unmasked(ids, what)
    values = np.asarray(ids)
    if values.ndim == 1 and not len(values):
        return np.empty(0, STRING if values.dtype.kind in "UT" else np.int64)
    if values.ndim == 1 and values.dtype.kind in "iu":
        return _whole(values, what)
    came = f"an array of shape {values.shape}"
    if values.ndim == 1:
        came = f"values of type {type(values.flat[0]).__name__}"
    if values.ndim == 1 and values.dtype.kind in "UTOf":
        # Read from what was handed in: a fixed-width array would drop trailing zeros, and NumPy makes floats
        # of signed and unsigned integers that come together.
        handed: Any = values.tolist() if isinstance(ids, np.ndarray) or hasattr(ids, "to_numpy") else ids
        found = list(handed)
        if all(isinstance(value, str) for value in found):
            try:
                return np.array(found, STRING)
            except UnicodeEncodeError:
                came = "strings that are not valid Unicode"
        elif all(map(is_integer, found)):
            return _whole(np.array([int(value) for value in found], object), what)
    raise InvalidInput(
        f"The {what} came as {came}",
        "a 1-D array of 64-bit integers, or of strings",
        "Convert them with .astype(int) or list(map(str, ...))",
    )


def _whole(values: Array, what: str) -> Array:
    """Integers as int64, none changed."""
    for value in (int(values.min()), int(values.max())):
        if not -MOST_IDS <= value < MOST_IDS:
            raise InvalidInput(
                f"The number {value} is among the {what}",
                "integers from -2**63 to 2**63 - 1",
                "Pass such ids as strings, with list(map(str, ...))",
            )
    return values.astype(np.int64)


# ---- columns -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ListColumn:
    """Lists of numbers or strings, one for each row: ``values[ends[i - 1]:ends[i]]`` are those of row ``i``.

    Indexing with a number gives a list, with an array of row numbers or booleans, or a slice, a column.

    Parameters
    ----------
    values : the values of all rows, one row after the other.
    ends : where the values of each row end (n,).
    """

    values: Array
    ends: Ints

    def __post_init__(self) -> None:
        for array in (self.values, self.ends):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def shape(self) -> tuple[int]:
        """One entry per row, as a 1-D array has it."""
        return (len(self.ends),)

    @property
    def starts(self) -> Ints:
        """Where the values of every row begin."""
        return np.concatenate([np.zeros(1, np.int64), self.ends[:-1]])[: len(self)]

    def __getitem__(self, rows: Any) -> Any:
        if np.ndim(rows) == 0 and not isinstance(rows, slice):
            row = range(len(self))[rows]
            return self.values[self.ends[row - 1] if row else 0 : self.ends[row]].tolist()
        starts, sizes = self.starts[rows], (self.ends - self.starts)[rows]
        return ListColumn(self.values[places_of_runs(starts, sizes)], np.cumsum(sizes))

    def __iter__(self) -> Iterator[list[Any]]:
        return iter(self.tolist())

    def copy(self) -> ListColumn:
        """Return a column that shares no memory with this one."""
        return ListColumn(self.values.copy(), self.ends.copy())

    def tolist(self) -> list[list[Any]]:
        """The values of every row."""
        values, starts, ends = self.values.tolist(), self.starts.tolist(), self.ends.tolist()
        return [values[start:end] for start, end in zip(starts, ends, strict=True)]

    def __repr__(self) -> str:
        return f"ListColumn({len(self)} {_kind_of(self)})"


Column: TypeAlias = Array | ListColumn
Columns: TypeAlias = dict[str, Column]
PayloadLike: TypeAlias = Any  # columns by name: a mapping, or a data frame


def places_of_runs(starts: Array, sizes: Ints) -> Ints:
    """The places ``start ... start + size - 1`` of every run, one run after the other."""
    before = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes)


def _kind_of(column: Column) -> str:
    """The type of a column, in words."""
    values, lists = (column.values, "lists of ") if isinstance(column, ListColumn) else (column, "")
    return lists + ("strings" if values.dtype == STRING else str(values.dtype))


def concatenated(columns: Sequence[Column]) -> Column:
    """One column after the other."""
    lists = [column for column in columns if isinstance(column, ListColumn)]
    if not lists:
        return np.concatenate([column for column in columns if isinstance(column, np.ndarray)])
    offsets = np.cumsum([0, *(len(column.values) for column in lists[:-1])])
    ends = [column.ends + offset for column, offset in zip(lists, offsets, strict=True)]
    # Lists without values have no type of their own.
    values = [column.values for column in lists if len(column.values)] or [lists[0].values]
    return ListColumn(np.concatenate(values), np.concatenate(ends))


# ---- what users hand in ------------------------------------------------------------------------


def as_payload(payload: PayloadLike, n_rows: int) -> Columns:
    """Columns of booleans, numbers, strings or lists of these, one entry per row; a copy. None gives none."""
    if payload is None:
        return {}
    if not isinstance(payload, Mapping) and not hasattr(payload, "columns"):
        raise InvalidInput(
            f"The payload is a {type(payload).__name__}",
            "columns by name: a mapping or a data frame",
            "Pass for example payload={'year': years}",
        )
    names = list(payload.columns) if hasattr(payload, "columns") else list(payload)
    columns = {str(name): _column(f"payload column {str(name)!r}", payload[name]) for name in names}
    for name, column in columns.items():
        if column.shape != (n_rows,):
            raise InvalidInput(
                f"The payload column {name!r} has shape {column.shape}",
                f"one value for each of the {n_rows} rows",
                "Pass a 1-D array as long as the codes, or a list of lists for several values in a row",
            )
    return columns


def _column(what: str, values: Any) -> Column:
    values = unmasked(values, f"The {what}")
    if isinstance(values, ListColumn):
        return values
    plain = isinstance(values, np.ndarray) and (values.dtype != object or values.ndim != 1)
    if not plain and isinstance(values, Iterable) and _is_list(next(iter(values), None)):
        lists = [_entries(row, number, what) for number, row in enumerate(values)]
        ends = np.cumsum([len(row) for row in lists], dtype=np.int64)
        return ListColumn(_flat([value for row in lists for value in row], what), ends)
    try:
        column = np.asarray(values)
    except ValueError:  # lists of several lengths among other values
        raise InvalidInput(
            f"The {what} has lists in some rows only",
            "one value for every row, or a list for every row",
            "Pass [] for a row without values",
        ) from None
    if column.dtype.kind in "biuf" and column.dtype.itemsize <= 8:
        return np.array(column, column.dtype.newbyteorder("="))
    # Read from what was handed in: a fixed-width array would drop trailing NULs.
    in_array = isinstance(values, np.ndarray) or hasattr(values, "to_numpy")
    texts = column.tolist() if in_array else list(values)
    if column.dtype.kind in "UTO" and all(isinstance(text, str) for text in texts):
        return as_ids(texts, what) if texts else np.empty(0, STRING)
    raise InvalidInput(
        f"The {what} has dtype {column.dtype}",
        "booleans, numbers or strings, or lists of numbers or of strings, none missing",
        "Convert the column first, dates for example with .astype('int64')",
    )


def _is_list(row: Any) -> bool:
    if isinstance(row, np.ndarray):
        return row.ndim == 1
    return isinstance(row, (list, tuple, set, frozenset)) or hasattr(row, "to_list")


def _entries(row: Any, number: int, what: str) -> list[Any]:
    if not _is_list(row):
        raise InvalidInput(
            f"Row {number} of the {what} is {row!r:.60}, and others are lists",
            "a list of strings or numbers in every row",
            "Pass [] for a row without values",
        )
    if isinstance(row, (set, frozenset)):
        try:
            return sorted(row)
        except TypeError:
            return list(row)  # of several types, which is refused below
    return row.tolist() if isinstance(row, np.ndarray) else list(row)


def _flat(values: list[Any], what: str) -> Array:
    """The values of all lists, of one type."""
    if all(isinstance(value, str) for value in values):
        return as_ids(values, what) if values else np.empty(0, STRING)
    if all(isinstance(value, (bool, np.bool_)) for value in values):
        return np.array(values, bool)
    if all(isinstance(value, Integral) for value in values):
        whole = [int(value) for value in values]
        strange = [value for value in whole if not -MOST_IDS <= value < MOST_IDS]
        if not strange:
            return np.array(whole, np.int64)
    else:
        if all(isinstance(value, Real) for value in values):
            return np.array(values, np.float64)
        first = str if isinstance(values[0], str) else Real
        strange = [value for value in values if not isinstance(value, first)]
    raise InvalidInput(
        f"The lists of the {what} hold {strange[0]!r:.60}",
        "strings alone, or numbers of at most 64 bits alone, none missing",
        "Convert the values first",
    )


def same_columns(columns: Columns, known: Mapping[str, Column] | None) -> Columns:
    """The payload columns in the order of the index; other columns or types than those known are refused.

    Columns without rows, and lists that are all empty, have no type: they take that of the index.
    """
    if known is None:
        return columns
    columns = dict(columns)
    for name in columns.keys() & known.keys():
        column, wanted = columns[name], known[name]
        if not len(column):
            columns[name] = wanted[:0]
        elif isinstance(column, ListColumn) and isinstance(wanted, ListColumn):
            if not len(column.values):
                columns[name] = ListColumn(wanted.values[:0].copy(), column.ends)
            elif not len(wanted.values):
                known = {**known, name: column}
    kinds = [{name: _kind_of(column) for name, column in some.items()} for some in (known, columns)]
    if kinds[0] == kinds[1]:
        return {name: columns[name] for name in known}
    names, came = (", ".join(f"{name} ({kind})" for name, kind in some.items()) for some in kinds)
    if not came:
        raise InvalidInput(
            "The rows came without payload, and the index has payload columns",
            f"those of the index: {names}",
            "Pass these columns with the same types (--payload on the command line)",
        )
    if not names:
        raise InvalidInput(
            f"The payload has the columns {came}, and the index has no payload",
            "rows without payload",
            "Leave it out, or build the index again with payload",
        )
    raise InvalidInput(
        f"The payload has the columns {came}",
        f"those of the index: {names}",
        "Pass the same columns with the same types",
    )
