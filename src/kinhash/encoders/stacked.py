"""Bits from several maps, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._forms import TEXT, check_forms, text_of
from .._types import Array
from ..models import Arrays, Builder, Map
from ..models.steps import Join
from .base import select

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

    def scores(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate([part.scores(block) for part in self.parts], axis=1)

    def steps(self, builder: Builder) -> tuple[int, Array]:
        found = [part.steps(builder) for part in self.parts]
        joined = builder.add(Join(tuple(place for place, _ in found)))
        return joined, np.concatenate([units for _, units in found])

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
