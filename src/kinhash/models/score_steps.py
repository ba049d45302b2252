"""Steps from a row to its scores, and from scores of labels to expected similarities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np

from .._internal.types import Array
from ..codes import MAX_BITS, POSITIVE, Form
from .step import (
    CHANCE_BITS,
    LARGEST,
    RELATIVE_BITS,
    SHARE_BITS,
    SIMILARITY_BITS,
    TABLE,
    Bound,
    Inexact,
    Product,
    Step,
    Tabled,
    places,
    require_exact,
)

__all__ = [
    "Columns",
    "Join",
    "Linear",
    "Lookup",
    "Relative",
    "Similarities",
    "Softmax",
    "TagSimilarities",
    "Unit",
]


@dataclass(frozen=True, eq=False)
class Columns(Step):
    """``clip(rint((x − mean) · factor), ±limit)``: columns in whole parts of their spread."""

    kind = "columns"
    takes_row = True
    forms = {"mean": Form("f8", "p"), "factor": Form("f8", "p", POSITIVE)}
    settings = {"limit": (1, 2**24)}

    mean: Array
    factor: Array
    limit: int

    def bound(self, *given: Bound) -> Bound:
        return Bound.of(len(self.mean), self.limit)

    def run(self, xp: ModuleType, *given: Array) -> Array:
        whole = xp.rint((given[0].astype(np.float64) - self.mean) * self.factor)
        return xp.clip(whole, -self.limit, self.limit).astype(np.float32)

    def fast(self, *given: Array) -> Array:
        from .kernels import whole_columns

        out = np.empty(given[0].shape, np.float32)
        whole_columns(given[0], self.mean, self.factor, float(self.limit), out)
        return out


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
        x = given[0].astype(np.float64)
        top = xp.abs(x).max(axis=1, keepdims=True)
        return xp.rint(x / xp.where(top > 0, top, 1.0) * 2.0**RELATIVE_BITS).astype(np.float32)

    def fast(self, *given: Array) -> Array:
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

    def run(self, xp: ModuleType, *given: Array) -> tuple[Array, Array]:
        v = given[0].astype(np.float64)
        n = xp.sqrt((v * v).sum(axis=1, keepdims=True))
        factor = xp.where(n > 0, self.length / xp.where(n > 0, n, 1.0), 0.0)
        return xp.rint(v * factor).astype(np.float32), n

    def fast(self, *given: Array) -> tuple[Array, Array]:
        from .kernels import unit_rows

        u, n = np.empty(given[0].shape, np.float32), np.empty((len(given[0]), 1))
        unit_rows(given[0], float(self.length), u, n)
        return u, n


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
            out = xp.rint(self._multiply(xp, u) * n * self._scale)
        else:
            out = self._multiply(xp, given[0])
            if not self._is_whole:
                out = xp.rint(out * self._scale)
        out += self._constant
        return out + given[1] if len(given) == 2 else out

    def fast(self, *given: Array) -> Array:
        if not isinstance(given[0], tuple):
            return self.run(np, *given)
        from .kernels import lengthened

        u, n = given[0]
        products = u @ self._factor
        out = np.empty(products.shape)
        lengthened(products, n, self._scale, self._constant, out)
        return out + given[1] if len(given) == 2 else out


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

    def run(self, xp: ModuleType, *given: Array) -> Array:
        u = given[0][0] if isinstance(given[0], tuple) else given[0]
        wide = u.astype(np.float64)
        squared = (wide * wide).sum(axis=1, keepdims=True) + self._squares - 2 * self._multiply(xp, u)
        if self.root:
            squared = xp.rint(xp.sqrt(squared))
        return self._table[places(xp, squared, self.shift, len(self.table))]

    def fast(self, *given: Array) -> Array:
        from .kernels import row_squares, similarities

        u = given[0][0] if isinstance(given[0], tuple) else given[0]
        factor = self._factor
        if self.root or factor.dtype != np.float32 or not self._in_int32:
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
class Softmax(Tabled, Step):
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

    def run(self, xp: ModuleType, *given: Array) -> Array:
        v = given[0].astype(np.float64, copy=False)  # differences need a bit more than the values
        away = v.max(axis=1, keepdims=True) - v
        e = self._table[places(xp, away, self.shift, len(self.table))]
        return xp.rint(e / e.sum(axis=1, keepdims=True) * 2.0**SHARE_BITS)

    def fast(self, *given: Array) -> Array:
        from .kernels import shares

        out = np.empty(given[0].shape)
        shares(given[0].astype(np.float64, copy=False), 2.0**-self.shift, self._table, 2.0**SHARE_BITS, out)
        return out


@dataclass(frozen=True, eq=False)
class Lookup(Tabled, Step):
    """``table[(v − low + half) >> shift]``, clipped to its ends, or modulo its length if ``wrap``."""

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

    def run(self, xp: ModuleType, *given: Array) -> Array:
        away = given[0].astype(np.float64, copy=False) - float(self.low)
        return self._table[places(xp, away, self.shift, len(self.table), bool(self.wrap))]


@dataclass(frozen=True, eq=False)
class TagSimilarities(Tabled, Product):
    """Expected similarities (k, m) to anchors with tags ``patterns`` (m, t), in parts of 2¹⁵.

    Inputs are the probabilities p of tags, in parts of 2¹⁶, and ``−log(1 − p)``. A table of exp gives
    ``none``, the probability that no tag is shared. With ``common = p @ patterns``, ``graded`` gives
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
    def _sizes(self) -> Array:
        """Tags of each anchor, at least one, in parts of 2¹⁶."""
        return np.maximum(self.patterns.sum(axis=1, dtype=np.float64), 1.0) * 2.0**CHANCE_BITS

    def run(self, xp: ModuleType, *given: Array) -> Array:
        chances, logs = given
        none = self._table[places(xp, self._multiply(xp, logs), self.shift, len(self.table))]
        if not self.graded:
            return 2.0**SIMILARITY_BITS - 2 * none
        common = self._multiply(xp, chances)
        union = chances.astype(np.float64).sum(axis=1, keepdims=True) - common + self._sizes
        return xp.rint(common / union * 2.0**SIMILARITY_BITS) - none

    def fast(self, *given: Array) -> Array:
        from .kernels import tag_similarities

        if not self.graded:
            return self.run(np, *given)
        chances, logs = given
        factor = self._factor
        none, common = logs.astype(factor.dtype) @ factor, chances.astype(factor.dtype) @ factor
        out = np.empty(common.shape)
        total = chances.sum(axis=1, dtype=np.float64)
        tag_similarities(common, none, total, self._sizes, 2.0**-self.shift, self._table, out)
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

    def run(self, xp: ModuleType, *given: Array) -> Array:
        return xp.concatenate(given, axis=1)
