"""Filters: which rows a search may return.

A filter as text is read into a function from the payload columns of some rows to a boolean mask::

    any        = all {"or" all}
    all        = one {"and" one}
    one        = "not" one | "(" any ")" | comparison
    comparison = column ("==" | "!=" | "<" | "<=" | ">" | ">=") value
               | column ["not"] "in" "[" [value {"," value}] "]"
               | value ["not"] "in" column
    column     = a name, or anything in backquotes
    value      = a number, a string in single or double quotes, true or false

A backslash in a string takes the next character as it is. Reading takes time in proportion to the text, and a
text of more than `MAX_TEXT` characters, `MAX_CONDITIONS` comparisons or `MAX_VALUES` values is refused before
it costs anything. A mapping of columns to wanted values makes the same functions.

Numbers are compared by value, as Python compares: 2.5 lies between 2 and 3 in a column of integers, too, and
nothing is rounded. Columns of strings and of lists are coded once per segment, when a filter first needs
them: a condition then compares small numbers.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

import numpy as np

from .._internal.locks import new_lock
from .._internal.texts import STRING
from .._internal.types import Array, Bools, Ints, Numbers32
from ..errors import InvalidInput, UnknownName
from .kernels import mark_rows
from .payload import Column, Ids, ListColumn, as_ids

__all__ = [
    "AllOf", "AnyOf", "Between", "Condition", "Not", "OneOf", "RowValues", "as_condition", "column_as_text",
    "parse_filter", "value_as_text",
]  # fmt: skip

T = TypeVar("T")
MAX_TEXT = 100_000  # characters of a filter
MAX_CONDITIONS = 200  # comparisons of a filter
MAX_VALUES = 10_000  # wanted values of a filter, as text or as a mapping
MAX_NESTED = 100  # parentheses and "not" inside one another
SHOWN = 30  # characters of the text that an error repeats
KEPT = 8  # conditions that a segment remembers; each takes a byte per row
FEW_VALUES = 8  # up to here one comparison each is faster than sorting the column

# ---- conditions: functions from the values of rows to a mask -----------------------------------


@dataclass(frozen=True)
class OneOf:
    """The column has one of the values; a column of lists has one of them among its own."""

    column: str
    values: tuple[Any, ...]

    def __call__(self, rows: RowValues) -> Bools:
        return rows.compare(self)


@dataclass(frozen=True)
class Between:
    """The column lies between two bounds; None is no bound, and an open bound itself does not pass."""

    column: str
    low: Any
    high: Any
    low_open: bool = False
    high_open: bool = False

    def __call__(self, rows: RowValues) -> Bools:
        return rows.compare(self)


@dataclass(frozen=True)
class AllOf:
    """Every part holds."""

    parts: tuple[Condition, ...]

    def __call__(self, rows: RowValues) -> Bools:
        return np.logical_and.reduce([np.ones(len(rows), bool), *(part(rows) for part in self.parts)])


@dataclass(frozen=True)
class AnyOf:
    """At least one part holds."""

    parts: tuple[Condition, ...]

    def __call__(self, rows: RowValues) -> Bools:
        return np.logical_or.reduce([np.zeros(len(rows), bool), *(part(rows) for part in self.parts)])


@dataclass(frozen=True)
class Not:
    """Every row that ``where`` does not let pass.

    Parameters
    ----------
    where : filter or value
        A filter (``Not({"language": "en"})``), or the value of a column inside one
        (``{"language": Not("en"), "year": Not((2010, 2020))}``).
    """

    where: Any

    def __call__(self, rows: RowValues) -> Bools:
        return ~self.where(rows)


Condition: TypeAlias = OneOf | Between | AllOf | AnyOf | Not


def as_condition(where: object) -> object:
    """The condition that a mapping or a text stands for; ids, masks and functions stay as they are."""
    if isinstance(where, str):
        return parse_filter(where)
    if isinstance(where, Mapping):
        parts = tuple(_of_column(name, value) for name, value in where.items())
        wanted = sum(len(part.values) for part in parts if isinstance(part, OneOf))
        _check_size(len(parts), wanted)
        return parts[0] if len(parts) == 1 else AllOf(parts)
    if isinstance(where, Not):
        return Not(as_condition(where.where))
    return where


def _check_size(n_conditions: int, n_values: int) -> None:
    if n_conditions > MAX_CONDITIONS or n_values > MAX_VALUES:
        raise InvalidInput(
            f"A filter has {n_conditions:,} conditions and {n_values:,} values",
            f"at most {MAX_CONDITIONS:,} conditions and {MAX_VALUES:,} values",
            "Pass a boolean mask or the ids of the rows",
        )


def _of_column(name: str, value: object) -> Condition:
    if isinstance(value, Not):
        return Not(_of_column(name, value.where))
    if isinstance(value, tuple):
        if len(value) != 2:
            raise InvalidInput(
                f"A filter wants a tuple of {len(value)} values of the payload column {name!r}",
                "(lowest, highest) for a range, with None for no bound",
                "Pass a list or a set for one of several values",
            )
        return Between(name, _plain(value[0]), _plain(value[1]))
    if isinstance(value, Collection) and not isinstance(value, (str, bytes)):
        return OneOf(name, tuple(map(_plain, value)))
    return OneOf(name, (_plain(value),))


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


# ---- text --------------------------------------------------------------------------------------

# Possessive quantifiers (++, *+) never go back, so that no text takes longer than its length.
TOKEN = re.compile(
    r"""\s*+(?:
    (?P<number>[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+(?!\w))
    |(?P<name>[^\W\d]\w*+(?:\.\w++)*+)
    |`(?P<quoted>[^`]++)`
    |"(?P<double>(?:[^"\\]++|\\.)*+)"
    |'(?P<single>(?:[^'\\]++|\\.)*+)'
    |(?P<sign>==|!=|<=|>=|<|>|[()\[\],])
    )""",
    re.VERBOSE | re.DOTALL,
)
WORDS = ("and", "or", "not", "in", "true", "false")
COMPARISONS: dict[str, Callable[[Any, Any], Condition]] = {
    "==": lambda column, value: OneOf(column, (value,)),
    "!=": lambda column, value: Not(OneOf(column, (value,))),
    "<": lambda column, value: Between(column, None, value, high_open=True),
    "<=": lambda column, value: Between(column, None, value),
    ">": lambda column, value: Between(column, value, None, low_open=True),
    ">=": lambda column, value: Between(column, value, None),
}


class _Token(NamedTuple):
    kind: str  # "column", "value", "end", or the word or sign itself
    value: Any
    place: int


def parse_filter(text: str) -> Condition:
    """The condition that a text stands for. Raises `InvalidInput` that points at what is wrong."""
    if len(text) > MAX_TEXT:
        raise InvalidInput(
            f"A filter has {len(text):,} characters",
            f"at most {MAX_TEXT:,}",
            "Pass a boolean mask or the ids of the rows",
        )
    reader = _Reader(text, _tokens(text))
    condition = reader.any_of(0)
    if reader.next.kind != "end":
        reader.refuse("'and', 'or' or the end of the filter")
    return condition


def _tokens(text: str) -> list[_Token]:
    found, place, end = [], 0, len(text.rstrip())
    while place < end:
        match = TOKEN.match(text, place)
        if match is None:
            place += len(text[place:]) - len(text[place:].lstrip())
            _refuse(text, place, "a column, a value or an operator; strings have a quote at both ends")
        found.append(_token(text, match))
        place = match.end()
    return [*found, _Token("end", None, end)]


def _token(text: str, match: re.Match[str]) -> _Token:
    kind = str(match.lastgroup)
    raw, place = match[kind], match.start(kind)
    if kind == "number":
        try:
            return _Token("value", int(raw) if raw.lstrip("+-").isdecimal() else float(raw), place)
        except ValueError:
            _refuse(text, place, "a number with fewer digits")
    if kind in ("double", "single"):
        return _Token("value", re.sub(r"\\(.)", r"\1", raw, flags=re.DOTALL), place - 1)
    if kind == "name" and raw.lower() in WORDS:
        word = raw.lower()
        return (
            _Token("value", word == "true", place) if word in ("true", "false") else _Token(word, raw, place)
        )
    if kind == "sign":
        return _Token(raw, raw, place)
    return _Token("column", raw, place if kind == "name" else place - 1)


@dataclass
class _Reader:
    """Reads the tokens from left to right."""

    text: str
    tokens: list[_Token]
    place: int = 0
    n_conditions: int = 0
    n_values: int = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.place]

    def refuse(self, expected: str) -> NoReturn:
        _refuse(self.text, self.next.place, expected)

    def takes(self, kind: str) -> bool:
        """Go on by one token if it is of this kind."""
        if self.next.kind != kind:
            return False
        self.place += 1
        return True

    def take(self, kind: str, expected: str) -> Any:
        if self.next.kind != kind:
            self.refuse(expected)
        self.place += 1
        return self.tokens[self.place - 1].value

    def any_of(self, depth: int) -> Condition:
        parts = [self.all_of(depth)]
        while self.takes("or"):
            parts.append(self.all_of(depth))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def all_of(self, depth: int) -> Condition:
        parts = [self.one(depth)]
        while self.takes("and"):
            parts.append(self.one(depth))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def one(self, depth: int) -> Condition:
        if depth == MAX_NESTED:
            self.refuse(f"at most {MAX_NESTED} parentheses inside one another")
        if self.takes("not"):
            return Not(self.one(depth + 1))
        if self.takes("("):
            condition = self.any_of(depth + 1)
            self.take(")", "')', or 'and' or 'or'")
            return condition
        return self.comparison()

    def comparison(self) -> Condition:
        self.n_conditions += 1
        _check_size(self.n_conditions, self.n_values)
        if self.next.kind == "value":
            value = self.take("value", "a value")
            negated = self.takes("not")
            self.take("in", "'in' after a value, as in \"Drama\" in tags; columns come first elsewhere")
            found: Condition = OneOf(self.take("column", "a column after 'in'"), (value,))
            return Not(found) if negated else found
        column = self.take("column", "a column, a value, 'not' or '('")
        compare = COMPARISONS.get(self.next.kind)
        if compare is not None:
            self.place += 1
            return compare(column, self.take("value", "a number, a string in quotes, true or false"))
        negated = self.takes("not")
        self.take("in", "==, !=, <, <=, >, >= or in after a column")
        found = OneOf(column, self.values())
        return Not(found) if negated else found

    def values(self) -> tuple[Any, ...]:
        self.take("[", "'[' and a list of values")
        found: list[Any] = []
        while not self.takes("]"):
            if found:
                self.take(",", "',' or ']'")
            found.append(self.take("value", "a number, a string in quotes, true or false"))
        self.n_values += len(found)
        _check_size(self.n_conditions, self.n_values)
        return tuple(found)


def _refuse(text: str, place: int, expected: str) -> NoReturn:
    rest = text[place : place + SHOWN]
    here = f"character {place + 1}, {rest!r}" if rest.strip() else f"its end, after {text[-SHOWN:]!r}"
    raise InvalidInput(
        f"The filter cannot be read at {here}",
        expected,
        """Write it as in: year >= 2010 and "Drama" in tags and not language == "en\"""",
    )


def column_as_text(name: str) -> str | None:
    """A column as a filter names it; None if it cannot."""
    found = TOKEN.fullmatch(name)
    if found and found["name"] == name and name.lower() not in WORDS:
        return name
    return f"`{name}`" if name and "`" not in name else None


