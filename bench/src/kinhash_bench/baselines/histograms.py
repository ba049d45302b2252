"""Losses of rankings inside a batch: soft histograms of relaxed Hamming distances, and what comes of them.

Every row of a batch asks the others. With ``φ = tanh(s/2)`` two rows are ``D = (d − φ·φ')/2`` apart; each
distance counts towards the two nearest of ``n_bins + 1`` bins between 0 and d, in proportion to its nearness,
so that counts have a slope in D.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from kinhash.plugins import Floats, njit

from .head import Array, Batch, HeadLoss

__all__ = ["HistogramLoss", "MutualInformation", "TieAwarePrecision"]


class HistogramLoss(HeadLoss):
    """A loss that is a sum over rows of a function of their histograms of kin and of strangers."""

    def __init__(self, n_bins: int) -> None:
        self.n_bins = n_bins

    @abstractmethod
    def of_counts(self, kin: Floats, strangers: Floats) -> tuple[Floats, Floats, Floats]:
        """Loss of each row (b,) from counts (b, bins) with at least one of both, and its two gradients."""

    def gradient(self, scores: Array, batch: Batch) -> tuple[float, Array, Sequence[Array]]:
        phi = np.tanh(scores / 2)
        width = scores.shape[1] / self.n_bins
        distance = (scores.shape[1] - phi @ phi.T) / (2 * width)
        kin = batch.kin
        counts = count_softly(distance, kin, self.n_bins)
        asked = (counts.sum(axis=2) > 0).all(axis=0)
        if not asked.any():
            return 0.0, np.zeros_like(scores), ()
        n, pulls = int(asked.sum()), np.zeros_like(counts)
        value, pulls[0, asked], pulls[1, asked] = self.of_counts(counts[0, asked], counts[1, asked])
        slope = slopes_of_distances(distance, kin, np.diff(pulls, axis=2) / n).astype(scores.dtype)
        pull_phi = (slope + slope.T) @ phi / (-2 * width)
        return float(value.sum()) / n, pull_phi * (1 - phi * phi) / 2, ()


@njit(cache=True, nogil=True)
def count_softly(distance, kin, n_bins):  # type: ignore[no-untyped-def]
    """Counts (2, b, bins) of similar and dissimilar rows at binned distances (b, b), own row left out."""
    b = len(distance)
    counts = np.zeros((2, b, n_bins + 1))
    for i in range(b):
        for j in range(b):
            if i != j:
                place = min(max(int(distance[i, j]), 0), n_bins - 1)
                share = distance[i, j] - place
                side = 0 if kin[i, j] else 1
                counts[side, i, place] += 1 - share
                counts[side, i, place + 1] += share
    return counts


@njit(cache=True, nogil=True)
def slopes_of_distances(distance, kin, rises):  # type: ignore[no-untyped-def]
    """What a distance (b, b) does to the loss as it grows, by the rises (2, b, bins − 1) from bin to bin."""
    b, n_bins = len(distance), rises.shape[2]
    slopes = np.zeros((b, b))
    for i in range(b):
        for j in range(b):
            if i != j:
                place = min(max(int(distance[i, j]), 0), n_bins - 1)
                slopes[i, j] = rises[0 if kin[i, j] else 1, i, place]
    return slopes


class MutualInformation(HistogramLoss):
    """Minus the mutual information, in bits, of a row's distances and of who is kin to it."""

    def of_counts(self, kin: Floats, strangers: Floats) -> tuple[Floats, Floats, Floats]:
        n_kin, n_strangers = kin.sum(axis=1, keepdims=True), strangers.sum(axis=1, keepdims=True)
        n = n_kin + n_strangers
        together = np.log2(np.maximum((kin + strangers) / n, 1e-12))
        ours, theirs = (
            np.log2(np.maximum(part / size, 1e-12)) for part, size in ((kin, n_kin), (strangers, n_strangers))
        )
        gain = kin * (ours - together) + strangers * (theirs - together)
        return -(gain / n).sum(axis=1), -(ours - together) / n, -(theirs - together) / n


class TieAwarePrecision(HistogramLoss):
    """One less average precision, with ties as counts: ``Σ k_l (K_l + K_{l−1} + 1)/(N_l + N_{l−1} + 1) / K``.

    k_l are the kin in bin l, K_l those up to it, N_l all rows up to it.
    """

    def of_counts(self, kin: Floats, strangers: Floats) -> tuple[Floats, Floats, Floats]:
        n_kin = kin.sum(axis=1, keepdims=True)
        both = kin + strangers
        found, rows = (2 * np.cumsum(part, axis=1) - part + 1 for part in (kin, both))
        precision = kin * found / rows
        # A kin counts itself, and raises what is found in its own bin once, in later bins twice; so the rows.
        more, less = kin / rows, precision / rows
        later = [2 * (np.cumsum(part[:, ::-1], axis=1)[:, ::-1] - part) + part for part in (more, less)]
        pull_kin, pull_rows = found / rows + later[0], -later[1]
        return 1 - (precision / n_kin).sum(axis=1), -(pull_kin + pull_rows) / n_kin, -pull_rows / n_kin
