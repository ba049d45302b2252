"""Maps that encoders learn: linear scores, expected similarities, several maps side by side.

`ExpectedMap` encodes a new row by the same energy as the training rows. A new row differs from a training row
only in that its row of S is unknown. So predict it: a label model gives label probabilities p_t(x), and the
expected similarity to an anchor with labels y_j is

    classes     S̄_xj = Σ_c p_c(x) S(c, y_j), which is 2·p_{y_j}(x) − 1 where classes are the same or not
    any tag     S̄_xj = 1 − 2·Π_{t∈y_j} (1 − p_t(x))
    graded      S̄_xj = Σ_{t∈y_j} p_t / (|y_j| + Σ_{t∉y_j} p_t) − Π_{t∈y_j} (1 − p_t),

the last with the ratio of the expected intersection and union in place of the expected ratio. The solver's
own extension to rows outside the sample does the rest.

It keeps the anchors' labels, but no training row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from .._internal.blocks import FIT_ROWS, block_slices
from .._internal.numerics import sigmoid
from .._internal.types import Array, Bytes, Floats, Floats32, Ints
from ..models import FARTHEST, SHARE_BITS, SIMILARITY_BITS, SUREST, Builder, Join, Map
from ..solvers import Expectation, Readout
from .feature_transform import Preparation
from .label_models import LabelModel
from .least_squares import Standardized, ridge_weights

if TYPE_CHECKING:
    from .column_reduction import NarrowRows

__all__ = [
    "ClassSimilarity",
    "ExpectedMap",
    "ExpectedSimilarity",
    "LinearMap",
    "PreparedMap",
    "StackedMap",
    "TagSimilarity",
    "TreeTagSimilarity",
]

FLOOR = np.float32(SUREST)


@dataclass(frozen=True)
class PreparedMap(Map):
    """A map of prepared rows."""

    preparation: Preparation

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns of the raw rows."""
        return self.preparation.n_features


@dataclass(frozen=True)
class LinearMap(PreparedMap):
    """``scores = z W + intercept`` with z the prepared row: W (q, d) float32, intercept (d,) float32."""

    weights: Floats32
    intercept: Floats32
    kind: ClassVar[str] = "linear"

    @classmethod
    def fit(cls, moments: Standardized, alpha: float, threshold: Floats) -> LinearMap:
        """Ridge onto the targets of these moments; a bit is 1 where a target exceeds ``threshold`` (d,).

        Columns are centered, so the prediction is centered too and the intercept is what the mean
        target exceeds the threshold by: zero when bits were rounded at their mean.
        """
        weights = ridge_weights(moments, alpha)
        intercept = moments.target_mean - threshold
        return cls(moments.preparation, weights.astype(np.float32), intercept.astype(np.float32))

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return self.weights.shape[1]

    def scores(self, block: Array) -> Array:
        return self.preparation(block) @ self.weights + self.intercept

    def widened(self, rows: NarrowRows) -> LinearMap:
        return LinearMap(rows.preparation, *rows.folded(self.weights, self.intercept, self.preparation))

    def steps(self, builder: Builder) -> tuple[int, Array]:
        return self.preparation.product(builder, self.weights, self.intercept)


@dataclass(frozen=True)
class StackedMap(Map):
    """Scores of each part, concatenated. Maps that err differently make codes that err less."""

    parts: tuple[Map, ...]
    kind: ClassVar[str] = "stacked"

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Bits of all parts together."""
        return sum(part.n_bits for part in self.parts)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns of the raw rows, the same for all parts."""
        return self.parts[0].n_features

    def scores(self, block: Array) -> Array:
        return np.concatenate([part.scores(block) for part in self.parts], axis=1)

    def widened(self, rows: NarrowRows) -> StackedMap:
        return StackedMap(tuple(part.widened(rows) for part in self.parts))

    def steps(self, builder: Builder) -> tuple[int, Array]:
        found = [part.steps(builder) for part in self.parts]
        joined = builder.add(Join(tuple(place for place, _ in found)))
        return joined, np.concatenate([units for _, units in found])


@dataclass(frozen=True)
class ExpectedSimilarity(ABC):
    """Similarities to anchors of known labels that a row can be expected to have, by a label model."""

    model: LabelModel

    @property
    @abstractmethod
    def n_anchors(self) -> int:
        """Number of similarities."""

    @abstractmethod
    def of(self, chances: Array) -> Floats:
        """Expected similarities (k, m) from label probabilities (k, t)."""

    @abstractmethod
    def steps(self, builder: Builder, preparation: Preparation) -> Expectation:
        """The same as steps of whole numbers."""

    def similarity(self, z: Floats32) -> Floats:
        """Expected similarities (k, m) of prepared rows (k, q)."""
        # In blocks: of thousands of classes, probabilities of all rows would fill the memory twice over.
        out = np.empty((len(z), self.n_anchors))
        for rows in block_slices(len(z), FIT_ROWS):
            out[rows] = self.of(self.model.probabilities(z[rows]))
        return out

    def with_model(self, model: LabelModel) -> Self:
        """The same by another model of the same labels."""
        return replace(self, model=model)

    def widened(self, inner: Preparation, rows: NarrowRows) -> Self:
        """The same of raw rows, where this one is of narrow rows; see `column_reduction`."""
        return replace(self, model=self.model.widened(inner, rows))


