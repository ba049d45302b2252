"""Strings of any length: one array in memory, two plain arrays in a file; and tables of strings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from .types import Array, Bytes, Ints

STRING = np.dtypes.StringDType()  # fixed-width text would drop a NUL at its end


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
