"""Boosted trees as plain arrays: what a model file can hold, and quick to walk.

Features become steps 0 to 255 once for all bits; a tree is a list of nodes in the order "node, left branch,
right branch", so that only the right branch's place is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._arithmetic import FIXED, Arithmetic
from .._compile import njit
from .._forms import Form, check_forms
from .._types import Bytes, Floats, Ints
from .base import Arrays, Map
from .preparation import Preparation

__all__ = ["Steps", "Trees", "TreesMap", "walk"]

FORMS = {  # N nodes in T trees of d bits
    "edges": Form("f4", "*"),
    "edge_starts": Form("i8", "*", low=0),
    "base": Form("f8", "d"),
    "feature": Form("i4", "N", low=0),
    "threshold": Form("u1", "N"),
    "right": Form("i4", "N", low=0),
    "value": Form("f8", "N"),
    "nodes": Form("i8", "T", low=1),
    "trees": Form("i8", "d", low=0),
}


@dataclass(frozen=True)
class Steps:
    """Features in at most 255 steps of about equal numbers of rows: ``edges`` of column j are between
    ``starts[j]`` and ``starts[j + 1]``."""

    edges: npt.NDArray[np.float32]
    starts: Ints

    @classmethod
    def of(cls, X: npt.NDArray[np.float32], rng: np.random.Generator) -> Steps:
        """From prepared rows, at most 10,000 of them."""
        some = X if len(X) <= 10_000 else X[np.sort(rng.choice(len(X), 10_000, replace=False))]
        quantiles = np.quantile(some, np.linspace(0, 1, 256)[1:-1], axis=0)
        edges = [np.unique(column).astype(np.float32) for column in quantiles.T]
        starts = np.cumsum([0, *map(len, edges)])
        return cls(np.concatenate(edges), starts)

    def __call__(self, X: npt.NDArray[np.float32]) -> Bytes:
        """Steps (k, q) of prepared rows (k, q)."""
        found = np.empty(X.shape, np.uint8)
        for j in range(X.shape[1]):
            found[:, j] = np.searchsorted(self.edges[self.starts[j] : self.starts[j + 1]], X[:, j])
        return found


@dataclass(frozen=True)
class Trees:
    """Trees of one score: sum of ``base`` and of the leaves a row ends in.

    A row goes left where ``steps[feature] ≤ threshold``. ``right`` is the right branch's place in its tree, 0
    in leaves; tree t has the nodes from ``starts[t]`` to ``starts[t + 1]``.
    """

    base: float
    feature: npt.NDArray[np.int32]
    threshold: Bytes
    right: npt.NDArray[np.int32]
    value: Floats
    starts: Ints

    @classmethod
    def constant(cls, value: float) -> Trees:
        """The same score for every row."""
        none = np.zeros(0, np.int32)
        return cls(value, none, none.astype(np.uint8), none, np.zeros(0), np.zeros(1, np.int64))

    @classmethod
    def of(cls, fitted: Any) -> Trees:
        """From scikit-learn's histogram boosting of one score, fitted on steps."""
        nodes = [trees[0].nodes for trees in fitted._predictors]
        starts = np.cumsum([0, *map(len, nodes)])
        whole = np.concatenate(nodes)
        place = np.arange(len(whole)) - np.repeat(starts[:-1], np.diff(starts))
        inner = whole["is_leaf"] == 0
        if not (whole["left"][inner] == place[inner] + 1).all() or whole["is_categorical"].any():
            raise AssertionError("scikit-learn orders the nodes of its trees in another way")
        threshold = np.clip(np.floor(whole["num_threshold"]), 0, 255)
        return cls(
            float(np.ravel(fitted._baseline_prediction)[0]),
            np.where(inner, whole["feature_idx"], 0).astype(np.int32),
            np.where(inner, threshold, 0).astype(np.uint8),
            np.where(inner, whole["right"], 0).astype(np.int32),
            np.where(inner, 0.0, whole["value"]),
            starts,
        )

    def scores(self, steps: Bytes) -> Floats:
        """Scores (k,) of rows in steps (k, q)."""
        out = np.full(len(steps), self.base)
        walk(steps, self.feature, self.threshold, self.right, self.value, self.starts, out)
        return out


