"""What every map can do: give rows their scores. A bit is 1 where its score is above zero."""

from __future__ import annotations

import logging
import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy.typing as npt

from .._types import Array
from ..errors import InvalidInput, KinhashWarning
from .bounds import Inexact, Unsupported

if TYPE_CHECKING:
    from .builder import Builder
    from .whole import WholeMap

__all__ = ["Arrays", "Map"]

Arrays = dict[str, Array]
log = logging.getLogger("kinhash")


class Map(ABC):
    """Scores of rows. `fit` learns a map in floating point, and rounds it to a `WholeMap` at its end."""

    kind: ClassVar[str]
    n_bits: int
    n_features: int

    @abstractmethod
    def scores(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Scores (k, d) of raw rows (k, p)."""

    def steps(self, builder: Builder) -> tuple[int, Array]:
        """Write the map as steps: the place of its scores, and their units (d,) as exponents.

        Raises `Inexact` with the reason where that cannot be done.
        """
        raise Unsupported(f"a {type(self).__name__} has no steps of whole numbers")

    def arrays(self) -> Arrays:
        """What a model file stores; `from_arrays` undoes it."""
        raise InvalidInput(
            f"The model cannot be written to a model file: {self.why_not_whole()}",
            "a map that can be rounded to whole numbers",
            "Fit with encoder='ridge', or keep this model with joblib",
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Map:
        """Build the map that `arrays` came from. A stranger may have written them: check them all first."""
        raise InvalidInput(f"A {cls.__name__} is never stored in a model file", "", "Fit it again")

    def whole(self, spread: Array | None = None) -> Map:
        """The same map in whole numbers; the map itself where it cannot be rounded.

        ``spread`` (p,) are the standard deviations of the columns, for maps that take columns as they come.
        """
        try:
            return self._rounded(spread)
        except Unsupported as reason:
            log.info("The map stays in floating point: %s", reason)
        except Inexact as reason:
            warnings.warn(
                f"The map stays in floating point, because {reason}. It encodes, but bits near zero may "
                "differ between machines, and it cannot be saved or exported. Standardize the columns of X.",
                KinhashWarning,
                stacklevel=2,
            )
        return self

    def why_not_whole(self) -> str:
        """The reason why the map cannot be rounded."""
        try:
            self._rounded(None)
        except Inexact as reason:
            return str(reason)
        return "it was not rounded"

    def _rounded(self, spread: Array | None) -> WholeMap:
        from .builder import Builder

        if type(self).steps is Map.steps:  # another package's map
            raise Unsupported(f"a {type(self).__name__} has no steps of whole numbers")
        builder = Builder(self.n_features, spread)
        return builder.build(*self.steps(builder))