def value_as_text(value: str | bool | float) -> str:
    """A value as a filter has it."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value).lower() if isinstance(value, bool) else repr(value)


# ---- values of rows ----------------------------------------------------------------------------


class RowValues:
    """The payload of one segment, and what filters have made of it: coded columns, and the last masks."""

    def __init__(self, payload: Mapping[str, Column], n_rows: int) -> None:
        self.payload, self.n_rows = payload, n_rows
        self._made: dict[str, Any] = {}
        self._kept: OrderedDict[Any, Any] = OrderedDict()
        self._lock = new_lock()

    def __len__(self) -> int:
        return self.n_rows

    def once(self, name: str, work: Callable[[], T]) -> T:
        """The result of the work, which is done once."""
        with self._lock:
            if name not in self._made:
                self._made[name] = work()
            found: T = self._made[name]
            return found

    def remembered(self, condition: Any, work: Callable[[], T]) -> T:
        """The result of the work, from memory if the same condition came lately."""
        try:
            hash(condition)
        except TypeError:
            return work()
        with self._lock:
            if condition in self._kept:
                self._kept.move_to_end(condition)
                kept: T = self._kept[condition]
                return kept
        found = work()
        with self._lock:
            self._kept[condition] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def compare(self, wanted: OneOf | Between) -> Bools:
        """The rows whose value, or one of whose values, is wanted."""
        name, payload = wanted.column, self.payload
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
            return np.zeros(
                len(column), bool
            )  # without values it has no type, and other segments may have one
        _require_type_of(column, wanted)
        if isinstance(column, ListColumn) or column.dtype == STRING:
            return self.once(name, lambda: _coded(column)).passing(wanted)
        numbers = column.view(np.uint8) if column.dtype == bool else column
        if isinstance(wanted, Between):
            bounds = _closed_bounds(numbers.dtype, wanted)
            return np.zeros(len(column), bool) if bounds is None else _within(numbers, *bounds)
        values = _exactly(numbers.dtype, wanted.values)
        if len(values) > FEW_VALUES:
            return np.isin(numbers, values)
        mask = np.zeros(len(column), bool) if len(values) != 1 else numbers == values[0]
        for value in values if len(values) > 1 else ():
            mask |= numbers == value
        return mask


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
        numbers = _exactly(values.dtype, wanted.values)
        found = np.searchsorted(values, numbers)
        there = found < len(values)
        return found[there][values[found[there]] == numbers[there]]
    else:
        bounds = _closed_bounds(values.dtype, wanted)
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


# ---- bounds as numbers of a column's own type ---------------------------------------------------


def _closed_bounds(dtype: np.dtype[Any], wanted: Between) -> tuple[Any, Any] | None:
    """Smallest and largest values of ``dtype`` that pass; None if none do.

    Bounds are compared by value, as Python compares: 2.5 is between 2 and 3 in a column of integers, too.
    """
    low, high = _ends(dtype)
    if wanted.low is not None:
        low = _at_or_above(dtype, wanted.low, wanted.low_open)
    if wanted.high is not None:
        high = _at_or_below(dtype, wanted.high, wanted.high_open)
    return None if low is None or high is None or low > high else (low, high)


def _exactly(dtype: np.dtype[Any], values: Iterable[Any]) -> Array:
    """The values that ``dtype`` can represent, as a sorted array."""
    found = []
    for value in values:
        bounds = None if value != value else _closed_bounds(dtype, Between("", value, value))
        if bounds is not None:
            found.append(bounds[0])
    return np.unique(np.array(found, dtype))


def _ends(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype.kind == "f":
        return dtype.type(-np.inf), dtype.type(np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.min), dtype.type(limits.max)


def _at_or_above(dtype: np.dtype[Any], value: Any, beyond: bool) -> Any:
    """The least number of the type that is at least the value, or above it; None if there is none."""
    if dtype.kind == "f":
        near = _nearest_float(dtype, value)
        if float(near) < value or (beyond and float(near) == value):
            return None if near == np.inf else np.nextafter(near, dtype.type(np.inf))
        return near
    limits = np.iinfo(dtype)
    if value > limits.max or (beyond and value == limits.max):
        return None
    if value < limits.min:
        return dtype.type(limits.min)
    whole = math.ceil(value)
    return dtype.type(whole + 1 if beyond and whole == value else whole)


def _at_or_below(dtype: np.dtype[Any], value: Any, beyond: bool) -> Any:
    if dtype.kind == "f":
        below = _at_or_above(dtype, -value, beyond)
        return None if below is None else -below
    limits = np.iinfo(dtype)
    if value < limits.min or (beyond and value == limits.min):
        return None
    if value > limits.max:
        return dtype.type(limits.max)
    whole = math.floor(value)
    return dtype.type(whole - 1 if beyond and whole == value else whole)


def _nearest_float(dtype: np.dtype[Any], value: Any) -> Any:
    with np.errstate(over="ignore"):
        try:
            return dtype.type(float(value))
        except OverflowError:  # an integer or a fraction beyond all floats
            return dtype.type(np.inf if value > 0 else -np.inf)
