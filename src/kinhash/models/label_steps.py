"""Steps from scores of labels to expected similarities: shares of classes, tables, tags."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._forms import Form
from .._types import Array
from .bounds import Bound, Inexact, require_exact
from .step import (
    CHANCE_BITS,
    SHARE_BITS,
    SIMILARITY_BITS,
    TABLE,
    Product,
    Step,
    Tabled,
    places,
)

__all__ = ["Lookup", "Softmax", "TagSimilarities"]


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

    def run(self, xp: Any, *given: Any) -> Any:
        v = given[0].astype(np.float64, copy=False)  # differences need a bit more than the values
        away = v.max(axis=1, keepdims=True) - v
        e = self._table[places(xp, away, self.shift, len(self.table))]
        return xp.rint(e / e.sum(axis=1, keepdims=True) * 2.0**SHARE_BITS)

    def fast(self, *given: Any) -> Any:
        from .kernels import shares

        out = np.empty(given[0].shape)
        shares(given[0].astype(np.float64, copy=False), 2.0**-self.shift, self._table, 2.0**SHARE_BITS, out)
        return out


@dataclass(frozen=True, eq=False)
class Lookup(Tabled, Step):
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

    def run(self, xp: Any, *given: Any) -> Any:
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

    def run(self, xp: Any, *given: Any) -> Any:
        chances, logs = given
        none = self._table[places(xp, self._multiply(xp, logs), self.shift, len(self.table))]
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
        factor = self._factor
        none, common = logs.astype(factor.dtype) @ factor, chances.astype(factor.dtype) @ factor
        out = np.empty(common.shape)
        total = chances.sum(axis=1, dtype=np.float64)
        tag_similarities(common, none, total, self._sizes, 2.0**-self.shift, self._table, out)
        return out
