"""Filters as text: ``year >= 2010 and "Drama" in tags and not language == "en"``.

    any        = all {"or" all}
    all        = one {"and" one}
    one        = "not" one | "(" any ")" | comparison
    comparison = column ("==" | "!=" | "<" | "<=" | ">" | ">=") value
               | column ["not"] "in" "[" [value {"," value}] "]"
               | value ["not"] "in" column
    column     = a name, or anything in backquotes
    value      = a number, a string in single or double quotes, true or false

A backslash in a string takes the next character as it is. Nothing is evaluated: text becomes a condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from ..errors import InvalidInput
from .conditions import AllOf, AnyOf, Between, Condition, Not, OneOf

__all__ = ["column_as_text", "parsed", "value_as_text"]

MOST_NESTED = 100  # parentheses and "not" inside one another
SHOWN = 30  # characters of the text that an error repeats
TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
    |(?P<name>[^\W\d]\w*(?:\.\w+)*)
    |`(?P<quoted>[^`]+)`
    |"(?P<double>(?:[^"\\]|\\.)*)"
    |'(?P<single>(?:[^'\\]|\\.)*)'
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


def parsed(text: str) -> Condition:
    """The condition that a text stands for. Raises `InvalidInput` that points at what is wrong."""
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
        if depth == MOST_NESTED:
            self.refuse(f"at most {MOST_NESTED} parentheses inside one another")
        if self.takes("not"):
            return Not(self.one(depth + 1))
        if self.takes("("):
            condition = self.any_of(depth + 1)
            self.take(")", "')', or 'and' or 'or'")
            return condition
        return self.comparison()

    def comparison(self) -> Condition:
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
