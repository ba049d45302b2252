"""Gaussian similarities to training rows, as KSH and support vector machines use them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinhash.models import Builder
from kinhash.plugins import Floats

from .similar_rows import Similarities

__all__ = ["Gaussian", "root_mean_square_distance"]


@dataclass(frozen=True)
class Gaussian(Similarities):
    """``exp(−‖x − z‖² / (2 width²))`` of raw rows x to raw centers z (k, p), which are training rows.

    Unlike those of `UnitRBF`, rows keep their length, and the width follows their scale: KSH's convention,
    and an SVM's.
    """

    def __call__(self, block: Floats) -> Floats:
        """Similarities (b, k). Distances are counted in widths from the first center, so that huge and tiny
        values neither overflow nor cancel."""
        z = (self.centers - self.centers[0]) / self.width
        with np.errstate(over="ignore", invalid="ignore"):  # too far away to square is at similarity 0
            x = (block - self.centers[0]) / self.width
            squared = (x * x).sum(axis=1, keepdims=True) + (z * z).sum(axis=1) - 2 * (x @ z.T)
        similarity: Floats = np.exp(-0.5 * np.maximum(np.nan_to_num(squared, nan=np.inf), 0.0))
        return similarity

    def steps(self, builder: Builder) -> int:
        return builder.raw_similarities(self.centers, self.width)


def root_mean_square_distance(rows: Floats, centers: Floats) -> float:
    """Square root of the mean of ‖x − z‖² over all rows x and centers z; 1 where all coincide.

    From means and mean squares alone: ``E‖x − z‖² = E‖x‖² + E‖z‖² − 2 E x·E z``, about a common origin.
    """
    peak = max(float(np.abs(rows).max(initial=0.0)), float(np.abs(centers).max(initial=0.0)), 1e-300)
    x, z = rows / peak, centers / peak
    x, z = x - z[0], z - z[0]
    squares = (x * x).sum(axis=1).mean() + (z * z).sum(axis=1).mean()
    mean_square = float(squares - 2 * (x.mean(axis=0) @ z.mean(axis=0)))
    return peak * float(np.sqrt(mean_square)) if mean_square > 1e-24 else 1.0
