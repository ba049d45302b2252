"""Encode a new row by the same energy as the training rows, with its expected supervision.

A new row differs from a training row only in that its row of S is unknown. So predict it: a label
model gives label probabilities p_t(x), and the expected similarity to an anchor with labels y_j is

    classes     S̄_xj = Σ_c p_c(x) S(c, y_j), which is 2·p_{y_j}(x) − 1 where classes are the same or not
    any tag     S̄_xj = 1 − 2·Π_{t∈y_j} (1 − p_t(x))
    graded      S̄_xj = Σ_{t∈y_j} p_t / (|y_j| + Σ_{t∉y_j} p_t) − Π_{t∈y_j} (1 − p_t),

the last with the ratio of the expected intersection and union in place of the expected ratio. The solver's
own extension to rows outside the sample does the rest. Older files may hold an S̄ that is regressed directly.

The map stores the anchors' labels, but no training row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._arithmetic import FAST, FIXED, UNIT, AffineError, Arithmetic
from .._blocks import FIT_ROWS, block_slices
from .._forms import Form, check_forms
from .._types import Floats, Floats32, Ints
from ..solvers.readout import Readout
from .base import Arrays, Map
from .label_models import LABEL_FORMS, LabelModel, LinearLabels
from .preparation import Preparation
from .stored_readout import can_be_stored, readout_arrays, readout_forms, readout_from_arrays, readout_kind

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
FLOOR = np.float32(1e-4)  # no tag is ever certain: keeps the logarithm finite


class ExpectedSimilarity(ABC):
    """Similarities to the anchors that a row can be expected to have."""

    @property
    @abstractmethod
    def n_anchors(self) -> int:
        """Number of similarities."""

    def similarity(self, z: Floats32) -> npt.NDArray[np.float64]:
        """Expected similarities (k, m) of prepared rows (k, q)."""
        return self.evaluate(z, 0.0, FAST)[0]

    @abstractmethod
    def evaluate(
        self, z: Floats32, error: Any, by: Arithmetic
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any] | None]:
        """The same, and bounds (k, r) of errors in what they are made of; None where these are not ours.

        ``error`` is what `Preparation.evaluate` says of z.
        """

    @abstractmethod
    def spread(self, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """How far each of those r errors may move any entry of ``S @ matrix``: (r, 1)."""

    def moved(self, errors: npt.NDArray[Any], spread: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """How far they may move it together (k, 1), taken as independent."""
        return np.sqrt(errors**2 @ spread**2)


class LabelSimilarity(ExpectedSimilarity):
    """Through a label model, to anchors whose labels are known."""

    model: LabelModel

    @abstractmethod
    def of(self, chances: npt.NDArray[Any], by: Arithmetic = FAST) -> npt.NDArray[np.float64]:
        """Expected similarities (k, m) from label probabilities (k, t)."""

    @abstractmethod
    def of_labels(self, labels: Any) -> npt.NDArray[np.float64]:
        """Similarities (k, m) of rows whose labels, an indicator (k, t) in CSR, are known."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """What a model file stores beside the label model."""

    def evaluate(
        self, z: Floats32, error: Any, by: Arithmetic
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any] | None]:
        chances = self.model.probabilities(z, by)
        similarity = self.of(chances, by)
        errors = None if by.exact else self.model.error(z, error, chances)
        # Logarithms of T tags and their sum add (T + 6) |x| eˣ ≤ (T + 6) / e roundings, the exponential few.
        return similarity, None if errors is None else errors + 8 * UNIT

    def similarity(self, z: Floats32) -> npt.NDArray[np.float64]:
        # In blocks: of thousands of classes, probabilities of all rows would fill the memory twice over.
        out = np.empty((len(z), self.n_anchors))
        for rows in block_slices(len(z), FIT_ROWS):
            out[rows] = self.of(self.model.probabilities(z[rows]))
        return out


@dataclass(frozen=True)
class ClassSimilarity(LabelSimilarity):
    """To anchors of ``classes`` (m,); ``between`` (t, t) says how similar classes are, None: same or not.

    ``one_hot`` says that an older file stored the classes as one-hot patterns: its id is that of its arrays.
    """

    model: LabelModel
    classes: Ints
    between: Floats | None = None
    one_hot: int = 0  # their width

    @property
    def n_anchors(self) -> int:
        return len(self.classes)

    def of(self, chances: npt.NDArray[Any], by: Arithmetic = FAST) -> npt.NDArray[np.float64]:
        if self.between is None:
            return (2 * chances[:, self.classes] - 1).astype(np.float64)
        similarity: npt.NDArray[np.float64] = by.product(chances.astype(np.float64), self._to_anchors)
        return similarity

    def of_labels(self, labels: Any) -> npt.NDArray[np.float64]:
        return self.of(labels.toarray())

    @cached_property
    def _to_anchors(self) -> Floats:
        assert self.between is not None
        return np.ascontiguousarray(self.between[:, self.classes])

    def spread(self, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self.between is not None:
            return np.abs(self._to_anchors @ matrix).max(axis=1, keepdims=True)
        far = np.zeros((int(self.classes.max()) + 1, matrix.shape[1]))
        np.add.at(far, self.classes, matrix)
        return 2 * np.abs(far).max(axis=1, keepdims=True)

    def moved(self, errors: npt.NDArray[Any], spread: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        # Shares of classes have a common denominator, so their errors are anything but independent.
        return errors[:, : len(spread)] @ spread

    def arrays(self) -> Arrays:
        if self.one_hot:
            patterns = (self.classes[:, None] == np.arange(self.one_hot)).astype(np.uint8)
            return {"patterns": patterns, "exclusive": np.ones(1, np.uint8)}
        found = {"anchor_classes": self.classes.astype(np.int32)}
        return found if self.between is None else {**found, "between": self.between}


@dataclass(frozen=True)
class TagSimilarity(LabelSimilarity):
    """To anchors with tags ``patterns`` (m, t): 1 for a shared tag, or if ``graded`` the Jaccard index."""

    model: LabelModel
    patterns: npt.NDArray[np.uint8]
    graded: bool = False

    @property
    def n_anchors(self) -> int:
        return len(self.patterns)

    def of(self, chances: npt.NDArray[Any], by: Arithmetic = FAST) -> npt.NDArray[np.float64]:
        none_shared = by.exp(by.product(by.log(np.clip(1 - chances, FLOOR, 1)), self._patterns))
        if not self.graded:
            return (1 - 2 * none_shared).astype(np.float64)
        common = by.product(chances, self._patterns)
        union = (by.sums(chances.astype(np.float64))[:, None] - common) + self._sizes
        return (common / union - none_shared).astype(np.float64)

    def of_labels(self, labels: Any) -> npt.NDArray[np.float64]:
        common = labels.astype(np.float32) @ self._patterns
        if not self.graded:
            return np.where(common > 0, 1.0, -1.0)
        union = np.diff(labels.indptr)[:, None] + self._sizes - common
        return np.where(common > 0, common / union, -1.0).astype(np.float64)

    @cached_property
    def _patterns(self) -> Floats32:
        return np.ascontiguousarray(self.patterns.T, np.float32)

    @cached_property
    def _sizes(self) -> Floats32:
        """Tags of each anchor (m,), at least one."""
        return np.maximum(self.patterns.sum(axis=1, dtype=np.float32), np.float32(1))

    def spread(self, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        # A product of numbers up to 1 is off by no more than they are together, and so is the Jaccard index.
        far = self._patterns.astype(np.float64) @ np.abs(matrix)
        if self.graded:
            far = far + (np.abs(matrix) / self._sizes[:, None]).sum(axis=0)
        return (1 if self.graded else 2) * far.max(axis=1, keepdims=True)

    def arrays(self) -> Arrays:
        found = {"patterns": self.patterns, "exclusive": np.zeros(1, np.uint8)}
        return {**found, "graded": np.ones(1, np.uint8)} if self.graded else found


@dataclass(frozen=True)
class RegressedSimilarity(ExpectedSimilarity):
    """By ridge regression onto the similarities themselves: weights (q, m)."""

    weights: Floats32
    intercept: Floats32

    @property
    def n_anchors(self) -> int:
        return self.weights.shape[1]

    def evaluate(
        self, z: Floats32, error: Any, by: Arithmetic
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64] | None]:
        similarity = np.clip(by.product(z, self.weights) + self.intercept, -1.0, 1.0).astype(np.float64)
        return similarity, None if by.exact else self._error(z, error) + 4 * UNIT

    def spread(self, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.abs(matrix).sum(axis=0).max(keepdims=True)[None, :]

    @cached_property
    def _error(self) -> AffineError:
        return AffineError.of(self.weights, self.intercept)


def _label_similarity(arrays: Arrays) -> LabelSimilarity:
    """From the checked arrays of a model file; older ones hold one-hot patterns of classes."""
    model = LinearLabels.from_arrays(arrays)
    if "anchor_classes" in arrays:
        return ClassSimilarity(model, arrays["anchor_classes"].astype(np.int64), arrays.get("between"))
    patterns = arrays["patterns"]
    if not arrays["exclusive"][0]:
        return TagSimilarity(model, patterns, "graded" in arrays)
    if not (patterns.sum(axis=1, dtype=np.int64) == 1).all() or "graded" in arrays:
        raise ValueError("anchors with no class, or several, or graded ones")
    return ClassSimilarity(model, patterns.argmax(axis=1), one_hot=patterns.shape[1])


def _label_forms(arrays: Arrays) -> dict[str, Form]:
    """The arrays that `_label_similarity` wants of those there are."""
    if "anchor_classes" in arrays:
        return {**LABEL_FORMS, **OF_CLASSES, **(BETWEEN if "between" in arrays else {})}
    return {**LABEL_FORMS, **OF_TAGS, **(GRADED if "graded" in arrays else {})}


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

    @property
    def widest(self) -> int:
        return max(len(self.preparation.mean), self.expected.n_anchors)

    @property
    def takes_float32(self) -> bool:
        return self.preparation.rbf is None

    def evaluate(
        self, block: npt.NDArray[np.float64], by: Arithmetic
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64] | None]:
        before = FIXED if self.readout.steep else by
        z, error = self.preparation.evaluate(block, before)
        similarity, errors = self.expected.evaluate(z, error, before)
        moved: Any = 0.0
        if errors is not None and not self.readout.steep:
            moved = self.expected.moved(errors, self._spread)
        scores, bound = self.readout.evaluate(similarity, moved, by)
        return scores - self.threshold, None if errors is None else bound + self._rounded

    @cached_property
    def _rounded(self) -> float:
        return 2.0**-50 * float(np.abs(self.threshold).max())

    @cached_property
    def _spread(self) -> npt.NDArray[np.float64]:
        return self.expected.spread(self.readout.matrix)

    def arrays(self) -> Arrays:
        stored = {"threshold": self.threshold, **self.preparation.arrays()}
        if isinstance(self.expected, LabelSimilarity) and isinstance(self.expected.model, LinearLabels):
            stored |= self.expected.model.arrays() | self.expected.arrays()
        elif isinstance(self.expected, RegressedSimilarity):
            stored |= {
                "similarity_weights": self.expected.weights,
                "similarity_intercept": self.expected.intercept,
            }
        else:
            return super().arrays()
        return stored | readout_arrays(self.readout) if can_be_stored(self.readout) else super().arrays()

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
