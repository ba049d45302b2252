"""Steps of whole-number models that only rivals have: tables of waves, and boosted trees.

They are registered under the entry point group "kinhash.model_steps", so that kinhash reads their files.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from kinhash.models import Bound, Inexact, Step, Tabled, places, require_exact
from kinhash.plugins import Array, Form, njit

__all__ = ["Lookup", "TreesStep", "walk"]

LARGEST = 2.0**52  # of constants


@dataclass(frozen=True, eq=False)
class Lookup(Tabled, Step):
    """``table[(v − low + half) >> shift]``, clipped to its ends, or modulo its length if ``wrap``."""

    kind = "lookup"
    forms: ClassVar = {"table": Form("i4", "k", -(2**24), 2**24)}
    settings: ClassVar = {"low": (-(2**51), 2**51), "shift": (0, 50), "wrap": (0, 1)}

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

    def onnx(self, graph: Any, *given: Any) -> Any:
        away = graph.node("Sub", given[0], np.float64(self.low)) if self.low else given[0]
        return graph.look_up(self.table, away, self.shift, bool(self.wrap))


@dataclass(frozen=True, eq=False)
class TreesStep(Step):
    """Sums of trees: a row goes left where the number of edges below its entry is at most a threshold.

    ``edges`` of column j lie between ``edge_starts[j]`` and ``edge_starts[j + 1]``. Nodes are in the order
    "node, left branch, right branch"; ``right`` is the place of the right branch in its tree, 0 in leaves.
    """

    kind = "trees"
    forms: ClassVar = {  # N nodes in T trees of d bits
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


@njit(cache=True, nogil=True)
def walk(places, feature, threshold, right, value, starts, out):  # type: ignore[no-untyped-def]
    """Add to ``out`` (k,) the leaf of every tree that a row ends in."""
    for t in range(len(starts) - 1):
        root = starts[t]
        for i in range(len(places)):
            node = root
            while right[node] > 0:
                node = node + 1 if places[i, feature[node]] <= threshold[node] else root + right[node]
            out[i] += value[node]
