"""Conditions evaluated on the rows of one segment.

Columns of strings and of lists are coded once per segment, when a filter first needs them: the distinct
values in ascending order, and for every row the number of its value. A condition then compares small numbers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._internal.locks import new_lock
from .._internal.texts import STRING
from .._internal.types import Array, Bools, Ints, Numbers32
from ..errors import InvalidInput, UnknownName
from .bounds import closed_bounds, exactly
from .conditions import AllOf, Between, Condition, Not, OneOf, key_of
from .ids import Ids, as_ids
from .kernels.passing import mark_rows
from .lists import Column, ListColumn

if TYPE_CHECKING:
    from .filtered_segment import FilteredSegment
    from .segment import Segment

__all__ = ["Filtering", "mask_of"]

T = TypeVar("T")
KEPT = 8  # conditions that a segment remembers; each takes a byte per row
FEW_VALUES = 8  # up to here one comparison each is faster than sorting the column


@dataclass
class Filtering:
    """What filters have made of one segment: coded columns, and the rows of the last conditions."""

    made: dict[str, Any] = field(default_factory=dict)
    kept: OrderedDict[Condition, FilteredSegment] = field(default_factory=OrderedDict)
    lock: Any = field(default_factory=new_lock)

    def once(self, name: str, work: Callable[[], T]) -> T:
        """The result of the work, which is done once."""
        with self.lock:
            if name not in self.made:
                self.made[name] = work()
            return self.made[name]

    def remembered(self, condition: Condition, work: Callable[[], FilteredSegment]) -> FilteredSegment:
        """The result of the work, from memory if the same condition came lately."""
        key = key_of(condition)
        if key is None:
            return work()
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
                return self.kept[key]
        found = work()
        with self.lock:
            self.kept[key] = found
            while len(self.kept) > KEPT:
                self.kept.popitem(last=False)
        return found


@dataclass(frozen=True, eq=False)
class _Coded:
    """Distinct values, ascending, and the number of the value of every row.

    Of lists, ``rows[starts[v]:starts[v + 1]]`` are the rows that have value ``v`` among theirs.
    """

    values: Ids | Array
    codes: Array | None = None
    starts: Ints | None = None
    rows: Numbers32 | None = None
    n_rows: int = 0

    def passing(self, wanted: OneOf | Between) -> Bools:
        """The rows whose value, or one of whose values, is wanted."""
        parts = _runs(_places(self.values, wanted))
        mask = np.zeros(self.n_rows, bool)
        if self.codes is None:
            assert self.rows is not None
            assert self.starts is not None
            for begin, end in parts:
                mark_rows(mask, self.rows[self.starts[begin] : self.starts[end]])
        elif len(parts) <= FEW_VALUES:
            for begin, end in parts:
                mask |= self.codes == begin if end == begin + 1 else _within(self.codes, begin, end - 1)
        else:
            table = np.zeros(len(self.values), bool)
            for begin, end in parts:
                table[begin:end] = True
            np.take(table, self.codes, out=mask)
        return mask


def mask_of(segment: Segment, condition: Condition) -> Bools:
    """Which rows of a segment pass, by rank."""
    if isinstance(condition, (OneOf, Between)):
        return segment.filtering.remembered(
            condition, lambda: segment.only(_compared(segment, condition))
        ).mask
    if isinstance(condition, Not):
        return ~mask_of(segment, condition.where)
    join = np.logical_and if isinstance(condition, AllOf) else np.logical_or
    mask = np.full(len(segment), isinstance(condition, AllOf))
    for part in condition.parts:
        join(mask, mask_of(segment, part), out=mask)
    return mask


def _compared(segment: Segment, wanted: OneOf | Between) -> Bools:
    name, payload = wanted.column, segment.payload
    if not payload:
        raise InvalidInput(
            f"A filter names the payload column {name!r}, and the index has no payload",
            "an index with payload columns",
            "Pass payload when the index is built",
        )
    if name not in payload:
        raise UnknownName.among("payload column", name, payload)
    column = payload[name]
    if isinstance(column, ListColumn) and not len(column.values):
        return np.zeros(len(column), bool)  # without values it has no type, and other segments may have one
    _require_type_of(column, wanted)
    if isinstance(column, ListColumn) or column.dtype == STRING:
        return segment.filtering.once(f"column {name}", lambda: _coded(column)).passing(wanted)
    numbers = column.view(np.uint8) if column.dtype == bool else column
    if isinstance(wanted, Between):
        bounds = closed_bounds(numbers.dtype, wanted)
        return np.zeros(len(column), bool) if bounds is None else _within(numbers, *bounds)
    values = exactly(numbers.dtype, wanted.values)
    if len(values) > FEW_VALUES:
        return np.isin(numbers, values)
    mask = np.zeros(len(column), bool) if len(values) != 1 else numbers == values[0]
    for value in values if len(values) > 1 else ():
        mask |= numbers == value
    return mask


def _within(numbers: Array, low: object, high: object) -> Bools:
    if low == high:
        return numbers == low
    mask: Bools = numbers >= low
    mask &= numbers <= high
    return mask


def _require_type_of(column: Column, wanted: OneOf | Between) -> None:
    values = column.values if isinstance(column, ListColumn) else column
    accepted, kind = (str, "strings") if values.dtype == STRING else (Real, "numbers")
    kind = "booleans" if values.dtype == bool else kind
    asked = wanted.values if isinstance(wanted, OneOf) else (wanted.low, wanted.high)
    for value in asked:
        bound = isinstance(wanted, Between)
        nothing = bound and value is None
        if not nothing and (not isinstance(value, accepted) or (bound and value != value)):
            raise InvalidInput(
                f"A filter wants {value!r:.60} of the payload column {wanted.column!r}, which holds {kind}",
                f"{kind}, a list of {kind}, or a tuple (lowest, highest) of {kind}",
                "Convert the wanted values to the type of the column",
            )


# ---- coded columns ---------------------------------------------------------------------------


def _coded(column: Column) -> _Coded:
    """Memory: 1 to 4 bytes for each value, and 4 more in lists, beside the distinct values."""
    flat = column.values if isinstance(column, ListColumn) else column
    values, codes = _distinct(flat)
    if not isinstance(column, ListColumn):
        return _Coded(values, codes, n_rows=len(column))
    order = np.argsort(codes, kind="stable")
    row_of_value = np.repeat(np.arange(len(column), dtype=np.uint32), column.ends - column.starts)
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(values)))])
    return _Coded(values, None, starts, row_of_value[order], len(column))


def _distinct(flat: Array) -> tuple[Ids | Array, Array]:
    if flat.dtype != STRING:
        values, codes = np.unique(flat, return_inverse=True)
        return values.view(np.uint8) if values.dtype == bool else values, codes
    texts = flat.tolist()
    distinct = sorted(set(texts))
    place: Mapping[str, int] = dict(zip(distinct, range(len(distinct)), strict=True))
    dtype = np.min_scalar_type(max(0, len(distinct) - 1))
    codes = np.fromiter(map(place.__getitem__, texts), dtype, len(texts))
    return Ids.of_sorted(np.array(distinct, STRING)), codes


def _places(values: Ids | Array, wanted: OneOf | Between) -> Ints:
    """The numbers of the distinct values that are wanted, ascending."""
    if isinstance(values, Ids):
        if isinstance(wanted, OneOf):
            found = values.find(as_ids(list(wanted.values), f"values wanted of {wanted.column!r}"))
            return np.unique(found[found >= 0])
        low, high = _text_bounds(values.all(), wanted)
    elif isinstance(wanted, OneOf):
        numbers = exactly(values.dtype, wanted.values)
        found = np.searchsorted(values, numbers)
        there = found < len(values)
        return found[there][values[found[there]] == numbers[there]]
    else:
        bounds = closed_bounds(values.dtype, wanted)
        if bounds is None:
            return np.empty(0, np.int64)
        low, high = np.searchsorted(values, bounds[0]), np.searchsorted(values, bounds[1], "right")
    return np.arange(low, max(low, high))


def _text_bounds(values: Any, wanted: Between) -> tuple[int, int]:
    low, high = 0, len(values)
    if wanted.low is not None:
        low = (bisect_right if wanted.low_open else bisect_left)(values, wanted.low)
    if wanted.high is not None:
        high = (bisect_left if wanted.high_open else bisect_right)(values, wanted.high)
    return low, high


def _runs(places: Ints) -> list[tuple[int, int]]:
    """Ascending numbers as runs (begin, end) of consecutive ones."""
    if not len(places):
        return []
    breaks = np.flatnonzero(np.diff(places) != 1)
    begins = places[np.concatenate([[0], breaks + 1])]
    ends = places[np.concatenate([breaks, [len(places) - 1]])] + 1
    return list(zip(begins.tolist(), ends.tolist(), strict=True))
