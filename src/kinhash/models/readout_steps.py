"""Last steps that are no product: settled bits, linear systems, trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np

from .._internal.types import Array
from ..codes import POSITIVE, Form
from .step import LARGEST, NONE, SMALLEST, SOLVE_BITS, SYMMETRIC, Bound, Inexact, Step, require_exact

__all__ = ["Settle", "Solve", "TreesStep", "require_edges"]


@dataclass(frozen=True, eq=False)
class Settle(Step):
    """Coordinate descent on the bits of a row whose pulls are given: scores are the fields at the end."""

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

    def run(self, xp: ModuleType, *given: Array) -> Array:
        from .kernels import settle_rows

        b = np.ascontiguousarray(given[0])
        bits = np.where(b > 0, 1.0, -1.0)
        settle_rows(bits, b, self._coupling, 1.0, self.n_sweeps)
        fields = b - bits @ self._coupling.T
        return np.where(fields == 0, bits, fields)  # a field of zero keeps the bit it has


@dataclass(frozen=True, eq=False)
class Solve(Step):
    """The linearized system ``(λI − 2c₁A) v = b`` through the eigenvectors of A, which all rows share.

    ``λ = max(Σ|A| + |b|) / c``. ``vectors`` (d, d) are in parts of 2¹⁶; ``values``, 2c₁ times the
    eigenvalues, and ``sums``, the row sums of |A|, are in the units of b. ``how`` says how v is stretched to
    [−c, c]: by its smallest and largest entry, symmetrically, or not at all. The result is in parts of 2¹⁶.
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

    def run(self, xp: ModuleType, *given: Array) -> Array:
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
class TreesStep(Step):
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

    def run(self, xp: ModuleType, *given: Array) -> Array:
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


def _require_trees(step: TreesStep, n_columns: int) -> None:
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
