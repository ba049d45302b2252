"""Boosted trees as plain arrays, quick to walk.

Features become steps 0 to 255 once for all bits; a tree is a list of nodes in the order "node, left branch,
right branch", so that only the right branch's place is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kinhash.models import SPREAD_BITS, Builder, Inexact
from kinhash.paper.maps import PreparedMap
from kinhash.plugins import Array, Bytes, Floats, Floats32, Ints

from ..model_steps import TreesStep, walk
from .similar_rows import SimilarityPreparation

__all__ = ["Steps", "Trees", "TreesMap"]

LEAF_BITS = 30  # the largest leaf has this many


@dataclass(frozen=True)
class Steps:
    """Features in at most 255 steps of about equal numbers of rows: ``edges`` of column j are between
    ``starts[j]`` and ``starts[j + 1]``."""

    edges: Floats32
    starts: Ints

    @classmethod
    def of(cls, X: Floats32, rng: np.random.Generator) -> Steps:
        """From prepared rows, at most 10,000 of them."""
        some = X if len(X) <= 10_000 else X[np.sort(rng.choice(len(X), 10_000, replace=False))]
        quantiles = np.quantile(some, np.linspace(0, 1, 256)[1:-1], axis=0)
        edges = [np.unique(column).astype(np.float32) for column in quantiles.T]
        starts = np.cumsum([0, *map(len, edges)])
        return cls(np.concatenate(edges), starts)

    def __call__(self, X: Floats32) -> Bytes:
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


@dataclass(frozen=True)
class TreesMap(PreparedMap):
    """Prepared row → steps → one sum of trees per bit."""

    steps_: Steps
    bits: Sequence[Trees]
    kind: ClassVar[str] = "trees"

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return len(self.bits)

    def scores(self, block: Array) -> Floats:
        places = self.steps_(self.preparation(block))
        return np.stack([trees.scores(places) for trees in self.bits], axis=1)

    def steps(self, builder: Builder) -> tuple[int, Array]:
        if isinstance(self.preparation, SimilarityPreparation):
            raise Inexact("trees of similarities")
        columns, mean, scale = builder.columns(self.preparation.mean, self.preparation.scale)
        values = (
            self.preparation.mean[self._column] + self.steps_.edges * self.preparation.scale[self._column]
        )
        edges = np.rint((values - mean[self._column]) / scale[self._column] * 2.0**SPREAD_BITS)
        values = np.concatenate([trees.value for trees in self.bits])
        base = np.array([trees.base for trees in self.bits])
        largest = max(
            float(np.abs(values).max(initial=0.0)), float(np.abs(base).max()) / max(1, len(values)), 1e-30
        )
        units = LEAF_BITS - int(np.ceil(np.log2(largest)))
        step = TreesStep(
            (columns,),
            np.clip(edges, -(2**31), 2**31 - 1).astype(np.int32),
            self.steps_.starts.astype(np.int64),
            np.rint(np.ldexp(base, units)).astype(np.int64),
            np.concatenate([trees.feature for trees in self.bits]),
            np.concatenate([trees.threshold for trees in self.bits]),
            np.concatenate([trees.right for trees in self.bits]),
            np.rint(np.ldexp(values, units)).astype(np.int32),
            np.concatenate([np.diff(trees.starts) for trees in self.bits]).astype(np.int64),
            np.array([len(trees.starts) - 1 for trees in self.bits], np.int64),
        )
        return builder.add(step), np.full(self.n_bits, units, np.int16)

    @property
    def _column(self) -> Ints:
        """The column of every edge."""
        return np.repeat(np.arange(len(self.steps_.starts) - 1), np.diff(self.steps_.starts))
