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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

import numpy as np

from .._internal.locks import new_lock
from .._internal.texts import STRING
from .._internal.types import Array, Bools, Ints, Numbers32
from ..errors import InvalidInput, UnknownName
from .payload import Column, ListColumn, as_ids

T = TypeVar("T")
MAX_TEXT = 100_000  # characters of a filter
MAX_CONDITIONS = 200  # comparisons of a filter
MAX_VALUES = 10_000  # wanted values of a filter, as text or as a mapping
MAX_NESTED = 100  # parentheses and "not" inside one another
SHOWN = 30  # characters of the text that an error repeats
KEPT = 8  # conditions that a segment remembers; each takes a byte per row
FEW = 8  # up to here one comparison each is faster than looking every row up


class OneOf(NamedTuple):
    """The values that a column may have; a column of lists has one of them among its own."""

    values: tuple[Any, ...]


class Between(NamedTuple):
    """The bounds of a column; None is no bound, and an open bound itself does not pass."""

    low: Any
    high: Any
    low_open: bool = False
    high_open: bool = False


Test: TypeAlias = "Callable[[RowValues], Bools]"


@dataclass(frozen=True)
class Condition:
    """A filter on payload columns, as a function. Equal where it was written alike."""

    written: object
    test: Test = field(compare=False, repr=False)

    def __call__(self, rows: RowValues) -> Bools:
        return self.test(rows)


def _compare(column: str, wanted: OneOf | Between) -> Test:
    return lambda rows: rows.compare(column, wanted)


def _all_of(parts: Sequence[Test]) -> Test:
    if len(parts) == 1:
        return parts[0]
    return lambda rows: np.logical_and.reduce([np.ones(len(rows), bool), *(part(rows) for part in parts)])


def _any_of(parts: Sequence[Test]) -> Test:
    return parts[0] if len(parts) == 1 else lambda rows: np.logical_or.reduce([part(rows) for part in parts])


def _none_of(part: Test) -> Test:
    return lambda rows: ~part(rows)


def as_condition(where: object) -> Any:
    """The condition that a mapping or a text stands for; ids, masks and functions stay as they are."""
    if isinstance(where, str):
        return Condition(where, _Reader(where).whole())
    if not isinstance(where, Mapping):
        return where
    parts = [(str(name), _wanted(str(name), value)) for name, value in where.items()]
    _check_size(len(parts), sum(len(wanted.values) for _, wanted in parts if isinstance(wanted, OneOf)))
    return Condition(tuple(parts), _all_of([_compare(*part) for part in parts]))


def _wanted(name: str, value: Any) -> OneOf | Between:
    if isinstance(value, tuple) and len(value) != 2:
        raise InvalidInput(
            f"A filter wants a tuple of {len(value)} values of the payload column {name!r}",
            "(lowest, highest) for a range, with None for no bound",
            "Pass a list or a set for one of several values",
        )
    several = isinstance(value, Collection) and not isinstance(value, (str, bytes))
    values = tuple(
        one.item() if isinstance(one, np.generic) else one for one in (value if several else [value])
    )
    return Between(*values) if isinstance(value, tuple) else OneOf(values)


def _check_size(n_conditions: int, n_values: int) -> None:
    if n_conditions > MAX_CONDITIONS or n_values > MAX_VALUES:
        raise InvalidInput(
            f"A filter has {n_conditions:,} conditions and {n_values:,} values",
            f"at most {MAX_CONDITIONS:,} conditions and {MAX_VALUES:,} values",
            "Pass a boolean mask or the ids of the rows",
        )


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
SIGNS: dict[str, Callable[[Any], OneOf | Between]] = {
    "==": lambda value: OneOf((value,)),
    "<": lambda value: Between(None, value, high_open=True),
    "<=": lambda value: Between(None, value),
    ">": lambda value: Between(value, None, low_open=True),
    ">=": lambda value: Between(value, None),
}
A_VALUE = "a number, a string in quotes, true or false"


class _Token(NamedTuple):
    kind: str  # "column", "value", "end", or the word or sign itself
    value: Any
    place: int


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
    word = raw.lower()
    if kind == "name" and word in ("true", "false"):
        return _Token("value", word == "true", place)
    if kind == "sign" or (kind == "name" and word in WORDS):
        return _Token(word, raw, place)
    return _Token("column", raw, place if kind == "name" else place - 1)


