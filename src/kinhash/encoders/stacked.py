"""Bits from several maps, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._arithmetic import Arithmetic
from .._forms import TEXT, check_forms, text_of
from .base import Arrays, Map, select

__all__ = ["StackedMap"]


@dataclass(frozen=True)
class StackedMap(Map):
    """Scores of each part, concatenated. Maps that err differently make codes that err less."""

    parts: tuple[Map, ...]
    kind: ClassVar[str] = "stacked"

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Bits of all parts together."""
        return sum(part.n_bits for part in self.parts)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns of the raw rows, the same for all parts."""
        return self.parts[0].n_features

    @property
    def widest(self) -> int:
        return max(part.widest for part in self.parts)

    @property
    def takes_float32(self) -> bool:
        return all(part.takes_float32 for part in self.parts)

    def evaluate(
        self, block: npt.NDArray[np.float64], by: Arithmetic
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        found = [part.evaluate(block, by) for part in self.parts]
        scores = np.concatenate([part for part, _ in found], axis=1)
        bounds, first = np.empty(scores.shape), 0
        for part, bound in found:  # a part with nothing to decide is never in doubt, not even at zero
            last = first + part.shape[1]
            bounds[:, first:last] = -1.0 if bound is None else bound
            first = last
        return scores, bounds

    def arrays(self) -> Arrays:
        stored: Arrays = {}
        for place, part in enumerate(self.parts):
            kind = np.frombuffer(part.kind.encode("ascii"), np.uint8)
            stored |= {f"{place}.kind": kind}
            stored |= {f"{place}.{name}": array for name, array in part.arrays().items()}
        return stored

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> StackedMap:
        from . import MAPS, map_from_arrays

        places = {name.partition(".")[0] for name in arrays}
        if not places or places != {str(place) for place in range(len(places))}:
            raise ValueError("parts that are not numbered from 0")
        parts = []
        for place in range(len(places)):
            own = select(arrays, f"{place}.")
            label = {"kind": own.pop("kind")}
            check_forms(label, {"kind": TEXT})
            kind = text_of(label["kind"], MAPS)
            if kind == cls.kind:
                raise ValueError("maps side by side inside others")
            parts.append(map_from_arrays(kind, own))
        if len({part.n_features for part in parts}) > 1:
            raise ValueError("parts that take rows of different widths")
        return cls(tuple(parts))
