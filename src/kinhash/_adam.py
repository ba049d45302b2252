"""Adam: steps scaled by running means of the gradient and of its square.

Kingma, Ba. Adam: a method for stochastic optimization. ICLR 2015.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._types import Array

__all__ = ["Adam"]


class Adam:
    """Moves several arrays of weights in place; ``decays`` say how much is kept of each running mean."""

    def __init__(self, weights: Sequence[Array], decays: tuple[float, float]) -> None:
        self.weights, self.decays, self.t = weights, decays, 0
        self.means = [np.zeros_like(w) for w in weights]
        self.squares = [np.zeros_like(w) for w in weights]

    def move(self, gradients: Sequence[Array], step: float) -> None:
        """One step against the gradients, an array for each array of weights."""
        self.t += 1
        slow, slower = self.decays
        size = step * np.sqrt(1 - slower**self.t) / (1 - slow**self.t)
        for w, m, s, g in zip(self.weights, self.means, self.squares, gradients, strict=True):
            m += (1 - slow) * (g - m)
            s += (1 - slower) * (g * g - s)
            w -= size * m / (np.sqrt(s) + 1e-8)
