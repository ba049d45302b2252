"""A fitted map: raw rows in, scores out, a bit is 1 where its score is above zero.

The bits of a row are the same on every machine, alone or in any batch. Its scores are not: they agree to
the last digits or so, and only their signs are promised. `Map.scores` keeps the promise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._arithmetic import FAST, FIXED, Arithmetic, doubtful_rows
from ..errors import InvalidInput

__all__ = ["Arrays", "Map", "select"]

Arrays = dict[str, npt.NDArray[Any]]


class Map(ABC):
    """Scores of rows. Maps made of plain arrays can be stored in a model file."""

    kind: ClassVar[str]
    n_bits: int

    @abstractmethod
    def evaluate(
        self, block: npt.NDArray[np.float64], by: Arithmetic
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
        """Scores (k, d) of raw rows (k, p), and how far FAST scores may be from the FIXED ones.

        The bounds are (k, 1) or (k, d). None says that there is nothing to decide: scores are the same in
        both arithmetics, or are somebody else's, of which we know no bound.
        """

    def scores(self, block: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        """Scores (k, d) of raw rows (k, p); their signs are those of the FIXED scores."""
        return self.decide(block)[0]

    def decide(self, block: npt.NDArray[np.float64]) -> tuple[npt.NDArray[Any], int]:
        """Those scores, and how many rows lay so near zero that they were computed again."""
        scores, bound = self.evaluate(block, FAST)
        if bound is None:
            return scores, 0
        doubtful = doubtful_rows(scores, bound)
        if len(doubtful):
            fixed = self.evaluate(block[doubtful], FIXED)[0]
            # Errors are a few hundredths of their bounds. Where one comes near, no bound is to be trusted.
            if (np.abs(fixed - scores[doubtful]) > 0.5 * bound[doubtful]).any():
                return self.evaluate(block, FIXED)[0].astype(scores.dtype), len(block)
            scores[doubtful] = fixed
        return scores, len(doubtful)

    def arrays(self) -> Arrays:
        """What a model file stores; `from_arrays` undoes it."""
        raise InvalidInput(
            f"A {type(self).__name__} cannot be written to a model file",
            "a map made of plain arrays (linear, rbf, or expected with a logistic or ridge label model)",
            "Fit again with one of those, or keep this model with joblib",
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Map:
        """Build the map that `arrays` came from."""
        raise InvalidInput(f"A {cls.__name__} is never stored in a model file", "", "Fit it again")


def select(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names start with ``prefix``, without it."""
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