@njit(cache=True, nogil=True)
def walk(
    steps: Bytes,
    feature: npt.NDArray[np.int32],
    threshold: Bytes,
    right: npt.NDArray[np.int32],
    value: Floats,
    starts: Ints,
    out: Floats,
) -> None:
    """Add to ``out`` (k,) the leaf of every tree, in the order of the trees."""
    for t in range(len(starts) - 1):
        root = starts[t]
        for i in range(len(steps)):
            node = root
            while right[node] > 0:
                node = node + 1 if steps[i, feature[node]] <= threshold[node] else root + right[node]
            out[i] += value[node]


@dataclass(frozen=True)
class TreesMap(Map):
    """Prepared row → steps → one sum of trees per bit.

    Rows are always prepared by FIXED arithmetic (for plain features there is no other): at the edge of a step
    the last digit decides. The rest is comparisons, and sums in the order of the trees.
    """

    preparation: Preparation
    steps: Steps
    bits: Sequence[Trees]
    kind: ClassVar[str] = "trees"

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return len(self.bits)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns of the raw rows."""
        return self.preparation.n_features

    def evaluate(self, block: npt.NDArray[np.float64], by: Arithmetic) -> tuple[Floats, None]:
        steps = self.steps(self.preparation(block, FIXED))
        return np.stack([trees.scores(steps) for trees in self.bits], axis=1), None

    def arrays(self) -> Arrays:
        sizes = [len(trees.starts) - 1 for trees in self.bits]
        lengths = [np.diff(trees.starts) for trees in self.bits]
        return {
            **self.preparation.arrays(),
            "edges": self.steps.edges,
            "edge_starts": self.steps.starts,
            "base": np.array([trees.base for trees in self.bits]),
            "feature": np.concatenate([trees.feature for trees in self.bits]),
            "threshold": np.concatenate([trees.threshold for trees in self.bits]),
            "right": np.concatenate([trees.right for trees in self.bits]),
            "value": np.concatenate([trees.value for trees in self.bits]),
            "nodes": np.concatenate(lengths).astype(np.int64),
            "trees": np.array(sizes, np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> TreesMap:
        n_columns = check_forms(arrays, {**FORMS, **Preparation.forms(arrays)})["q"]
        preparation = Preparation.from_arrays(arrays)
        steps = Steps(arrays["edges"], arrays["edge_starts"])
        _require_steps(steps, n_columns)
        _require_trees(arrays, n_columns)
        bits, tree, node = [], 0, 0
        for base, count in zip(arrays["base"], arrays["trees"], strict=True):
            starts = np.cumsum([0, *arrays["nodes"][tree : tree + count]])
            part = slice(node, node + int(starts[-1]))
            feature, threshold = arrays["feature"][part], arrays["threshold"][part]
            right, value = arrays["right"][part], arrays["value"][part]
            bits.append(Trees(float(base), feature, threshold, right, value, starts))
            tree, node = tree + int(count), part.stop
        return cls(preparation, steps, bits)


def _require_steps(steps: Steps, n_columns: int) -> None:
    """Every column has its edges, in ascending order and few enough for a byte."""
    starts = steps.starts
    if len(starts) != n_columns + 1 or starts[0] != 0 or starts[-1] != len(steps.edges):
        raise ValueError("edges of steps that do not fit the columns")
    counts = np.diff(starts)
    if counts.min() < 0 or counts.max() > 255:
        raise ValueError("columns with more than 255 edges of steps, or fewer than none")
    falls = np.flatnonzero(np.diff(steps.edges) < 0) + 1
    if not np.isin(falls, starts).all():
        raise ValueError("edges of steps that are not in ascending order")


def _require_trees(arrays: Arrays, n_columns: int) -> None:
    """Every walk must end inside its tree: the kernel does not look where it steps."""
    nodes, right = arrays["nodes"], arrays["right"].astype(np.int64)
    # Sums of large integers wrap around, those of floats do not.
    if nodes.sum(dtype=np.float64) != len(right):
        raise ValueError("trees that do not fit their nodes")
    if arrays["trees"].sum(dtype=np.float64) != len(nodes):
        raise ValueError("bits that do not fit their trees")
    place = np.arange(len(right)) - np.repeat(np.cumsum(nodes) - nodes, nodes)
    last = np.repeat(nodes, nodes) - 1
    # The left branch comes next, the right one after it; both lie inside the tree.
    inner = right != 0
    if (inner & ((right <= place + 1) | (right > last))).any():
        raise ValueError("a branch that leads out of its tree")
    if (arrays["feature"] >= n_columns).any():
        raise ValueError("a tree that asks for a column there is none of")
