"""PCA, a random rotation, signs: the reference line for frozen embeddings."""

from __future__ import annotations

import numpy as np

from kinhash.paper.maps import LinearMap
from kinhash.paper.method import Card, Solved, Unsupervised
from kinhash.paper.similarity import Training
from kinhash.paper.unsupervised import centered_moments, principal_directions
from kinhash.plugins import fit_rotation

from .cards import FEATURES

__all__ = ["RotatedPCA"]


class RotatedPCA(Unsupervised):
    """Signs of the top d principal components, rotated at random.

    Objective: none beyond PCA's. The rotation spreads the variance evenly over the bits, which `ITQ` fits
    instead of drawing; so this is ITQ with no rounds. With fewer columns than bits the rotation is r × d with
    orthonormal rows. Database codes: mapped. Labels are not read.

    Parameters as in `Unsupervised`. Memory beyond X: p².

    Reference: Hashing-Baseline: rethinking hashing in the age of pretrained models. arXiv 2509.14427, 2025.
    """

    card = Card(
        "Hashing-Baseline, arXiv 2509.14427, 2025",
        FEATURES,
        "principal components, rotated at random",
        "more bits than columns",
    )

    def _solve(self, training: Training) -> Solved:
        moments, shares = centered_moments(training)
        directions = shares[:, None] * principal_directions(moments, shares, self.n_bits)[0]
        rotation = fit_rotation(directions, self.n_bits, training.rng, n_rounds=0)
        weights = (directions @ rotation).astype(np.float32)
        return Solved(None, LinearMap(moments.preparation, weights, np.zeros(self.n_bits, np.float32)))
