"""The steps of a model of whole numbers. A step turns earlier values into the next one.

Value 0 is a row as the user gave it; every later value is whole numbers, held as float32 or float64. A sum of
whole numbers is exact, in any order, while no partial sum exceeds 2⁵³ in float64 or 2²⁴ in float32: a `Bound`
says how large a value can become, and each step proves from its arrays that its sums stay in range, or raises
`Inexact`. Everything else is done entry by entry, by operations that IEEE 754 rounds correctly (−, ·, /, √,
rint) or by a table. So a model gives the same numbers in NumPy, Numba, CuPy, ONNX and JavaScript.

``run`` of a step is its definition, for NumPy and CuPy (``xp``). ``fast`` is the same by compiled kernels,
``onnx`` the same as nodes of a graph, and ``explorer/model.js`` has the same in JavaScript.

Another package registers a step under the entry point group "kinhash.model_steps", by its ``kind``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from threading import local
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._internal.container import Form, Forms
from .._internal.registry import Table
from .._internal.types import Array, Floats
from ..codes import MAX_BITS

if TYPE_CHECKING:
    from .onnx import Graph


DOUBLE, SINGLE = 2.0**53, 2.0**24  # whole numbers up to these are exact in float64 and in float32
LARGEST = 2.0**52  # of constants
BLOCK = 1 << 22  # entries of a matrix that are looked at together: 32 MB
SLACK = 1 + 2.0**-30  # covers the rounding errors of the bounds themselves
KEPT = 1 << 21  # entries of an array that is kept for the next block
RELATIVE_BITS = 14  # bits of an entry relative to the largest of its row
SIMILARITY_BITS = 15  # bits of a similarity
TABLE = Form("i4", "k", 0, 2**24)

Name = str
OWN = ("Clip", "Columns", "Join", "Linear", "Relative", "Similarities", "Unit")
STEPS = Table("step", {kind.lower(): f"{__name__}:{kind}" for kind in OWN}, "kinhash.model_steps")


class Inexact(ValueError):
    """A model whose sums could leave the range in which they are exact."""


class Unsupported(Inexact):
    """A map that is not made of sums of whole numbers, whatever its numbers are."""


def require_exact(what: str, largest: float | Array) -> None:
    """Raise `Inexact` unless whole numbers are exact up to the largest sum."""
    most = float(np.max(largest, initial=0.0))
    if not most < DOUBLE:  # NaN fails too
        raise Inexact(f"{what} can reach {most:.3g}, and whole numbers are exact up to {DOUBLE:.3g}")


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


class Workspace(local):
    """Arrays that a thread uses for one block of rows after another: fresh memory costs half of the time."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[object, str], Array] = {}

    def __call__(self, owner: object, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        """An array with any contents, the same one in every block."""
        if np.prod(shape) > KEPT:
            return np.empty(shape, dtype)
        found = self._arrays.get((owner, name))
        if found is None or found.shape[1:] != shape[1:] or len(found) < shape[0]:
            found = self._arrays[owner, name] = np.empty(shape, dtype)
        return found[: shape[0]]

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        return Workspace, ()  # no copy of a model carries these arrays


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

    def fast(self, room: Workspace, *given: Any) -> Array | tuple[Array, Array]:
        """The same by a compiled kernel, where there is one. It may lie in ``room``."""
        return self.run(np, *given)

    def onnx(self, graph: Graph, *given: Any) -> Name | tuple[Name, Name]:
        """The same as nodes of an ONNX graph: the name of the result, of two where there are lengths."""
        raise Unsupported(f"standard operators of ONNX have no step {self.kind!r}")

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

    def _product(self, room: Workspace, v: Array) -> Array:
        """The same in ``room``, and as the type of the factor."""
        factor = self._factor
        out = room(self, "product", (len(v), factor.shape[1]), factor.dtype)
        return np.matmul(v.astype(factor.dtype, copy=False), factor, out=out)


def places(xp: ModuleType, v: Array, shift: int, n: int, wrap: bool = False) -> Array:
    """Places in a table of n entries: ``(v + half) >> shift``, which is exact for whole numbers v."""
    half = 2.0 ** (shift - 1) if shift else 0.0
    place = xp.floor((v + half) * 2.0**-shift)
    place = place % n if wrap else xp.clip(place, 0, n - 1)
    return place.astype(np.int64)


# -- what is computed entry by entry: each has a kernel of its name in `kernels` ------------------


def whole_columns(xp: ModuleType, x: Array, mean: Array, factor: Array, limit: float) -> Array:
    """Definition of the kernel of this name."""
    return xp.clip(xp.rint((x.astype(np.float64, copy=False) - mean) * factor), -limit, limit)


def unit_rows(xp: ModuleType, v: Array, length: float) -> tuple[Array, Array]:
    """Definition of the kernel of this name."""
    v = v.astype(np.float64, copy=False)
    n = xp.sqrt((v * v).sum(axis=1, keepdims=True))
    return xp.rint(v * xp.where(n > 0, length / xp.where(n > 0, n, 1.0), 0.0)), n


def lengthened(xp: ModuleType, products: Array, n: Array, scale: Array, constant: Array) -> Array:
    """Definition of the kernel of this name."""
    return xp.rint(products.astype(np.float64, copy=False) * n * scale) + constant


def similarities(
    xp: ModuleType, products: Array, u: Array, squares: Array, shift: int, root: bool, table: Array
) -> Array:
    """Definition of the kernel of this name."""
    wide = u.astype(np.float64, copy=False)
    squared = (wide * wide).sum(axis=1, keepdims=True) + squares - 2 * products.astype(np.float64, copy=False)
    if root:
        squared = xp.rint(xp.sqrt(squared))
    return table[places(xp, squared, int(shift), len(table))]


# -- the steps ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Columns(Step):
    """``clip(rint((x − mean) · factor), ±limit)``: columns in whole parts of their spread."""

    kind = "columns"
    takes_row = True
    forms = {"mean": Form("f8", "p"), "factor": Form("f8", "p", 0)}  # 0 leaves a column out
    settings = {"limit": (1, 2**24)}

    mean: Array
    factor: Array
    limit: int

    def bound(self, *given: Bound) -> Bound:
        return Bound.of(len(self.mean), self.limit)

    def run(self, xp: ModuleType, *given: Array) -> Array:
        return whole_columns(xp, given[0], self.mean, self.factor, self.limit).astype(np.float32)

    def fast(self, room: Workspace, *given: Array) -> Array:
        from .kernels import whole_columns

        out = room(self, "out", given[0].shape, np.float32)
        whole_columns(given[0], self.mean, self.factor, float(self.limit), out)
        return out

    def onnx(self, graph: Graph, *given: Name) -> Name:
        centered = graph.node("Sub", given[0], self.mean)
        return graph.clipped(graph.rounded(centered, self.factor), -self.limit, self.limit)


@dataclass(frozen=True, eq=False)
class Relative(Step):
    """``rint(x / max|x| · 2¹⁴)``: a row in parts of its largest entry. Rows of zeros stay zero."""

    kind = "relative"
    takes_row = True
    settings = {"width": (1, 2**40)}

    width: int

    def bound(self, *given: Bound) -> Bound:
        return Bound.of(self.width, 2.0**RELATIVE_BITS)

    def run(self, xp: ModuleType, *given: Array) -> Array:
        x = given[0].astype(np.float64, copy=False)
        top = xp.abs(x).max(axis=1, keepdims=True)
        return xp.rint(x / xp.where(top > 0, top, 1.0) * 2.0**RELATIVE_BITS).astype(np.float32)

    def onnx(self, graph: Graph, *given: Name) -> Name:
        top = graph.largest(graph.node("Abs", given[0]))
        some = graph.node("Where", graph.node("Greater", top, np.float64(0)), top, np.float64(1))
        return graph.rounded(graph.node("Div", given[0], some), 2.0**RELATIVE_BITS)


@dataclass(frozen=True, eq=False)
class Unit(Step):
    """``u = rint(v · (length / n))`` with ``n = √Σv²``: rows of one length, and their own lengths n (k, 1).

    Products of such rows with a vector c are at most ``length · ‖c‖`` (Cauchy and Schwarz), whatever the
    width, so that they are exact in float32.
    """

    kind = "unit"
    settings = {"length": (1, 2**20)}

    length: int

    def bound(self, *given: Bound) -> Bound:
        (v,) = given
        require_exact("A sum of squares", v.entry**2 * v.width)
        length = self.length + v.width**0.5 / 2 + 1  # rounding adds a half to each entry
        return Bound(v.width, self.length + 1.0, length, length * v.width**0.5, v.entry * v.width**0.5)

    def run(self, xp: ModuleType, *given: Array) -> tuple[Array, Array]:
        u, n = unit_rows(xp, given[0], self.length)
        return u.astype(np.float32), n

    def fast(self, room: Workspace, *given: Array) -> tuple[Array, Array]:
        from .kernels import unit_rows

        u, n = room(self, "u", given[0].shape, np.float32), room(self, "n", (len(given[0]), 1))
        unit_rows(given[0], float(self.length), u, n)
        return u, n

    def onnx(self, graph: Graph, *given: Name) -> tuple[Name, Name]:
        n = graph.node("Sqrt", graph.sum(graph.node("Mul", given[0], given[0])))
        factor = graph.node(
            "Div", np.float64(self.length), graph.node("Max", n, np.float64(1))
        )  # n: 0 or ≥ 1
        return graph.node("Round", graph.node("Mul", given[0], factor)), n


@dataclass(frozen=True, eq=False)
class Linear(Product):
    """``rint(v @ weights · 2^shift) + constant``, plus a second input where there is one.

    After a `Unit` step the product is multiplied by the lengths n first: this restores the length of the row.
    """

    kind = "linear"
    takes_lengths = True
    forms = {
        "weights": Form("i4", "pq"),
        "shift": Form("i2", "q", -1000, 1000),
        "constant": Form("i8", "q", -LARGEST, LARGEST),
    }
    n_inputs = (1, 2)

    weights: Array
    shift: Array
    constant: Array

    def bound(self, *given: Bound) -> Bound:
        first = given[0]
        if first.width != len(self.weights):
            raise Inexact(f"{len(self.weights)} rows of weights for {first.width} entries")
        largest = self._prove(self.weights, first)
        with np.errstate(over="ignore"):
            scaled = largest * (1.0 if first.norm is None else first.norm) * self._scale + 1
        sums = scaled + np.abs(self.constant) + (given[1].entry if len(given) == 2 else 0.0)
        require_exact("A score", sums)
        if len(given) == 2 and given[1].width != len(self.shift):
            raise Inexact("a sum of values of different widths")
        return Bound.of(len(self.shift), float(sums.max(initial=0.0)))

    @cached_property
    def _scale(self) -> Array:
        return np.ldexp(1.0, self.shift.astype(np.int64))

    @cached_property
    def _constant(self) -> Array:
        return self.constant.astype(np.float64)

    @cached_property
    def _is_whole(self) -> bool:
        return not self.shift.any()

    def run(self, xp: ModuleType, *given: Array) -> Array:
        if isinstance(given[0], tuple):
            u, n = given[0]
            out = lengthened(xp, self._multiply(xp, u), n, self._scale, self._constant)
        else:
            out = self._multiply(xp, given[0])
            out = (out if self._is_whole else xp.rint(out * self._scale)) + self._constant
        return out + given[1] if len(given) == 2 else out

    def fast(self, room: Workspace, *given: Any) -> Array:
        from .kernels import lengthened

        if isinstance(given[0], tuple):
            u, n = given[0]
            products = self._product(room, u)
            out = room(self, "out", products.shape)
            lengthened(products, n, self._scale, self._constant, out)
        else:
            out = self._product(room, given[0]).astype(np.float64, copy=False)
            if not self._is_whole:
                np.rint(np.multiply(out, self._scale, out=out), out=out)
            out += self._constant
        if len(given) == 2:
            out += given[1]
        return out

    def onnx(self, graph: Graph, *given: Any) -> Name:
        if isinstance(given[0], tuple):
            u, n = given[0]
            out = graph.rounded(graph.node("Mul", graph.product(u, self._factor), n), self._scale)
        else:
            out = graph.product(given[0], self._factor)
            if not self._is_whole:
                out = graph.rounded(out, self._scale)
        if self.constant.any():
            out = graph.node("Add", out, graph.whole(self.constant))
        return graph.node("Add", out, given[1]) if len(given) == 2 else out


@dataclass(frozen=True, eq=False)
class Clip(Step):
    """``clip(v, low, high)``; with ``low`` 0 the hidden units of a network."""

    kind = "clip"
    settings = {"low": (-(2**51), 0), "high": (1, 2**51)}

    low: int
    high: int

    def bound(self, *given: Bound) -> Bound:
        (v,) = given
        return Bound.of(v.width, min(v.entry, max(-self.low, self.high)), positive=self.low == 0)

    def run(self, xp: ModuleType, *given: Array) -> Array:
        return xp.clip(given[0].astype(np.float64, copy=False), self.low, self.high)

    def fast(self, room: Workspace, *given: Array) -> Array:
        return np.clip(given[0], self.low, self.high, out=room(self, "out", given[0].shape))

    def onnx(self, graph: Graph, *given: Name) -> Name:
        return graph.clipped(given[0], self.low, self.high)


@dataclass(frozen=True, eq=False)
class Similarities(Tabled, Product):
    """``table[min((d² + half) >> shift, last)]`` of squared distances d² to centers (c, p).

    Distances are between whole vectors: ``d² = Σu² + Σc² − 2 u·c``. With ``root`` their roots are looked up.
    """

    kind = "similarities"
    takes_lengths = True
    forms = {"centers": Form("i4", "cp"), "table": TABLE}
    settings = {"shift": (0, 50), "root": (0, 1)}

    centers: Array
    table: Array
    shift: int
    root: int

    def bound(self, *given: Bound) -> Bound:
        (u,) = given
        if u.width != self.centers.shape[1]:
            raise Inexact(f"centers of {self.centers.shape[1]} entries for {u.width}")
        largest = self._prove(self.centers.T, u)
        sums = u.length**2 + self._squares + 2 * largest + 2.0**self.shift
        require_exact("A squared distance", sums)
        self._keep(_in_int32=bool(sums.max() < 2**30 and self.shift < 30))
        return Bound.of(len(self.centers), float(self.table.max()), positive=True)

    @cached_property
    def _squares(self) -> Array:
        return (self.centers.astype(np.float64) ** 2).sum(axis=1)

    def run(self, xp: ModuleType, *given: Any) -> Array:
        u = given[0][0] if isinstance(given[0], tuple) else given[0]
        products = self._multiply(xp, u)
        return similarities(xp, products, u, self._squares, self.shift, bool(self.root), self._table)

    def fast(self, room: Workspace, *given: Any) -> Array:
        from .kernels import similarities

        u = given[0][0] if isinstance(given[0], tuple) else given[0]
        if self.root or self._factor.dtype != np.float32 or not self._in_int32:
            return self.run(np, *given)
        products = self._product(room, u)
        out = room(self, "out", products.shape)
        similarities(products, u, self._squares, np.int64(self.shift), False, self._table, out)
        return out

    def onnx(self, graph: Graph, *given: Any) -> Name:
        u = given[0][0] if isinstance(given[0], tuple) else given[0]
        squares = graph.node("Add", graph.sum(graph.node("Mul", u, u)), graph.whole(self._squares))
        squared = graph.node("Sub", squares, graph.scaled(graph.product(u, self._factor), 2.0))
        if self.root:
            squared = graph.rounded(graph.node("Sqrt", squared))
        return graph.look_up(self.table, squared, self.shift)


@dataclass(frozen=True, eq=False)
class Join(Step):
    """Values side by side."""

    kind = "join"
    n_inputs = (1, 64)

    def bound(self, *given: Bound) -> Bound:
        width = sum(one.width for one in given)
        if width > MAX_BITS:  # joined again and again, a few values would fill any memory
            raise Inexact(f"{width} values side by side, and codes have at most {MAX_BITS} bits")
        return Bound.of(width, max(one.entry for one in given), positive=all(one.positive for one in given))

    def run(self, xp: ModuleType, *given: Array) -> Array:
        return xp.concatenate(given, axis=1)

    def onnx(self, graph: Graph, *given: Name) -> Name:
        return graph.node("Concat", *given, axis=1)
