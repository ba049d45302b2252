"""Bits of the features alone (ITQ): top principal directions, rotated to round well. No label is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._linalg import fit_rotation
from ..errors import InvalidInput
from ..solvers import Solution
from ..training import Training
from .base import Encoder, Fitted
from .features import feature_map, first_preparation, standardised_moments
from .linear import LinearMap
from .prepared import prepare_rows
from .ridge import ROTATION_ROWS

__all__ = ["Principal"]


@dataclass(repr=False, kw_only=True)
class Principal(Encoder):
    """Principal directions of the features as they came: standardising would undo their weights."""

    features: Any = "plain"

    def check(self) -> None:
        features = feature_map(self.features)
        features.check()
        if not features.standardize:
            raise InvalidInput(
                "standardize=False was asked for with principal directions",
                "features with standardize=True: directions are those of the columns as they came anyway",
                "Leave standardize out",
            )

    def fit(self, training: Training, solution: Solution) -> Fitted:
        features, rng, n_bits = feature_map(self.features), training.rng, solution.n_bits
        nothing = np.zeros((len(training.rows), 0), np.float32)
        with training.stages("feature bits"):
            preparation = first_preparation(training.rows, features, rng)
            moments = standardised_moments(training, features, preparation, lambda part: nothing[part])
            scale = moments.preparation.scale
            scale = scale / scale.max()  # only ratios matter, and squares of 1e160 would not fit
            raw = moments.gram * scale * scale[:, None]
            directions = np.linalg.eigh(raw)[1][:, ::-1][:, :n_bits]
            weights = scale[:, None] * directions
            some = training.some_known_rows(rng, ROTATION_ROWS)
            codes = prepare_rows(training.rows, moments.preparation, some, training.n_jobs) @ weights
            rotation = fit_rotation(codes, n_bits, rng)
            size = float(np.sqrt((codes**2).mean())) or 1.0
            final = (weights @ rotation / size).astype(np.float32)
        return Fitted(LinearMap(moments.preparation, final, np.zeros(n_bits, np.float32)))
