"""The steps of a whole-number model. A step turns earlier values into the next one.

Value 0 is a row as the user gave it; every later value is whole numbers, held as float32 or float64. A step
sums whole numbers only, which is exact in any order, and does everything else entry by entry, by operations
that IEEE 754 rounds correctly (−, ·, /, √, rint) or by a table. So a model gives the same numbers in NumPy,
Numba, CuPy, ONNX and JavaScript.

``run`` is the definition, for NumPy and CuPy (``xp``). ``fast`` is the same by a compiled kernel. ``bound``
proves from the arrays that no sum can leave its exact range, or raises `Inexact`.

Add a step: one class here with its arrays and settings as fields, one row in `STEPS`, and its translation in
`onnx.py` and `explorer/model.js`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._forms import POSITIVE, Form, Forms
from .._types import Array
from ..codes import MAX_BITS
from .bounds import SINGLE, Bound, Inexact, require_exact

__all__ = [
    "STEPS",
    "Columns",
    "Join",
    "Linear",
    "Lookup",
    "Relative",
    "Settle",
    "Similarities",
    "Softmax",
    "Solve",
    "Step",
    "TagSimilarities",
    "Trees",
    "Unit",
    "require_edges",
]

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


@dataclass(frozen=True, eq=False)
class Columns(Step):
    """``clip(rint((x − mean) · factor), ±limit)``: columns in whole parts of their spread."""

    kind = "columns"
    forms = {"mean": Form("f8", "p"), "factor": Form("f8", "p", POSITIVE)}
    settings = {"limit": (1, 2**24)}

    mean: Array
    factor: Array
    limit: int

    def bound(self, *given: Bound) -> Bound:
        return Bound.of(len(self.mean), self.limit)

    def run(self, xp: Any, *given: Any) -> Any:
        whole = xp.rint((given[0].astype(np.float64) - self.mean) * self.factor)
        return xp.clip(whole, -self.limit, self.limit).astype(np.float32)

    def fast(self, *given: Any) -> Any:
        from .kernels import whole_columns

        out = np.empty(given[0].shape, np.float32)
        whole_columns(given[0], self.mean, self.factor, float(self.limit), out)
        return out


@dataclass(frozen=True, eq=False)
class Relative(Step):
    """``rint(x / max|x| · 2¹⁴)``: a row in parts of its largest entry. Rows of zeros stay zero."""

    kind = "relative"
    settings = {"width": (1, 2**40)}

    width: int

    def bound(self, *given: Bound) -> Bound:
        return Bound.of(self.width, 2.0**RELATIVE_BITS)

    def run(self, xp: Any, *given: Any) -> Any:
        x = given[0].astype(np.float64)
        top = xp.abs(x).max(axis=1, keepdims=True)
        return xp.rint(x / xp.where(top > 0, top, 1.0) * 2.0**RELATIVE_BITS).astype(np.float32)

    def fast(self, *given: Any) -> Any:
        from .kernels import relative_rows

        out = np.empty(given[0].shape, np.float32)
        relative_rows(given[0], 2.0**RELATIVE_BITS, out)
        return out


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

    def run(self, xp: Any, *given: Any) -> Any:
        v = given[0].astype(np.float64)
        n = xp.sqrt((v * v).sum(axis=1, keepdims=True))
        factor = xp.where(n > 0, self.length / xp.where(n > 0, n, 1.0), 0.0)
        return xp.rint(v * factor).astype(np.float32), n

    def fast(self, *given: Any) -> Any:
        from .kernels import unit_rows

        u, n = np.empty(given[0].shape, np.float32), np.empty((len(given[0]), 1))
        unit_rows(given[0], float(self.length), u, n)
        return u, n


class _Product(Step):
    """A step that multiplies its first input by a matrix of whole numbers."""

    def _prove(self, matrix: Array, given: Bound) -> Any:
        """Bounds (q,) of the products. Keeps the matrix as float32 if they are exact in it, else float64."""
        largest = given.of_product(matrix)
        require_exact("A product", largest)
        dtype = np.float32 if largest.max(initial=0.0) < SINGLE else np.float64
        self._keep(_factor=np.ascontiguousarray(matrix, dtype))
        return largest

    def _multiply(self, xp: Any, v: Any) -> Any:
        factor = self.__dict__["_factor"]
        if xp is not np:  # a card may multiply float32 with fewer digits
            factor = factor.astype(np.float64)
        return xp.matmul(v.astype(factor.dtype, copy=False), factor).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Linear(_Product):
    """``rint(v @ weights · 2^shift) + constant``, plus a second input where there is one.

    After a `Unit` step the product is multiplied by the lengths n first: a row counts as long as it was.
    """

    kind = "linear"
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

    def run(self, xp: Any, *given: Any) -> Any:
        if isinstance(given[0], tuple):
            u, n = given[0]
            out = xp.rint(self._multiply(xp, u) * n * self._scale)
        else:
            out = self._multiply(xp, given[0])
            if not self._is_whole:
                out = xp.rint(out * self._scale)
        out += self._constant
        return out + given[1] if len(given) == 2 else out

    def fast(self, *given: Any) -> Any:
        if not isinstance(given[0], tuple):
            return self.run(np, *given)
        from .kernels import lengthened

        u, n = given[0]
        products = u @ self.__dict__["_factor"]
        out = np.empty(products.shape)
        lengthened(products, n, self._scale, self._constant, out)
        return out + given[1] if len(given) == 2 else out


@dataclass(frozen=True, eq=False)
class Similarities(_Product):
    """``table[min((d² + half) >> shift, last)]`` of squared distances d² to centers (c, p); its root if asked.

    Distances are between whole vectors: ``d² = Σu² + Σc² − 2 u·c``.
    """

    kind = "similarities"
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
        squares = (self.centers.astype(np.float64) ** 2).sum(axis=1)
        sums = u.length**2 + squares + 2 * largest + 2.0**self.shift
        require_exact("A squared distance", sums)
        self._keep(_in_int32=bool(sums.max() < 2**30 and self.shift < 30))
        return Bound.of(len(self.centers), float(self.table.max()), positive=True)

    @cached_property
    def _squares(self) -> Array:
        return (self.centers.astype(np.float64) ** 2).sum(axis=1)

    @cached_property
    def _table(self) -> Array:
        return self.table.astype(np.float64)

    def run(self, xp: Any, *given: Any) -> Any:
        u = given[0][0] if isinstance(given[0], tuple) else given[0]
        wide = u.astype(np.float64)
        squared = (wide * wide).sum(axis=1, keepdims=True) + self._squares - 2 * self._multiply(xp, u)
        if self.root:
            squared = xp.rint(xp.sqrt(squared))
        return self._table[_places(xp, squared, self.shift, len(self.table))]

    def fast(self, *given: Any) -> Any:
        from .kernels import row_squares, similarities

        u = given[0][0] if isinstance(given[0], tuple) else given[0]
        factor = self.__dict__["_factor"]
        if self.root or factor.dtype != np.float32 or not self.__dict__["_in_int32"]:
            return self.run(np, *given)
        products = u @ factor
        out = np.empty(products.shape)
        squares = row_squares(u)
        similarities(products, squares, self._whole_squares, np.int64(self.shift), self._table, out)
        return out

    @cached_property
    def _whole_squares(self) -> Array:
        return self._squares.astype(np.int32)


@dataclass(frozen=True, eq=False)
class Softmax(Step):
    """Shares of classes: ``e = table[min((max − v + half) >> shift, last)]``, then ``rint(e / Σe · 2²⁴)``."""

    kind = "softmax"
    forms = {"table": TABLE}
    settings = {"shift": (0, 50)}

    table: Array
    shift: int

    def bound(self, *given: Bound) -> Bound:
        (v,) = given
        if self.table[0] < 1:
            raise Inexact("shares of nothing: the first entry of the table is not positive")
        require_exact("A difference", 2 * v.entry + 2.0**self.shift)
        require_exact("A sum of shares", v.width * float(self.table.max()))
        whole = 2.0**SHARE_BITS
        return Bound.of(v.width, whole, whole + v.width / 2 + 1, positive=True)

    @cached_property
    def _table(self) -> Array:
        return self.table.astype(np.float64)

    def run(self, xp: Any, *given: Any) -> Any:
        v = given[0].astype(np.float64, copy=False)  # differences need a bit more than the values
        away = v.max(axis=1, keepdims=True) - v
        e = self._table[_places(xp, away, self.shift, len(self.table))]
        return xp.rint(e / e.sum(axis=1, keepdims=True) * 2.0**SHARE_BITS)

    def fast(self, *given: Any) -> Any:
        from .kernels import shares

        out = np.empty(given[0].shape)
        shares(given[0].astype(np.float64, copy=False), 2.0**-self.shift, self._table, 2.0**SHARE_BITS, out)
        return out


@dataclass(frozen=True, eq=False)
class Lookup(Step):
    """``table[(v − low + half) >> shift]``, held at the ends of the table, or around again if ``wrap``."""

    kind = "lookup"
    forms = {"table": Form("i4", "k", -(2**24), 2**24)}
    settings = {"low": (-(2**51), 2**51), "shift": (0, 50), "wrap": (0, 1)}

    table: Array
    low: int
    shift: int
    wrap: int

    def bound(self, *given: Bound) -> Bound:
        (v,) = given
        require_exact("A difference", v.entry + abs(self.low) + 2.0**self.shift)
        return Bound.of(v.width, float(np.abs(self.table).max()), positive=bool(self.table.min() >= 0))

    @cached_property
    def _table(self) -> Array:
        return self.table.astype(np.float64)

    def run(self, xp: Any, *given: Any) -> Any:
        away = given[0].astype(np.float64, copy=False) - float(self.low)
        return self._table[_places(xp, away, self.shift, len(self.table), bool(self.wrap))]


@dataclass(frozen=True, eq=False)
class TagSimilarities(_Product):
    """Expected similarities (k, m) to anchors with tags ``patterns`` (m, t), in parts of 2¹⁵.

    Inputs are the probabilities p of tags, in parts of 2¹⁶, and ``−log(1 − p)``. With ``common = p @ patterns``
    and ``none``, the probability that no tag is shared, by the table of exp: ``graded`` gives
    ``common / (|y| + Σp − common) − none``, else ``1 − 2·none``.
    """

    kind = "tags"
    forms = {"patterns": Form("u1", "mt", 0, 1), "table": Form("i4", "k", 0, 2**SIMILARITY_BITS)}
    settings = {"shift": (0, 50), "graded": (0, 1)}
    n_inputs = (2, 2)

    patterns: Array
    table: Array
    shift: int
    graded: int

    def bound(self, *given: Bound) -> Bound:
        chances, logs = given
        if chances.width != logs.width or chances.width != self.patterns.shape[1]:
            raise Inexact("probabilities of other tags than the anchors have")
        if chances.entry > 2.0**CHANCE_BITS or not chances.positive or not logs.positive:
            raise Inexact("probabilities above 1, or below 0")
        largest = max(chances.entry, logs.entry)
        self._prove(self.patterns.T, Bound.of(chances.width, largest))
        require_exact("A union", 2.0**CHANCE_BITS * 3 * chances.width + 2.0**self.shift)
        return Bound.of(len(self.patterns), 2.0**SIMILARITY_BITS)

    @cached_property
    def _table(self) -> Array:
        return self.table.astype(np.float64)

    @cached_property
    def _sizes(self) -> Array:
        """Tags of each anchor, at least one, in parts of 2¹⁶."""
        return np.maximum(self.patterns.sum(axis=1, dtype=np.float64), 1.0) * 2.0**CHANCE_BITS

    def run(self, xp: Any, *given: Any) -> Any:
        chances, logs = given
        none = self._table[_places(xp, self._multiply(xp, logs), self.shift, len(self.table))]
        if not self.graded:
            return 2.0**SIMILARITY_BITS - 2 * none
        common = self._multiply(xp, chances)
        union = chances.astype(np.float64).sum(axis=1, keepdims=True) - common + self._sizes
        return xp.rint(common / union * 2.0**SIMILARITY_BITS) - none

    def fast(self, *given: Any) -> Any:
        from .kernels import tag_similarities

        if not self.graded:
            return self.run(np, *given)
        chances, logs = given
        factor = self.__dict__["_factor"]
        none, common = logs.astype(factor.dtype) @ factor, chances.astype(factor.dtype) @ factor
        out = np.empty(common.shape)
        total = chances.sum(axis=1, dtype=np.float64)
        tag_similarities(common, none, total, self._sizes, 2.0**-self.shift, self._table, out)
        return out


@dataclass(frozen=True, eq=False)
class Settle(Step):
    """Coordinate descent on the bits of a row, whose pulls are its input: scores are the fields at the end."""

    kind = "settle"
    forms = {"coupling": Form("i8", "dd", -LARGEST, LARGEST)}
    settings = {"n_sweeps": (1, 32)}
    on_card = False

    coupling: Array
    n_sweeps: int

    def bound(self, *given: Bound) -> Bound:
        (b,) = given
        if b.width != len(self.coupling):
            raise Inexact("couplings of another number of bits")
        largest = b.entry + float(np.abs(self.coupling.astype(np.float64)).sum(axis=1).max())
        require_exact("A field", largest)
        return Bound.of(b.width, max(largest, 1.0))

    @cached_property
    def _coupling(self) -> Array:
        off = self.coupling.astype(np.float64)
        np.fill_diagonal(off, 0.0)
        return off

    def run(self, xp: Any, *given: Any) -> Any:
        from .kernels import settle_rows

        b = np.ascontiguousarray(given[0])
        bits = np.where(b > 0, 1.0, -1.0)
        settle_rows(bits, b, self._coupling, 1.0, self.n_sweeps)
        fields = b - bits @ self._coupling.T
        return np.where(fields == 0, bits, fields)  # a field of zero keeps the bit it has


@dataclass(frozen=True, eq=False)
class Solve(Step):
    """The linearised system ``(λI − 2c₁A) v = b`` through the eigenvectors of A, which all rows share.

    ``λ = max(Σ|A| + |b|) / c``. ``vectors`` (d, d) are in parts of 2¹⁶; ``values``, 2c₁ times the eigenvalues,
    and ``sums``, the row sums of |A|, are in the units of b. ``how`` says how v is stretched to [−c, c]: by its
    smallest and largest entry, symmetrically, or not at all. The result is in parts of 2¹⁶.
    """

    kind = "solve"
    forms = {
        "vectors": Form("i4", "dd", -(2**17), 2**17),
        "values": Form("f8", "d", -LARGEST, LARGEST),
        "sums": Form("f8", "d", 0, LARGEST),
        "clip": Form("f8", "1", POSITIVE, 10.0),
    }
    settings = {"how": (0, 2)}
    on_card = False

    vectors: Array
    values: Array
    sums: Array
    clip: Array
    how: int

    def bound(self, *given: Bound) -> Bound:
        (b,) = given
        size = np.abs(self.vectors.astype(np.float64))
        if b.width != len(self.vectors):
            raise Inexact("a system of another number of bits")
        if ((self.sums > 0) & (self.sums < SMALLEST)).any():
            raise Inexact("sums so small that their parts are zero")
        require_exact("A product", b.of_product(self.vectors))
        most = 2.0**SOLVE_BITS * 2 * float(self.clip[0]) * b.width  # |v| is at most c
        largest = (most + 1) * float(size.sum(axis=1).max())
        require_exact("A solution", largest)
        return Bound.of(b.width, max(most, largest * 2.0**-SOLVE_BITS) + 1)

    def run(self, xp: Any, *given: Any) -> Any:
        (b,) = given
        clip, part = float(self.clip[0]), 2.0**-SOLVE_BITS
        vectors = self.vectors.astype(np.float64)
        lam = (self.sums + np.abs(b)).max(axis=1, keepdims=True) / clip
        lam = np.where(lam > 0, lam, 1.0)
        away = np.maximum(lam - self.values, lam * 2.0**-20)
        most = 2 * clip * b.shape[1]
        along = np.clip((b @ vectors) * part / away, -most, most)
        v = np.rint((np.rint(along / part) @ vectors.T) * part)
        if self.how == NONE:
            return v
        low, high = v.min(axis=1, keepdims=True), v.max(axis=1, keepdims=True)
        middle, reach = low + high, high - low
        if self.how == SYMMETRIC:
            middle, reach = 0.0 * low, 2 * np.maximum(np.abs(low), np.abs(high))
        flat = reach == 0  # no range to stretch: the sign alone counts
        stretched = (2 * v - middle) / np.where(flat, 1.0, reach)
        return np.rint(np.where(flat, np.sign(v), stretched) * clip / part)


@dataclass(frozen=True, eq=False)
class Trees(Step):
    """Sums of trees: a row goes left where the number of edges below its entry is at most a threshold.

    ``edges`` of column j lie between ``edge_starts[j]`` and ``edge_starts[j + 1]``. Nodes are in the order
    "node, left branch, right branch"; ``right`` is the place of the right branch in its tree, 0 in leaves.
    """

    kind = "trees"
    forms = {  # N nodes in T trees of d bits
        "edges": Form("i4", "*"),
        "edge_starts": Form("i8", "*", low=0),
        "base": Form("i8", "d", -LARGEST, LARGEST),
        "feature": Form("i4", "N", low=0),
        "threshold": Form("u1", "N"),
        "right": Form("i4", "N", low=0),
        "value": Form("i4", "N"),
        "nodes": Form("i8", "T", low=1),
        "trees": Form("i8", "d", low=0),
    }
    on_card = False

    edges: Array
    edge_starts: Array
    base: Array
    feature: Array
    threshold: Array
    right: Array
    value: Array
    nodes: Array
    trees: Array

    def bound(self, *given: Bound) -> Bound:
        (v,) = given
        require_edges(self.edges, self.edge_starts, v.width)
        _require_trees(self, v.width)
        total = np.abs(self.value.astype(np.float64)).sum() + np.abs(self.base.astype(np.float64)).max()
        require_exact("A sum of leaves", total)
        return Bound.of(len(self.base), float(total))

    def run(self, xp: Any, *given: Any) -> Any:
        from .kernels import walk

        (v,) = given
        places = np.empty(v.shape, np.uint8)
        for j in range(v.shape[1]):
            own = self.edges[self.edge_starts[j] : self.edge_starts[j + 1]]
            places[:, j] = np.searchsorted(own, v[:, j])
        out = np.tile(self.base.astype(np.float64), (len(v), 1))
        starts = np.concatenate([[0], np.cumsum(self.nodes)])
        first = np.concatenate([[0], np.cumsum(self.trees)])
        value = self.value.astype(np.float64)
        for bit in range(len(self.base)):
            own = starts[first[bit] : first[bit + 1] + 1]
            walk(places, self.feature, self.threshold, self.right, value, own, out[:, bit])
        return out


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

    def run(self, xp: Any, *given: Any) -> Any:
        return xp.concatenate(given, axis=1)


STEPS: dict[str, type[Step]] = {
    step.kind: step
    for step in (
        Columns, Join, Linear, Lookup, Relative, Settle, Similarities, Softmax, Solve, TagSimilarities, Trees, Unit,
    )
}  # fmt: skip


def _places(xp: Any, v: Any, shift: int, n: int, wrap: bool = False) -> Any:
    """Places in a table of n entries: ``(v + half) >> shift``, which is exact for whole numbers v."""
    half = 2.0 ** (shift - 1) if shift else 0.0
    place = xp.floor((v + half) * 2.0**-shift)
    place = place % n if wrap else xp.clip(place, 0, n - 1)
    return place.astype(np.int64)


def require_edges(edges: Array, starts: Array, n_columns: int) -> None:
    """Every column has its edges, in ascending order and few enough for a byte."""
    if len(starts) != n_columns + 1 or starts[0] != 0 or starts[-1] != len(edges):
        raise Inexact("edges that do not fit the columns")
    counts = np.diff(starts)
    if counts.min() < 0 or counts.max() > 255:
        raise Inexact("columns with more than 255 edges, or fewer than none")
    falls = np.flatnonzero(np.diff(edges) < 0) + 1
    if not np.isin(falls, starts).all():
        raise Inexact("edges that are not in ascending order")


def _require_trees(step: Trees, n_columns: int) -> None:
    """Every walk must end inside its tree: the kernel does not look where it steps."""
    nodes, right = step.nodes, step.right.astype(np.int64)
    # Sums of large integers wrap around, those of floats do not.
    if nodes.sum(dtype=np.float64) != len(right):
        raise Inexact("trees that do not fit their nodes")
    if step.trees.sum(dtype=np.float64) != len(nodes):
        raise Inexact("bits that do not fit their trees")
    place = np.arange(len(right)) - np.repeat(np.cumsum(nodes) - nodes, nodes)
    last = np.repeat(nodes, nodes) - 1
    inner = right != 0
    if (inner & ((right <= place + 1) | (right > last))).any():
        raise Inexact("a branch that leads out of its tree")
    if (step.feature >= n_columns).any():
        raise Inexact("a tree that asks for a column there is none of")