@dataclass(frozen=True)
class ClassSimilarity(ExpectedSimilarity):
    """To anchors of ``classes`` (m,); ``between`` (t, t) says how similar classes are, None: same or not."""

    classes: Ints
    between: Floats | None = None

    @property
    def n_anchors(self) -> int:
        return len(self.classes)

    def of(self, chances: Array) -> Floats:
        if self.between is None:
            return (2 * chances[:, self.classes] - 1).astype(np.float64)
        return chances.astype(np.float64) @ self.between[:, self.classes]

    def steps(self, builder: Builder, preparation: Preparation) -> Expectation:
        chances = builder.softmax(self.model.logits(builder, preparation))
        n_classes = builder.bounds[chances - 1].width

        def fold(matrix: Floats, constant: Floats) -> tuple[Floats, Floats]:
            """``S @ matrix − constant`` as a product with the shares of classes."""
            if self.between is not None:
                return self.between[:, self.classes] @ matrix, constant
            folded = np.zeros((n_classes, matrix.shape[1]))
            np.add.at(folded, self.classes, 2 * matrix)
            return folded, constant + matrix.sum(axis=0)

        return Expectation(chances, SHARE_BITS, fold)


@dataclass(frozen=True)
class TagSimilarity(ExpectedSimilarity):
    """To anchors with tags ``patterns`` (m, t): 1 for a shared tag, or if ``graded`` the Jaccard index."""

    patterns: Bytes
    graded: bool = False

    @property
    def n_anchors(self) -> int:
        return len(self.patterns)

    def of(self, chances: Array) -> Floats:
        none_shared = np.exp(np.log(np.clip(1 - chances, FLOOR, 1)) @ self._patterns)
        if not self.graded:
            return (1 - 2 * none_shared).astype(np.float64)
        common = chances @ self._patterns
        union = (chances.sum(axis=1, dtype=np.float64, keepdims=True) - common) + self._sizes
        return (common / union - none_shared).astype(np.float64)

    @cached_property
    def _patterns(self) -> Floats32:
        return np.ascontiguousarray(self.patterns.T, np.float32)

    @cached_property
    def _sizes(self) -> Floats32:
        """Tags of each anchor (m,), at least one."""
        return np.maximum(self.patterns.sum(axis=1, dtype=np.float32), np.float32(1))

    def steps(self, builder: Builder, preparation: Preparation) -> Expectation:
        logits = self.model.logits(builder, preparation)
        chances = builder.tag_chances(logits, -FARTHEST, FARTHEST, sigmoid)
        place = builder.tag_similarities(chances, self.patterns, self.graded)
        return Expectation(place, SIMILARITY_BITS)


@dataclass(frozen=True)
class TreeTagSimilarity(ExpectedSimilarity):
    """The weighted mean of `TagSimilarity` over the levels of a tree, whose tags stand side by side."""

    levels: tuple[TagSimilarity, ...]
    weights: Floats

    @classmethod
    def of_levels(
        cls, model: LabelModel, patterns: Bytes, level_of_tag: Ints, weights: Floats
    ) -> TreeTagSimilarity:
        """To anchors with nodes ``patterns`` (m, t); ``level_of_tag`` (t,) rises."""
        ends = np.searchsorted(level_of_tag, np.arange(level_of_tag[-1] + 2))
        parts = [slice(*two) for two in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
        found = [
            TagSimilarity(model.part(part), np.ascontiguousarray(patterns[:, part]), True) for part in parts
        ]
        return cls(model, tuple(found), weights)

    @property
    def n_anchors(self) -> int:
        return self.levels[0].n_anchors

    def of(self, chances: Array) -> Floats:
        ends = np.cumsum([level.patterns.shape[1] for level in self.levels])
        parts = np.split(chances, ends[:-1], axis=1)
        found = [level.of(part) for level, part in zip(self.levels, parts, strict=True)]
        mean: Floats = sum(weight * part for weight, part in zip(self.weights, found, strict=True))
        return mean

    def steps(self, builder: Builder, preparation: Preparation) -> Expectation:
        def weighed(level: TagSimilarity, weight: float) -> Expectation:
            found = level.steps(builder, preparation)
            return replace(found, fold=lambda matrix, constant: (matrix * weight, constant))

        first, *others = map(weighed, self.levels, self.weights.tolist())
        return replace(first, others=tuple(others))

    def with_model(self, model: LabelModel) -> Self:
        ends = np.cumsum([0, *(level.patterns.shape[1] for level in self.levels)]).tolist()
        parts = [slice(*two) for two in pairwise(ends)]
        levels = (level.with_model(model.part(part)) for level, part in zip(self.levels, parts, strict=True))
        return replace(self, model=model, levels=tuple(levels))

    def widened(self, inner: Preparation, rows: NarrowRows) -> Self:
        levels = tuple(level.widened(inner, rows) for level in self.levels)
        return replace(self, model=self.model.widened(inner, rows), levels=levels)


@dataclass(frozen=True)
class ExpectedMap(PreparedMap):
    """Prepared row → expected similarities → the solver's readout, less a ``threshold`` (d,)."""

    expected: ExpectedSimilarity
    readout: Readout
    threshold: Floats
    kind: ClassVar[str] = "expected"

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return len(self.threshold)

    def scores(self, block: Array) -> Floats:
        return self.readout.scores(self.expected.similarity(self.preparation(block))) - self.threshold

    def widened(self, rows: NarrowRows) -> ExpectedMap:
        expected = self.expected.widened(self.preparation, rows)
        return replace(self, preparation=rows.preparation, expected=expected)

    def steps(self, builder: Builder) -> tuple[int, Array]:
        return self.readout.steps(builder, self.expected.steps(builder, self.preparation), self.threshold)
