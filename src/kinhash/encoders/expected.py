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
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from .._forms import Form, check_forms
from ..solvers.readout import Readout
from .base import Arrays, Map
from .label_models import LABEL_FORMS, LabelModel, LinearLabels
from .preparation import Preparation
from .stored_readout import can_be_stored, readout_arrays, readout_forms, readout_from_arrays, readout_kind

__all__ = ["ExpectedMap", "ExpectedSimilarity", "LabelSimilarity", "RegressedSimilarity"]

Floats32 = npt.NDArray[np.float32]
LABELLED = {**LABEL_FORMS, "patterns": Form("u1", "mt", 0, 1), "exclusive": Form("u1", "1", 0, 1)}
REGRESSED = {"similarity_weights": Form("f4", "qm"), "similarity_intercept": Form("f4", "m")}
FLOOR = np.float32(1e-4)  # no tag is ever certain: keeps the logarithm finite


class ExpectedSimilarity(ABC):
    """Similarities to the anchors that a row can be expected to have."""

    @abstractmethod
    def similarity(self, z: Floats32) -> npt.NDArray[np.float64]:
        """Expected similarities (k, m) of prepared rows (k, q)."""


@dataclass(frozen=True)
class LabelSimilarity(ExpectedSimilarity):
    """Through a label model; ``patterns`` (m, t) are the anchors' tags, one-hot for classes."""

    model: LabelModel
    patterns: npt.NDArray[np.uint8]
    exclusive: bool

    def similarity(self, z: Floats32) -> npt.NDArray[np.float64]:
        return expected_similarity(self.model.probabilities(z), self.patterns, self.exclusive)


@dataclass(frozen=True)
class RegressedSimilarity(ExpectedSimilarity):
    """By ridge regression onto the similarities themselves: weights (q, m)."""

    weights: Floats32
    intercept: Floats32

    def similarity(self, z: Floats32) -> npt.NDArray[np.float64]:
        return np.clip(z @ self.weights + self.intercept, -1.0, 1.0).astype(np.float64)


def expected_similarity(
    chances: Floats32, patterns: npt.NDArray[np.uint8], exclusive: bool
) -> npt.NDArray[np.float64]:
    """S̄ (k, m) from label probabilities (k, t) and label patterns (m, t)."""
    known = patterns.T.astype(np.float32)
    if exclusive:
        return (2 * (chances @ known) - 1).astype(np.float64)
    log_absent = np.log(np.clip(1 - chances, FLOOR, 1))
    return (1 - 2 * np.exp(log_absent @ known)).astype(np.float64)


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

    def scores(self, block: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        z = self.preparation(block)
        return self.readout.scores(self.expected.similarity(z)) - self.threshold

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
