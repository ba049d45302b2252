"""Strings of any length: one array in memory, two plain arrays in a file; tables of strings; values as JSON."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .types import Array, Bytes, Ints

STRING = np.dtypes.StringDType()  # fixed-width text would drop a NUL at its end
MOST_LEVELS = 100
# A text without an end is one match as well: sought again from each of its quotes, it would take hours.
TEXT_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{\]}]', re.DOTALL)


def to_bytes(texts: Iterable[str]) -> tuple[Bytes, Ints]:
    """All texts in UTF-8, one after the other, and where each of them ends."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(one) for one in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def from_bytes(text: Array, ends: Array) -> Array:
    """Undo `to_bytes`. Raises ValueError for arrays that it would not write, before any text is made."""
    if text.dtype != np.uint8 or text.ndim != 1 or ends.dtype != np.int64 or ends.ndim != 1:
        raise ValueError("texts in arrays of another kind")
    bounds = np.concatenate([[0], ends])
    if bounds[-1] != len(text) or (bounds[1:] < bounds[:-1]).any():
        raise ValueError("texts that end before they begin, or outside their bytes")
    raw = text.tobytes()
    return np.array([raw[begin:end].decode() for begin, end in pairwise(bounds.tolist())], STRING)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """A table as text: the first column to the left, the others to the right, a rule below the headings."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "─" * max(map(len, lines)))
    return "\n".join(lines)


# -- JSON --


def null_or_text(value: object) -> str | None:
    """Null for NaN and infinity; paths and other objects as text."""
    return None if isinstance(value, numbers.Real) else str(value)


def plain(value: object, otherwise: Callable[[object], object] = null_or_text) -> Any:
    """Arrays, NumPy numbers, tuples and mappings as lists, numbers and dictionaries, however deep they lie.

    ``otherwise`` says what becomes of what JSON does not know: NaN, infinity, and all other objects.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry, otherwise) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry, otherwise) for entry in value]
    return otherwise(value)


def require_shallow(text: str) -> None:
    """Raise ValueError for JSON of more than a hundred levels, before a parser takes memory for them."""
    level = 0
    for found in TEXT_OR_BRACKET.finditer(text):
        mark = text[found.start()]
        level += (mark in "[{") - (mark in "]}")
        if level > MOST_LEVELS:
            raise ValueError(f"more than {MOST_LEVELS} levels")
