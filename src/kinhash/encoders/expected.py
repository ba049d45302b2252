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

from ..energies import ENERGIES, Energy
from ..solvers.readout import LinearReadout, PolishReadout, Readout, SolveReadout, VaryingReadout
from ..solvers.targets import Targets
from .base import Arrays, Map, select
from .label_models import LabelModel, LinearLabels
from .preparation import Preparation

__all__ = ["ExpectedMap", "ExpectedSimilarity", "LabelSimilarity", "RegressedSimilarity"]

Floats32 = npt.NDArray[np.float32]
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
        kinds = {
            LinearReadout: "linear",
            SolveReadout: "solve",
            PolishReadout: "polish",
            VaryingReadout: "varying",
        }
        if isinstance(self.readout, VaryingReadout) and law_name(self.readout.law) is None:
            return super().arrays()
        return stored | {
            f"readout.{kinds[type(self.readout)]}.{name}": array
            for name, array in readout_arrays(self.readout).items()
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> ExpectedMap:
        expected: ExpectedSimilarity
        if "patterns" in arrays:
            model = LinearLabels.from_arrays(arrays)
            expected = LabelSimilarity(model, arrays["patterns"], bool(arrays["exclusive"][0]))
        else:
            expected = RegressedSimilarity(arrays["similarity_weights"], arrays["similarity_intercept"])
        preparation = Preparation.from_arrays(arrays)
        return cls(
            preparation, expected, readout_from_arrays(select(arrays, "readout.")), arrays["threshold"]
        )


def readout_arrays(readout: Readout) -> Arrays:
    """A readout's fields as arrays: numbers become arrays of one element, one of our energies its name."""
    fields = {name: value for name, value in vars(readout).items() if not name.startswith("_")}
    if isinstance(readout, VaryingReadout):
        law, targets = fields.pop("law"), fields.pop("targets")
        given = {name: float(value) for name, value in vars(law).items() if value is not None}
        fields |= {"law": law_name(law), "law_settings": " ".join(given), "law_values": list(given.values())}
        fields |= {f"targets_{name}": value for name, value in vars(targets).items()}
    stored: Arrays = {}
    for name, value in fields.items():
        if isinstance(value, str):
            value = np.frombuffer(value.encode("ascii"), np.uint8)
        stored[name] = np.atleast_1d(np.asarray(value))
    return stored


def readout_from_arrays(arrays: Arrays) -> Readout:
    """Undo `readout_arrays`; names start with the kind of the readout."""
    if any(name.startswith("linear.") for name in arrays):
        own = select(arrays, "linear.")
        return LinearReadout(own["matrix"], own["constant"], float(own["scale"][0]))
    if any(name.startswith("solve.") for name in arrays):
        own = select(arrays, "solve.")
        clip, how = float(own["clip"][0]), _text(own["how"])
        return SolveReadout(own["matrix"], own["constant"], own["coupling"], clip, how)
    if any(name.startswith("varying.") for name in arrays):
        return _varying_from_arrays(select(arrays, "varying."))
    own = select(arrays, "polish.")
    return PolishReadout(
        own["matrix"],
        own["constant"],
        own["gram"],
        float(own["bend"][0]),
        float(own["scale"][0]),
        int(own["n_sweeps"][0]),
    )


def law_name(law: Energy) -> str | None:
    """The name of one of our own energies; None for a stranger's, which a file cannot hold."""
    for name in ENERGIES:
        if type(law) is ENERGIES[name] and type(law).__module__.startswith("kinhash.energies."):
            return name
    return None


def _varying_from_arrays(own: Arrays) -> VaryingReadout:
    settings = dict(zip(_text(own["law_settings"]).split(), own["law_values"].tolist(), strict=True))
    law = ENERGIES[_text(own["law"])](**settings)
    targets = Targets(
        _text(own["targets_kind"]),
        own["targets_weights"],
        own["targets_offsets"],
        float(own["targets_grand_mean"][0]),
    )
    return VaryingReadout(
        law,
        targets,
        own["means"],
        own["weights"],
        float(own["clip"][0]),
        _text(own["how"]),
        float(own["curvature"][0]),
        int(own["n_sweeps"][0]),
    )


def _text(array: npt.NDArray[np.uint8]) -> str:
    return array.tobytes().decode("ascii")
