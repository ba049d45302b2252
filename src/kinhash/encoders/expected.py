"""Encode a new row by the same energy as the training rows, with its expected supervision.

A new row differs from a training row only in that its row of S is unknown. So predict it: a label
model gives label probabilities p_t(x), and the expected similarity to an anchor with labels y_j is

    classes     S̄_xj = Σ_c p_c(x) S(c, y_j), which is 2·p_{y_j}(x) − 1 where classes are the same or not
    any tag     S̄_xj = 1 − 2·Π_{t∈y_j} (1 − p_t(x))
    graded      S̄_xj = Σ_{t∈y_j} p_t / (|y_j| + Σ_{t∉y_j} p_t) − Π_{t∈y_j} (1 − p_t),

the last with the ratio of the expected intersection and union in place of the expected ratio. The solver's
own extension to rows outside the sample does the rest. Older files may hold an S̄ that is regressed directly.

The map keeps the anchors' labels, but no training row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._blocks import FIT_ROWS, block_slices
from .._forms import Form, check_forms
from .._types import Array, Floats, Floats32, Ints
from ..models import Arrays, Builder, Map, Unsupported
from ..models.builder import FARTHEST, LOGIT_BITS, SUREST
from ..models.step import SHARE_BITS, SIMILARITY_BITS
from ..solvers.readout import Expectation, Readout
from .label_models import LABEL_FORMS, LabelModel, LinearLabels
from .preparation import Preparation
from .stored_readout import readout_forms, readout_from_arrays, readout_kind

__all__ = [
    "ClassSimilarity",
    "ExpectedMap",
    "ExpectedSimilarity",
    "LabelSimilarity",
    "RegressedSimilarity",
    "TagSimilarity",
]

OF_TAGS = {"patterns": Form("u1", "mt", 0, 1), "exclusive": Form("u1", "1", 0, 1)}
OF_CLASSES = {"anchor_classes": Form("i4", "m", 0)}
GRADED = {"graded": Form("u1", "1", 1, 1)}  # only graded tags have it
BETWEEN = {"between": Form("f8", "tt", -1, 1)}
REGRESSED = {"similarity_weights": Form("f4", "qm"), "similarity_intercept": Form("f4", "m")}
FLOOR = np.float32(SUREST)


class ExpectedSimilarity(ABC):
    """Similarities to the anchors that a row can be expected to have."""

    @property
    @abstractmethod
    def n_anchors(self) -> int:
        """Number of similarities."""

    @abstractmethod
    def similarity(self, z: Floats32) -> npt.NDArray[np.float64]:
        """Expected similarities (k, m) of prepared rows (k, q)."""

    @abstractmethod
    def steps(self, builder: Builder, preparation: Preparation) -> Expectation:
        """The same as steps of whole numbers."""


class LabelSimilarity(ExpectedSimilarity):
    """Through a label model, to anchors whose labels are known."""

    model: LabelModel

    @abstractmethod
    def of(self, chances: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Expected similarities (k, m) from label probabilities (k, t)."""

    def similarity(self, z: Floats32) -> npt.NDArray[np.float64]:
        # In blocks: of thousands of classes, probabilities of all rows would fill the memory twice over.
        out = np.empty((len(z), self.n_anchors))
        for rows in block_slices(len(z), FIT_ROWS):
            out[rows] = self.of(self.model.probabilities(z[rows]))
        return out

    def _logits(self, builder: Builder, preparation: Preparation) -> tuple[int, str]:
        """Scores of labels as steps, and the link that turns them into probabilities."""
        if not isinstance(self.model, LinearLabels):
            raise Unsupported("a scikit-learn classifier predicts the labels, in an arithmetic of its own")
        model = self.model
        place, _ = preparation.product(builder, model.weights, model.intercept, LOGIT_BITS)
        return place, model.link


