"""Encode a new row by the same energy as the training rows, with its expected supervision.

A new row differs from a training row only in that its row of S is unknown. So predict it: a label
model gives tag probabilities p_t(x), the expected similarity to an anchor with tags t ∈ y_j is

    S̄_xj = 2·(1 − Π_{t∈y_j} (1 − p_t(x))) − 1        (for classes: 2·p_{y_j}(x) − 1),

and the solver's own extension to rows outside the sample does the rest. How common an item's tags
are comes in by itself. Where there are no labels, S̄ is regressed directly.

The map stores the anchors' label patterns, but no training row.
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
from .._types import Floats32, Ints
from ..solvers.readout import Readout
from .base import Arrays, Map
from .label_models import LABEL_FORMS, LabelModel, LinearLabels
from .preparation import Preparation
from .stored_readout import can_be_stored, readout_arrays, readout_forms, readout_from_arrays, readout_kind

__all__ = ["ExpectedMap", "ExpectedSimilarity", "LabelSimilarity", "RegressedSimilarity"]

LABELLED = {**LABEL_FORMS, "patterns": Form("u1", "mt", 0, 1), "exclusive": Form("u1", "1", 0, 1)}
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


@dataclass(frozen=True)
class LabelSimilarity(ExpectedSimilarity):
    """Through a label model; ``patterns`` (m, t) are the anchors' tags, one-hot for classes."""

    model: LabelModel
    patterns: npt.NDArray[np.uint8]
    exclusive: bool

    @property
    def n_anchors(self) -> int:
        return len(self.patterns)

    def evaluate(
        self, z: Floats32, error: Any, by: Arithmetic
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any] | None]:
        chances = self.model.probabilities(z, by)
        similarity = self._of(chances, by)
        errors = None if by.exact else self.model.error(z, error, chances)
        # Logarithms of T tags and their sum add (T + 6) |x| eˣ ≤ (T + 6) / e roundings, the exponential few.
        return similarity, None if errors is None else errors + 8 * UNIT

    def similarity(self, z: Floats32) -> npt.NDArray[np.float64]:
        # In blocks: of thousands of classes, probabilities of all rows would fill the memory twice over.
        out = np.empty((len(z), len(self.patterns)))
        for rows in block_slices(len(z), FIT_ROWS):
            out[rows] = self._of(self.model.probabilities(z[rows]), FAST)
        return out

    def _of(self, chances: npt.NDArray[Any], by: Arithmetic) -> npt.NDArray[np.float64]:
        return expected_similarity(chances, self.patterns, self.exclusive, by, self._classes)

    @cached_property
    def _classes(self) -> Ints | None:
        return classes_of(self.patterns) if self.exclusive else None

    def spread(self, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        # A product of numbers up to 1 is off by no more than they are together.
        if self._classes is not None:
            far = np.zeros((self.patterns.shape[1], matrix.shape[1]))
            np.add.at(far, self._classes, matrix)
            return 2 * np.abs(far).max(axis=1, keepdims=True)
        known = self.patterns.T.astype(np.float64)
        far = np.abs(known @ matrix) if self.exclusive else known @ np.abs(matrix)
        return 2 * far.max(axis=1, keepdims=True)

    def moved(self, errors: npt.NDArray[Any], spread: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        # Shares of classes have a common denominator, so their errors are anything but independent.
        return errors @ spread if self.exclusive else super().moved(errors, spread)


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


def classes_of(patterns: npt.NDArray[np.uint8]) -> Ints | None:
    """The class (m,) of each pattern; None where one has none or several."""
    one_each = bool((patterns.sum(axis=1, dtype=np.int64) == 1).all())
    return patterns.argmax(axis=1) if one_each else None


def expected_similarity(
    chances: npt.NDArray[Any],
    patterns: npt.NDArray[np.uint8],
    exclusive: bool,
    by: Arithmetic = FAST,
    classes: Ints | None = None,
) -> npt.NDArray[np.float64]:
    """S̄ (k, m) from label probabilities (k, t) and label patterns (m, t).

    Of classes, what a product with zeros and ones would give is looked up; who asks often has `classes_of`
    the patterns ready.
    """
    if exclusive and classes is None:
        classes = classes_of(patterns)
    if exclusive and classes is not None:
        return (2 * chances[:, classes] - 1).astype(np.float64)
    known = patterns.T.astype(np.float32)
    if exclusive:
        return (2 * by.product(chances, known) - 1).astype(np.float64)
    log_absent = by.log(np.clip(1 - chances, FLOOR, 1))
    return (1 - 2 * by.exp(by.product(log_absent, known))).astype(np.float64)


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
            stored |= self.expected.model.arrays()
            stored |= {
                "patterns": self.expected.patterns,
                "exclusive": np.array([self.expected.exclusive], np.uint8),
            }
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
        own = {"threshold": Form("f8", "d"), **(LABELLED if "patterns" in arrays else REGRESSED)}
        check_forms(arrays, {**own, **Preparation.forms(arrays), **readout_forms(kind)})
        expected: ExpectedSimilarity
        if "patterns" in arrays:
            model = LinearLabels.from_arrays(arrays)
            expected = LabelSimilarity(model, arrays["patterns"], bool(arrays["exclusive"][0]))
        else:
            expected = RegressedSimilarity(arrays["similarity_weights"], arrays["similarity_intercept"])
        readout = readout_from_arrays(kind, arrays)
        return cls(Preparation.from_arrays(arrays), expected, readout, arrays["threshold"])
