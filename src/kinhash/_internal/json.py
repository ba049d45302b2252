"""Conversion of values to JSON."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

MOST_LEVELS = 100
# A text without an end is one match as well: sought again from each of its quotes, it would take hours.
TEXT_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{\]}]', re.DOTALL)


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
