"""How large a value of a whole-number model can become, and whether a product of it is exact.

A sum of whole numbers is exact, in any order, while no partial sum exceeds 2⁵³ in float64 or 2²⁴ in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import Array, Floats

__all__ = ["DOUBLE", "SINGLE", "Bound", "Inexact", "Unsupported", "require_exact"]

DOUBLE, SINGLE = 2.0**53, 2.0**24  # whole numbers up to these are exact in float64 and in float32
BLOCK = 1 << 22  # entries of a matrix that are looked at together: 32 MB
SLACK = 1 + 2.0**-30  # covers the rounding errors of the bounds themselves


class Inexact(ValueError):
    """A model whose sums could leave the range in which they are exact."""


class Unsupported(Inexact):
    """A map that is not made of sums of whole numbers, whatever its numbers are."""


@dataclass(frozen=True)
class Bound:
    """Bounds of one value (rows, width): its largest entry, and the length and the total size of a row.

    ``norm`` bounds the lengths that a `Unit` step keeps beside its rows; it is None for all other values.
    ``positive`` says that no entry is below zero.
    """

    width: int
    entry: float
    length: float
    total: float
    norm: float | None = None
    positive: bool = False

    @classmethod
    def of(cls, width: int, entry: float, total: float | None = None, positive: bool = False) -> Bound:
        """From the largest entry, and the largest sum of absolute entries of a row where that is smaller."""
        total = entry * width if total is None else total
        return cls(width, entry, entry * width**0.5, total, positive=positive)

    def of_product(self, matrix: Array) -> Floats:
        """The largest partial sum (q,) of each column of ``value @ matrix``, by the best of three bounds."""
        sums, lengths, largest = _sizes(matrix)
        best: Floats = np.minimum(self.entry * sums, self.length * lengths)
        return SLACK * np.minimum(best, self.total * largest)

    def largest_factor(self, weights: Floats, room: float) -> Floats:
        """The largest factors (q,) by which columns of ``weights`` can be multiplied, then rounded, so that
        no partial sum of ``value @ weights`` exceeds ``room``."""
        sums, lengths, largest = _sizes(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            by_entry = (room / self.entry - self.width / 2) / sums
            by_length = (room / self.length - self.width**0.5 / 2) / lengths
            by_total = (room / self.total - 0.5) / largest
        best: Floats = np.fmax(np.fmax(by_entry, by_length), by_total)
        return best / SLACK


def _sizes(matrix: Array) -> tuple[Floats, Floats, Floats]:
    """Sum of absolute entries, length and largest absolute entry of each column, a few columns at a time."""
    found = np.zeros((3, matrix.shape[1]))
    at_once = max(1, BLOCK // max(1, len(matrix)))
    for start in range(0, matrix.shape[1], at_once):
        part = slice(start, start + at_once)
        size = np.abs(matrix[:, part].astype(np.float64))
        found[:, part] = size.sum(axis=0), np.sqrt((size * size).sum(axis=0)), size.max(axis=0, initial=0.0)
    return found[0], found[1], found[2]


def require_exact(what: str, largest: Any, room: float = DOUBLE) -> None:
    """Raise `Inexact` unless the largest sum is within ``room``."""
    most = float(np.max(largest, initial=0.0))
    if not most < room:  # NaN fails too
        raise Inexact(f"{what} can reach {most:.3g}, and whole numbers are exact up to {room:.3g}")
