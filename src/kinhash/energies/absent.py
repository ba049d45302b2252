"""Placeholder for an energy that is not installed. The model encodes but cannot be fitted again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from .._internal.types import Floats
from ..errors import InvalidInput
from .base import Energy

__all__ = ["Absent"]


@dataclass(frozen=True)
class Absent(Energy):
    """Stands for a user-defined energy, which a model file names but does not contain."""

    name: str

    def loss(self, r: Floats, s: Floats, n_bits: int) -> NoReturn:
        raise self._problem()

    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> NoReturn:
        raise self._problem()

    def _problem(self) -> InvalidInput:
        return InvalidInput(
            f"This model was fitted with the energy {self.name!r}, which its file does not hold",
            "an energy that can be computed",
            "Encode with the model as it is, or set its parameter energy before fitting again",
        )