class _Reader:
    """Reads the tokens of a text from left to right into one function."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_TEXT:
            raise InvalidInput(
                f"A filter has {len(text):,} characters",
                f"at most {MAX_TEXT:,}",
                "Pass a boolean mask or the ids of the rows",
            )
        self.text, self.tokens = text, _tokens(text)
        self.place = self.n_conditions = self.n_values = 0

    def whole(self) -> Test:
        test = self.any_of(0)
        self.take("end", "'and', 'or' or the end of the filter")
        return test

    def takes(self, kind: str) -> bool:
        """Go on by one token if it is of this kind."""
        here = self.tokens[self.place].kind == kind
        self.place += here
        return here

    def take(self, kind: str, expected: str) -> Any:
        if not self.takes(kind):
            _refuse(self.text, self.tokens[self.place].place, expected)
        return self.tokens[self.place - 1].value

    def any_of(self, depth: int) -> Test:
        parts = [self.all_of(depth)]
        while self.takes("or"):
            parts.append(self.all_of(depth))
        return _any_of(parts)

    def all_of(self, depth: int) -> Test:
        parts = [self.one(depth)]
        while self.takes("and"):
            parts.append(self.one(depth))
        return _all_of(parts)

    def one(self, depth: int) -> Test:
        if depth == MAX_NESTED:
            self.take("fewer", f"at most {MAX_NESTED} parentheses inside one another")
        if self.takes("not"):
            return _none_of(self.one(depth + 1))
        if self.takes("("):
            test = self.any_of(depth + 1)
            self.take(")", "')', or 'and' or 'or'")
            return test
        return self.comparison()

    def comparison(self) -> Test:
        self.n_conditions += 1
        _check_size(self.n_conditions, self.n_values)
        if self.takes("value"):
            wanted: OneOf | Between = OneOf((self.tokens[self.place - 1].value,))
            negated = self.takes("not")
            self.take("in", "'in' after a value, as in \"Drama\" in tags; columns come first elsewhere")
            column = self.take("column", "a column after 'in'")
        else:
            column = self.take("column", "a column, a value, 'not' or '('")
            sign = self.tokens[self.place].kind
            if sign in SIGNS or sign == "!=":
                self.place += 1
                negated, value = sign == "!=", self.take("value", A_VALUE)
                wanted = OneOf((value,)) if negated else SIGNS[sign](value)
            else:
                negated = self.takes("not")
                self.take("in", "==, !=, <, <=, >, >= or in after a column")
                wanted = OneOf(self.values())
        return _none_of(_compare(column, wanted)) if negated else _compare(column, wanted)

    def values(self) -> tuple[Any, ...]:
        self.take("[", "'[' and a list of values")
        found: list[Any] = []
        while not self.takes("]"):
            if found:
                self.take(",", "',' or ']'")
            found.append(self.take("value", A_VALUE))
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
        except TypeError:  # of a value that no column has, which the work refuses
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

    def compare(self, name: str, wanted: OneOf | Between) -> Bools:
        """The rows whose value, or one of whose values, is wanted."""
        if not self.payload:
            raise InvalidInput(
                f"A filter names the payload column {name!r}, and the index has no payload",
                "an index with payload columns",
                "Pass payload when the index is built",
            )
        if name not in self.payload:
            raise UnknownName.among("payload column", name, self.payload)
        column = self.payload[name]
        values = column.values if isinstance(column, ListColumn) else column
        if isinstance(column, ListColumn) and not len(values):  # of no type; other segments may have one
            return np.zeros(len(column), bool)
        _require_type_of(values, name, wanted)
        if isinstance(column, ListColumn) or values.dtype == STRING:
            return self.once(name, lambda: _Coded.of(column)).passing(wanted)
        return _numbers_that_pass(values, wanted)


def _require_type_of(values: Array, name: str, wanted: OneOf | Between) -> None:
    accepted, kind = (str, "strings") if values.dtype == STRING else (Real, "numbers")
    kind = "booleans" if values.dtype == bool else kind
    asked = (
        list(wanted.values) if isinstance(wanted, OneOf) else [one for one in wanted[:2] if one is not None]
    )
    for value in asked:
        if not isinstance(value, accepted) or (isinstance(wanted, Between) and value != value):
            raise InvalidInput(
                f"A filter wants {value!r:.60} of the payload column {name!r}, which holds {kind}",
                f"{kind}, a list of {kind}, or a tuple (lowest, highest) of {kind}",
                "Convert the wanted values to the type of the column",
            )
    if accepted is str:
        as_ids(asked, f"values wanted of {name!r}")  # refuses what is not valid Unicode


@dataclass(frozen=True, eq=False)
class _Coded:
    """Distinct values, ascending, and the number of the value of every row.

    Of lists, ``rows[starts[v]:starts[v + 1]]`` are the rows that have value ``v`` among theirs.
    """

    values: list[str] | Array
    n_rows: int
    codes: Array
    starts: Ints | None = None
    rows: Numbers32 | None = None

    @classmethod
    def of(cls, column: Column) -> _Coded:
        """Memory: 1 to 4 bytes for each value, and 4 more in lists, beside the distinct values."""
        flat = column.values if isinstance(column, ListColumn) else column
        values: list[str] | Array
        if flat.dtype == STRING:
            texts = flat.tolist()
            values = sorted(set(texts))
            place = dict(zip(values, range(len(values)), strict=True))
            dtype = np.min_scalar_type(max(0, len(values) - 1))
            codes: Array = np.fromiter(map(place.__getitem__, texts), dtype, len(texts))
        else:
            values, codes = np.unique(flat, return_inverse=True)
        if not isinstance(column, ListColumn):
            return cls(values, len(column), codes)
        order = np.argsort(codes, kind="stable")
        row_of_value = np.repeat(np.arange(len(column), dtype=np.uint32), column.ends - column.starts)
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(values)))])
        return cls(values, len(column), codes[:0], starts, row_of_value[order])

    def passing(self, wanted: OneOf | Between) -> Bools:
        """The rows whose value, or one of whose values, is wanted."""
        mask, places = np.zeros(self.n_rows, bool), self._places(wanted)
        last = np.flatnonzero(np.diff(places, append=-1) != 1)  # of every run of consecutive values
        ends = (places[last] + 1).tolist()
        begins = places[np.concatenate([[0], last + 1])[: len(last)]].tolist()
        if self.starts is not None and self.rows is not None:
            for begin, end in zip(begins, ends, strict=True):
                mask[self.rows[self.starts[begin] : self.starts[end]]] = True
        elif len(ends) <= FEW:
            for begin, end in zip(begins, ends, strict=True):
                mask |= _within(self.codes, begin, end - 1)
        else:
            table = np.zeros(len(self.values), bool)
            table[places] = True
            np.take(table, self.codes, out=mask)
        return mask

    def _places(self, wanted: OneOf | Between) -> Ints:
        """The numbers of the distinct values that are wanted, ascending."""
        values = self.values
        if not isinstance(values, list):
            return np.flatnonzero(_numbers_that_pass(values, wanted))
        if isinstance(wanted, OneOf):
            found = [(bisect_left(values, text), text) for text in set(wanted.values)]
            return np.array(sorted(p for p, text in found if values[p : p + 1] == [text]), np.int64)
        low, high = 0, len(values)
        if wanted.low is not None:
            low = (bisect_right if wanted.low_open else bisect_left)(values, wanted.low)
        if wanted.high is not None:
            high = (bisect_left if wanted.high_open else bisect_right)(values, wanted.high)
        return np.arange(low, max(low, high))


# ---- numbers, compared by value ------------------------------------------------------------------


def _numbers_that_pass(numbers: Array, wanted: OneOf | Between) -> Bools:
    numbers = numbers.view(np.uint8) if numbers.dtype == bool else numbers
    if isinstance(wanted, Between):
        low = _bound(numbers.dtype, -math.inf if wanted.low is None else wanted.low, 1, wanted.low_open)
        high = _bound(numbers.dtype, math.inf if wanted.high is None else wanted.high, -1, wanted.high_open)
        none = low is None or high is None or low > high
        return np.zeros(len(numbers), bool) if none else _within(numbers, low, high)
    bounds = [(_bound(numbers.dtype, value, 1), value) for value in wanted.values if value == value]
    values = {bound.item() for bound, value in bounds if bound is not None and bound.item() == value}
    if len(values) > FEW:
        return np.isin(numbers, np.array(sorted(values), numbers.dtype))
    mask = np.zeros(len(numbers), bool)
    for value in values:
        mask |= numbers == numbers.dtype.type(value)
    return mask


def _within(numbers: Array, low: Any, high: Any) -> Bools:
    if low == high:
        return numbers == low
    mask: Bools = numbers >= low
    mask &= numbers <= high
    return mask


def _bound(dtype: np.dtype[Any], value: Any, inward: int, is_open: bool = False) -> Any:
    """The first number of the type on the inner side (1: above, -1: below) of a bound; None if there is none.

    The bound itself belongs to that side unless it is open. So 2.5 means 3 or 2 in a column of integers.
    """
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            try:
                near = dtype.type(float(value))
            except OverflowError:  # an integer or a fraction beyond all floats
                near = dtype.type(math.inf if value > 0 else -math.inf)
        outside = float(near) < value if inward > 0 else float(near) > value
        if outside or (is_open and float(near) == value):
            edge = dtype.type(inward * math.inf)
            return None if near == edge else np.nextafter(near, edge)
        return near
    limits = np.iinfo(dtype)
    if limits.min <= value <= limits.max:
        value, given = math.ceil(value) if inward > 0 else math.floor(value), value
        value += inward * (is_open and value == given)
    if (value > limits.max) if inward > 0 else (value < limits.min):
        return None
    return dtype.type(min(max(value, limits.min), limits.max))