@dataclass(frozen=True)
class ClassSimilarity(LabelSimilarity):
    """To anchors of ``classes`` (m,); ``between`` (t, t) says how similar classes are, None: same or not."""

    model: LabelModel
    classes: Ints
    between: Floats | None = None

    @property
    def n_anchors(self) -> int:
        return len(self.classes)

    def of(self, chances: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        if self.between is None:
            return (2 * chances[:, self.classes] - 1).astype(np.float64)
        similarity: npt.NDArray[np.float64] = chances.astype(np.float64) @ self.between[:, self.classes]
        return similarity

    def steps(self, builder: Builder, preparation: Preparation) -> Expectation:
        logits, link = self._logits(builder, preparation)
        if link == "softmax":
            chances = builder.softmax(logits)
        elif link == "sigmoid":  # in older files, one model for each class
            chances = builder.lookup(logits, LOGIT_BITS, -FARTHEST, FARTHEST, _sigmoid, 2.0**SHARE_BITS)
        else:
            chances = builder.lookup(logits, LOGIT_BITS, 0.0, 1.0, lambda x: x, 2.0**SHARE_BITS)
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
class TagSimilarity(LabelSimilarity):
    """To anchors with tags ``patterns`` (m, t): 1 for a shared tag, or if ``graded`` the Jaccard index."""

    model: LabelModel
    patterns: npt.NDArray[np.uint8]
    graded: bool = False

    @property
    def n_anchors(self) -> int:
        return len(self.patterns)

    def of(self, chances: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
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
        logits, link = self._logits(builder, preparation)
        if link == "cut":
            chances = builder.tag_chances(logits, 0.0, 1.0, lambda x: x)
        else:
            chances = builder.tag_chances(logits, -FARTHEST, FARTHEST, _sigmoid)
        place = builder.tag_similarities(chances, self.patterns, self.graded)
        return Expectation(place, SIMILARITY_BITS)


@dataclass(frozen=True)
class RegressedSimilarity(ExpectedSimilarity):
    """By ridge regression onto the similarities themselves: weights (q, m). Older files hold it."""

    weights: Floats32
    intercept: Floats32

    @property
    def n_anchors(self) -> int:
        return self.weights.shape[1]

    def similarity(self, z: Floats32) -> npt.NDArray[np.float64]:
        return np.clip(z @ self.weights + self.intercept, -1.0, 1.0).astype(np.float64)

    def steps(self, builder: Builder, preparation: Preparation) -> Expectation:
        raw, _ = preparation.product(builder, self.weights, self.intercept, LOGIT_BITS)
        place = builder.lookup(raw, LOGIT_BITS, -1.0, 1.0, lambda x: x, 2.0**SIMILARITY_BITS)
        return Expectation(place, SIMILARITY_BITS)


@dataclass(frozen=True)
class ExpectedMap(Map):
    """Prepared row → expected similarities → the solver's readout, less a ``threshold`` (d,)."""

    preparation: Preparation
    expected: ExpectedSimilarity
    readout: Readout
    threshold: npt.NDArray[np.float64]
    kind: ClassVar[str] = "expected"

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return len(self.threshold)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns of the raw rows."""
        return self.preparation.n_features

    def scores(self, block: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return self.readout.scores(self.expected.similarity(self.preparation(block))) - self.threshold

    def steps(self, builder: Builder) -> tuple[int, Array]:
        return self.readout.steps(builder, self.expected.steps(builder, self.preparation), self.threshold)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> ExpectedMap:
        kind = readout_kind(arrays)
        of_labels = "patterns" in arrays or "anchor_classes" in arrays
        own = {"threshold": Form("f8", "d"), **(_label_forms(arrays) if of_labels else REGRESSED)}
        lengths = check_forms(arrays, {**own, **Preparation.forms(arrays), **readout_forms(kind)})
        expected: ExpectedSimilarity
        if of_labels:
            expected = _label_similarity(arrays)
            if isinstance(expected, ClassSimilarity) and expected.classes.max() >= lengths["t"]:
                raise ValueError("anchors of classes that the label model does not know")
        else:
            expected = RegressedSimilarity(arrays["similarity_weights"], arrays["similarity_intercept"])
        readout = readout_from_arrays(kind, arrays)
        return cls(Preparation.from_arrays(arrays), expected, readout, arrays["threshold"])


def _sigmoid(x: Floats) -> Floats:
    found: Floats = 0.5 * (1 + np.tanh(0.5 * x))
    return found


def _label_similarity(arrays: Arrays) -> LabelSimilarity:
    """From the checked arrays of an older file; the oldest hold one-hot patterns of classes."""
    model = LinearLabels.from_arrays(arrays)
    if "anchor_classes" in arrays:
        return ClassSimilarity(model, arrays["anchor_classes"].astype(np.int64), arrays.get("between"))
    patterns = arrays["patterns"]
    if not arrays["exclusive"][0]:
        return TagSimilarity(model, patterns, "graded" in arrays)
    if not (patterns.sum(axis=1, dtype=np.int64) == 1).all() or "graded" in arrays:
        raise ValueError("anchors with no class, or several, or graded ones")
    return ClassSimilarity(model, patterns.argmax(axis=1))


def _label_forms(arrays: Arrays) -> dict[str, Form]:
    """The arrays that `_label_similarity` wants of those there are."""
    if "anchor_classes" in arrays:
        return {**LABEL_FORMS, **OF_CLASSES, **(BETWEEN if "between" in arrays else {})}
    return {**LABEL_FORMS, **OF_TAGS, **(GRADED if "graded" in arrays else {})}
