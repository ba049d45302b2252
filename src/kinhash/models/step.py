"""The steps of a whole-number model. A step turns earlier values into the next one.

Value 0 is a row as the user gave it; every later value is whole numbers, held as float32 or float64. A step
sums whole numbers only, which is exact in any order, and does everything else entry by entry, by operations
that IEEE 754 rounds correctly (−, ·, /, √, rint) or by a table. So a model gives the same numbers in NumPy,
Numba, CuPy, ONNX and JavaScript.

``run`` is the definition, for NumPy and CuPy (``xp``). ``fast`` is the same by a compiled kernel. ``bound``
proves from the arrays that no sum can leave its exact range, or raises `Inexact`.

Add a step: one class in `score_steps` or `readout_steps` with its arrays and settings as
fields, one row in `steps.STEPS`, and its translation in `onnx.py` and `explorer/model.js`.

A sum of whole numbers is exact, in any order, while no partial sum exceeds 2⁵³ in float64 or 2²⁴ in float32:
a `Bound` says how large a value can become, and whether a product of it is exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from .._internal.types import Array, Floats
from ..codes import Form, Forms

__all__ = [
    "DOUBLE",
    "SINGLE",
    "Bound",
    "Inexact",
    "Product",
    "Step",
    "Tabled",
    "Unsupported",
    "places",
    "require_exact",
]

DOUBLE, SINGLE = 2.0**53, 2.0**24  # whole numbers up to these are exact in float64 and in float32
BLOCK = 1 << 22  # entries of a matrix that are looked at together: 32 MB
SLACK = 1 + 2.0**-30  # covers the rounding errors of the bounds themselves
RELATIVE_BITS = 14  # bits of an entry relative to the largest of its row
SHARE_BITS = 24  # bits of a probability of a class
SIMILARITY_BITS = 15  # bits of a similarity
CHANCE_BITS = 16  # bits of a probability of a tag
BY_ROW, SYMMETRIC, NONE = 0, 1, 2  # how a solution is stretched
SOLVE_BITS = 16  # bits of the solution of a linear system
LARGEST = 2.0**52  # of constants
SMALLEST = 2.0**-900  # of sums in a linear system, but for zero
TABLE = Form("i4", "k", 0, 2**24)


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


def require_exact(what: str, largest: float | Array) -> None:
    """Raise `Inexact` unless whole numbers are exact up to the largest sum."""
    most = float(np.max(largest, initial=0.0))
    if not most < DOUBLE:  # NaN fails too
        raise Inexact(f"{what} can reach {most:.3g}, and whole numbers are exact up to {DOUBLE:.3g}")


@dataclass(frozen=True, eq=False)
class Step(ABC):
    """One step: the places of its inputs among the values, whole-number settings, and arrays."""

    kind: ClassVar[str]
    forms: ClassVar[Forms] = {}  # of its arrays
    settings: ClassVar[dict[str, tuple[int, int]]] = {}  # with their ranges
    n_inputs: ClassVar[tuple[int, int]] = (1, 1)
    takes_row: ClassVar[bool] = False  # whether its input is the row itself
    takes_lengths: ClassVar[bool] = False  # whether its first input may have lengths, see `Unit`
    on_card: ClassVar[bool] = True

    inputs: tuple[int, ...]

    @abstractmethod
    def bound(self, *given: Bound) -> Bound:
        """Bound of the result; raises `Inexact` if a sum could leave its exact range."""

    @abstractmethod
    def run(self, xp: ModuleType, *given: Any) -> Array | tuple[Array, Array]:
        """The result, by NumPy or CuPy."""

    def fast(self, *given: Any) -> Array | tuple[Array, Array]:
        """The same by a compiled kernel, where there is one."""
        return self.run(np, *given)

    def arrays(self) -> dict[str, Array]:
        """Its arrays by name, as a model file stores them."""
        return {name: getattr(self, name) for name in self.forms}

    def numbers(self) -> dict[str, int]:
        """Its settings by name."""
        return {name: int(getattr(self, name)) for name in self.settings}

    def _keep(self, **derived: object) -> None:
        """Keep what was derived from the arrays."""
        self.__dict__.update(derived)


class Tabled:
    """A step that looks values up in a table."""

    table: Array

    @cached_property
    def _table(self) -> Array:
        return self.table.astype(np.float64)


class Product(Step):
    """A step that multiplies its first input by a matrix of whole numbers."""

    _factor: Array  # that matrix, kept by `_prove`
    _in_int32: bool

    def _prove(self, matrix: Array, given: Bound) -> Array:
        """Bounds (q,) of the products. Keeps the matrix as float32 if they are exact in it, else float64."""
        largest = given.of_product(matrix)
        require_exact("A product", largest)
        dtype = np.float32 if largest.max(initial=0.0) < SINGLE else np.float64
        self._keep(_factor=np.ascontiguousarray(matrix, dtype))
        return largest

    def _multiply(self, xp: ModuleType, v: Array) -> Array:
        factor = self._factor
        if xp is not np:  # a card may multiply float32 with fewer digits
            factor = factor.astype(np.float64)
        return xp.matmul(v.astype(factor.dtype, copy=False), factor).astype(np.float64, copy=False)


def places(xp: ModuleType, v: Array, shift: int, n: int, wrap: bool = False) -> Array:
    """Places in a table of n entries: ``(v + half) >> shift``, which is exact for whole numbers v."""
    half = 2.0 ** (shift - 1) if shift else 0.0
    place = xp.floor((v + half) * 2.0**-shift)
    place = place % n if wrap else xp.clip(place, 0, n - 1)
    return place.astype(np.int64)
