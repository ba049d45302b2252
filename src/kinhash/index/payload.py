"""Ids of rows, and the payload columns that travel with them.

*Ids* are 64-bit integers or strings, kept in ascending order. The position of an id in that order is its
*rank*. Everything below works on ranks, so one order, (distance, rank), serves numbers and strings alike.
Consecutive integers are not stored at all.

*Payload* columns are arrays of booleans, numbers or strings, or `ListColumn` for several values in a row.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from operator import eq, lt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .._internal.texts import STRING
from .._internal.types import Array, Bools, Ints
from .._internal.validation import is_integer, unmasked
from ..errors import InvalidInput

__all__ = [
    "MOST_IDS", "Column", "Columns", "Ids", "IdsLike", "ListColumn", "PayloadLike", "SomeIds", "as_ids",
    "as_payload", "concatenated", "is_ascending", "kind_of", "places_of_runs", "same_columns", "sort_keys",
    "sorting_order",
]  # fmt: skip

MOST_IDS = 2**63  # ids are 64-bit integers with a sign, so all of them are smaller
INLINE = 15  # bytes of UTF-8 that NumPy keeps in the array itself; longer strings lie beside it

Ranks = Ints
Values = Array
IdsLike = npt.ArrayLike | Sequence[str]


@dataclass(frozen=True, eq=False)
class Ids:
    """Distinct ids in ascending order; ``values`` None stands for ``first ... first + count - 1``."""

    count: int
    first: int = 0
    values: Values | None = None

    def __len__(self) -> int:
        return self.count

    @property
    def are_strings(self) -> bool:
        """Whether the ids are strings (numbers otherwise)."""
        return self.values is not None and self.values.dtype == STRING

    @property
    def n_bytes(self) -> int:
        """Memory the ids take, the text of long strings included."""
        if self.values is None:
            return 0
        lengths = (len(text.encode()) for text in self.values.tolist()) if self.are_strings else ()
        return int(self.values.nbytes) + sum(length for length in lengths if length > INLINE)

    def all(self) -> Values:
        """Every id, ascending."""
        if self.values is not None:
            return self.values
        return np.arange(self.first, self.first + self.count, dtype=np.int64)

    def take(self, ranks: Ranks) -> Values:
        """The ids of these ranks."""
        if self.values is not None:
            return self.values[ranks]
        return ranks + self.first if self.first else ranks

    def find(self, ids: Values) -> Ranks:
        """The ranks of these ids, -1 where there is none."""
        if self.values is None:
            places = np.asarray(ids - self.first, np.int64)
            return np.where((places >= 0) & (places < self.count), places, -1)
        if not self.count:
            return np.full(len(ids), -1)
        if self.are_strings:
            return self._find_strings(ids.tolist())
        places = np.minimum(np.searchsorted(self.values, ids), self.count - 1)
        return np.where(self.values[places] == ids, places, -1)

    def _find_strings(self, wanted: list[str]) -> Ranks:
        """Found by Python: np.searchsorted misplaces strings of 16 bytes and more before NumPy 2.5.

        Few by binary search; many, faster, in a dictionary, which takes some 200 bytes per id meanwhile.
        """
        values = self.all()
        if 4 * len(wanted) > self.count:
            rank = dict(zip(values.tolist(), range(self.count), strict=True))
            return np.array([rank.get(text, -1) for text in wanted], np.int64)
        places = [bisect_left(values, text) for text in wanted]
        pairs = zip(places, wanted, strict=True)
        return np.array([p if p < self.count and values[p] == text else -1 for p, text in pairs], np.int64)

    def keep(self, ranks: Ranks) -> Ids:
        """The ids of these ascending ranks alone."""
        return Ids.of_sorted(self.take(ranks))

    @classmethod
    def of_sorted(cls, values: Values) -> Ids:
        """From ascending ids; consecutive integers become a range."""
        if not len(values):
            return cls(0, 0, values if values.dtype == STRING else None)
        if values.dtype != STRING and int(values[-1]) - int(values[0]) == len(values) - 1:
            return cls(len(values), int(values[0]))
        return cls(len(values), 0, values)


@dataclass(frozen=True, eq=False)
class SomeIds:
    """Ids of the rows of a mask, of NumPy or CuPy, by the ranks of all rows."""

    ids: Ids
    mask: Bools
    count: int

    def __len__(self) -> int:
        return self.count

    @property
    def are_strings(self) -> bool:
        """Whether the ids are strings."""
        return self.ids.are_strings

    def take(self, ranks: Ranks) -> Values:
        """The ids of these ranks."""
        return self.ids.take(ranks)

    def find(self, ids: Values) -> Ranks:
        """The ranks of these ids, -1 where there is none in the mask."""
        ranks = self.ids.find(ids)
        passes = self.mask[np.maximum(ranks, 0)]
        passes = passes.get() if hasattr(passes, "get") else passes
        return np.where((ranks >= 0) & passes, ranks, -1)


def is_ascending(ids: Values) -> bool:
    """Whether every id is larger than the one before."""
    if ids.dtype != STRING:
        return bool((ids[1:] > ids[:-1]).all())
    texts = ids.tolist()
    return all(map(lt, texts, texts[1:]))


def sort_keys(ids: Values) -> Values:
    """Integers in the order of the ids, equal where the ids are, in the same shape.

    Python compares the strings: before 2.5 NumPy takes those that differ only after a NUL for equal, 2.0
    crashes in lexsort, and 2.4 in its unstable sort.
    """
    if ids.dtype.kind in "iu":
        return ids
    texts = ids.ravel().tolist()
    place = {text: number for number, text in enumerate(sorted(dict.fromkeys(texts)))}
    return np.array([place[text] for text in texts], np.int64).reshape(ids.shape)


def sorting_order(ids: Values) -> Ranks:
    """The order that makes ids ascend; an id that comes twice is refused."""
    if ids.dtype == STRING:
        texts = ids.tolist()
        order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
        ordered = [texts[place] for place in order.tolist()]
        twins = np.flatnonzero(list(map(eq, ordered, ordered[1:])))
    else:
        order = np.argsort(ids, kind="stable")
        twins = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
    if len(twins):
        twin = ids[order[twins[:1]]].tolist()[0]
        raise InvalidInput(f"The id {twin!r} came twice", "distinct ids", "Pass every id once")
    return order


def as_ids(ids: IdsLike, what: str = "ids") -> Values:
    """Ids as int64 or strings, in the order given; anything else is refused."""
    ids = unmasked(ids, what)
    values = np.asarray(ids)
    if values.ndim != 1:
        raise _unusable(what, f"an array of shape {values.shape}")
    if not len(values):
        return np.empty(0, STRING if values.dtype.kind in "UT" else np.int64)
    if values.dtype.kind in "iu":
        return _whole(values, what)
    if values.dtype.kind in "UTOf":
        # Read from what was handed in: a fixed-width array would drop trailing zeros, and NumPy makes floats
        # of signed and unsigned integers that come together.
        handed: Any = values.tolist() if isinstance(ids, np.ndarray) or hasattr(ids, "to_numpy") else ids
        found = list(handed)
        if all(isinstance(value, str) for value in found):
            try:
                return np.array(found, STRING)
            except UnicodeEncodeError:
                raise _unusable(what, "strings that are not valid Unicode") from None
        if all(map(is_integer, found)):
            return _whole(np.array([int(value) for value in found], object), what)
    raise _unusable(what, f"values of type {type(values.flat[0]).__name__}")


def _whole(values: Values, what: str) -> Values:
    """Integers as int64, none changed."""
    for value in (int(values.min()), int(values.max())):
        if not -MOST_IDS <= value < MOST_IDS:
            raise InvalidInput(
                f"The number {value} is among the {what}",
                "integers from -2**63 to 2**63 - 1",
                "Pass such ids as strings, with list(map(str, ...))",
            )
    return values.astype(np.int64)


def _unusable(what: str, came: str) -> InvalidInput:
    return InvalidInput(
        f"The {what} came as {came}",
        "a 1-D array of 64-bit integers, or of strings",
        "Convert them with .astype(int) or list(map(str, ...))",
    )


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
        return f"ListColumn({len(self)} {kind_of(self)})"

    @classmethod
    def of(cls, rows: Any, what: str) -> ListColumn:
        """From lists, tuples, sets or arrays of strings or of numbers.

        Parameters
        ----------
        rows : the values of each row.
        what : name of the column in errors.
        """
        lists = [_entries(row, number, what) for number, row in enumerate(rows)]
        ends = np.cumsum([len(row) for row in lists], dtype=np.int64)
        return cls(_flat([value for row in lists for value in row], what), ends)


Column: TypeAlias = Array | ListColumn
Columns: TypeAlias = dict[str, Column]
PayloadLike: TypeAlias = Any  # columns by name: a mapping, or a data frame


def places_of_runs(starts: Array, sizes: Ints) -> Ints:
    """The places ``start ... start + size - 1`` of every run, one run after the other."""
    before = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes)


def holds_lists(values: Any) -> bool:
    """Whether the first row of a column is a list; a matrix of numbers holds none."""
    if isinstance(values, ListColumn):
        return True
    if isinstance(values, np.ndarray) and (values.dtype != object or values.ndim != 1):
        return False
    return isinstance(values, Iterable) and _is_list(next(iter(values), None))


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
    if all(isinstance(value, str) for value in values):
        return as_ids(values, what) if values else np.empty(0, STRING)
    if all(isinstance(value, (bool, np.bool_)) for value in values):
        return np.array(values, bool)
    if all(isinstance(value, Integral) for value in values):
        whole = [int(value) for value in values]
        if min(whole) >= -MOST_IDS and max(whole) < MOST_IDS:
            return np.array(whole, np.int64)
    elif all(isinstance(value, Real) for value in values):
        return np.array(values, np.float64)
    raise InvalidInput(
        f"The lists of the {what} hold {_strange(values)!r:.60}",
        "strings alone, or numbers of at most 64 bits alone, none missing",
        "Convert the values first",
    )


def _strange(values: list[Any]) -> Any:
    """A value that does not go with the others."""
    first = str if isinstance(values[0], str) else Real
    strange = [value for value in values if not isinstance(value, first)]
    return strange[0] if strange else max(values, key=abs)


def kind_of(column: Column) -> str:
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
    return {str(name): _column(str(name), payload[name], n_rows) for name in names}


def _column(name: str, values: Any, n_rows: int) -> Column:
    values = unmasked(values, f"The payload column {name!r}")
    if holds_lists(values):
        lists = (
            values if isinstance(values, ListColumn) else ListColumn.of(values, f"payload column {name!r}")
        )
        _require_rows(name, lists.shape, n_rows)
        return lists
    try:
        column = np.asarray(values)
    except ValueError:  # lists of several lengths among other values
        raise InvalidInput(
            f"The payload column {name!r} has lists in some rows only",
            "one value for every row, or a list for every row",
            "Pass [] for a row without values",
        ) from None
    _require_rows(name, column.shape, n_rows)
    if column.dtype.kind in "biuf" and column.dtype.itemsize <= 8:
        return np.array(column, column.dtype.newbyteorder("="))
    # Read from what was handed in: a fixed-width array would drop trailing NULs.
    plain = isinstance(values, np.ndarray) or hasattr(values, "to_numpy")
    texts = column.tolist() if plain else list(values)
    if column.dtype.kind in "UTO" and all(isinstance(text, str) for text in texts):
        return as_ids(texts, f"payload column {name!r}") if texts else np.empty(0, STRING)
    raise InvalidInput(
        f"The payload column {name!r} has dtype {column.dtype}",
        "booleans, numbers or strings, or lists of numbers or of strings, none missing",
        "Convert the column first, dates for example with .astype('int64')",
    )


def _require_rows(name: str, shape: tuple[int, ...], n_rows: int) -> None:
    if shape != (n_rows,):
        raise InvalidInput(
            f"The payload column {name!r} has shape {shape}",
            f"one value for each of the {n_rows} rows",
            "Pass a 1-D array as long as the codes, or a list of lists for several values in a row",
        )


def same_columns(columns: Columns, known: Mapping[str, Column] | None) -> Columns:
    """The payload columns in the order of the index; other columns or types than those known are refused."""
    if known is None:
        return columns
    columns = {name: _retyped(column, known.get(name)) for name, column in columns.items()}
    untyped = {name for name, column in known.items() if _has_no_type(column)}
    untyped &= {name for name, column in columns.items() if isinstance(column, ListColumn)}
    kinds = [
        {name: name in untyped or kind_of(column) for name, column in some.items()}
        for some in (known, columns)
    ]
    if kinds[0] != kinds[1]:
        names = ", ".join(f"{name} ({kind_of(column)})" for name, column in known.items())
        came = ", ".join(f"{name} ({kind_of(column)})" for name, column in columns.items())
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
    return {name: columns[name] for name in known}


def _has_no_type(column: Column) -> bool:
    """Whether it has lists and all of them are empty."""
    return isinstance(column, ListColumn) and not len(column.values)


def _retyped(column: Column, known: Column | None) -> Column:
    """Columns without rows, and lists that are all empty, have no type: they take that of the index."""
    if known is not None and not len(column):
        return known[:0]
    if isinstance(column, ListColumn) and isinstance(known, ListColumn) and not len(column.values):
        return ListColumn(known.values[:0].copy(), column.ends)
    return column
