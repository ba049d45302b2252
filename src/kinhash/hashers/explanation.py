"""Why two rows are near or far, bit by bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.types import Array, Ints

__all__ = ["Explanation"]


@dataclass(frozen=True)
class Explanation:
    """Why two rows are near or far: the bits in which they differ, and how firmly each was decided.

    ``distance`` counts each bit as its field says, as a search does. ``margins`` (2, d) are the scores of
    both rows; a bit near zero was decided by little.
    """

    distance: int
    differing: Ints
    margins: Array

    def __str__(self) -> str:
        lines = [f"{len(self.differing)} of {self.margins.shape[1]} bits differ: distance {self.distance}"]
        order = self.differing[np.argsort(-np.abs(self.margins[:, self.differing]).min(axis=0))]
        lines += [f"  bit {k:4d}: {self.margins[0, k]:+.3f} against {self.margins[1, k]:+.3f}" for k in order]
        return "\n".join(lines)
