"""The steps of a whole-number model. A step turns earlier values into the next one.

Value 0 is a row as the user gave it; every later value is whole numbers, held as float32 or float64. A step
sums whole numbers only, which is exact in any order, and does everything else entry by entry, by operations
that IEEE 754 rounds correctly (−, ·, /, √, rint) or by a table. So a model gives the same numbers in NumPy,
Numba, CuPy, ONNX and JavaScript.

``run`` is the definition, for NumPy and CuPy (``xp``). ``fast`` is the same by a compiled kernel. ``bound``
proves from the arrays that no sum can leave its exact range, or raises `Inexact`.

Add a step: one class in `feature_steps`, `label_steps` or `readout_steps` with its arrays and settings as
fields, one row in `steps.STEPS`, and its translation in `onnx.py` and `explorer/model.js`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._forms import Form, Forms
from .._types import Array
from .bounds import SINGLE, Bound, require_exact

__all__ = ["Product", "Step", "Tabled", "places"]

RELATIVE_BITS = 14  # bits of an entry relative to the largest of its row
SHARE_BITS = 24  # bits of a probability of a class
SIMILARITY_BITS = 15  # bits of a similarity
CHANCE_BITS = 16  # bits of a probability of a tag
BY_ROW, SYMMETRIC, NONE = 0, 1, 2  # how a solution is stretched
SOLVE_BITS = 16  # bits of the solution of a linear system
LARGEST = 2.0**52  # of constants
SMALLEST = 2.0**-900  # of sums in a linear system, but for zero
TABLE = Form("i4", "k", 0, 2**24)


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
    def run(self, xp: Any, *given: Any) -> Any:
        """The result, by NumPy or CuPy."""

    def fast(self, *given: Any) -> Any:
        """The same by a compiled kernel, where there is one."""
        return self.run(np, *given)

    def arrays(self) -> dict[str, Array]:
        """Its arrays by name, as a model file stores them."""
        return {name: getattr(self, name) for name in self.forms}

    def numbers(self) -> dict[str, int]:
        """Its settings by name."""
        return {name: int(getattr(self, name)) for name in self.settings}

    def _keep(self, **derived: Any) -> None:
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

    def _prove(self, matrix: Array, given: Bound) -> Any:
        """Bounds (q,) of the products. Keeps the matrix as float32 if they are exact in it, else float64."""
        largest = given.of_product(matrix)
        require_exact("A product", largest)
        dtype = np.float32 if largest.max(initial=0.0) < SINGLE else np.float64
        self._keep(_factor=np.ascontiguousarray(matrix, dtype))
        return largest

    def _multiply(self, xp: Any, v: Any) -> Any:
        factor = self._factor
        if xp is not np:  # a card may multiply float32 with fewer digits
            factor = factor.astype(np.float64)
        return xp.matmul(v.astype(factor.dtype, copy=False), factor).astype(np.float64, copy=False)


def places(xp: Any, v: Any, shift: int, n: int, wrap: bool = False) -> Any:
    """Places in a table of n entries: ``(v + half) >> shift``, which is exact for whole numbers v."""
    half = 2.0 ** (shift - 1) if shift else 0.0
    place = xp.floor((v + half) * 2.0**-shift)
    place = place % n if wrap else xp.clip(place, 0, n - 1)
    return place.astype(np.int64)
