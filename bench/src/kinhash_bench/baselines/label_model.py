"""The float topline of `EnergyHasher` itself: what its label model knows before it is rounded to bits."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kinhash.encoders import ExpectedLabels
from kinhash.hashers import EnergyHasher
from kinhash.plugins import Rows, map_rows, require_whole
from kinhash.supervision import read_labels

from ..protocols import LabelScores

__all__ = ["LabelModelScores"]


class LabelModelScores(LabelScores):
    """Rows rank by the label probabilities of the default: same features, same label model, no code.

    ``features`` as in `kinhash.encoders.ExpectedLabels`. See `LabelScores` for the two databases. Memory:
    (n, labels) floats.
    """

    def __init__(self, features: str = "auto", random_state: Any = None) -> None:
        self.features = features
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the hasher, and keep its label model."""
        labels = read_labels(y)
        encoder = ExpectedLabels(features=self.features)
        hasher = EnergyHasher(16, encoder=encoder, alike=0, random_state=self.random_state).fit(X, y)
        self.model_ = require_whole(hasher.fitted_.map)
        self.indicator_, self.is_tags_ = labels.indicator().astype(np.float32), labels.is_tags
        self.bytes_per_item = 4 * self.indicator_.shape[1]
        return self

    def prepare(self, X: Any) -> npt.NDArray[np.float32]:
        """Probabilities (n, labels)."""
        rows = Rows(X)
        return np.asarray(map_rows(self.model_.chances, rows.read, len(rows)), np.float32)
