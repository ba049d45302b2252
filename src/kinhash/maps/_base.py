"""A fitted map: raw rows in, scores out, a bit is 1 where its score is above zero."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput

__all__ = ["Arrays", "Map", "select"]

Arrays = dict[str, npt.NDArray[Any]]


class Map(ABC):
    """Scores of rows. Maps made of plain arrays can be stored in a model file."""

    kind: ClassVar[str]
    n_bits: int
    n_features: int

    @abstractmethod
    def scores(self, block: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        """Scores (k, d) of raw rows (k, p)."""

    def arrays(self) -> Arrays:
        """What a model file stores; `from_arrays` undoes it."""
        raise InvalidInput(
            f"A {type(self).__name__} cannot be written to a model file",
            "a map made of plain arrays (linear, rbf, or expected with a logistic or ridge label model)",
            "Fit again with one of those, or keep this model with joblib",
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Map:
        """Build the map that `arrays` came from. A stranger may have written them: check them all first."""
        raise InvalidInput(f"A {cls.__name__} is never stored in a model file", "", "Fit it again")


def select(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names start with ``prefix``, without it."""
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
