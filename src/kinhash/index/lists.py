"""Payload columns with several values in a row: tags, for example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._internal.texts import STRING
from .._internal.types import Array, Ints
from ..errors import InvalidInput
from .ids import MOST_IDS, as_ids

__all__ = ["Column", "ListColumn", "concatenated", "holds_lists", "kind_of", "places_of_runs"]


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


Column = Array | ListColumn


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
