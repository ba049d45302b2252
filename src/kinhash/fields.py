"""Which bits of a code say who is kin, which say what a row looks like, and how much each counts.

A code is its kin bits, then its alike bits. The distance of two codes is ``kin_weight`` times the number of
differing kin bits plus ``alike_weight`` times that of differing alike bits: kin come first, and among
them those that look most alike.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._check import check_integer
from .errors import InvalidInput

__all__ = ["KIN_ONLY", "MAX_WEIGHT", "Fields"]

MAX_WEIGHT = 15


@dataclass(frozen=True)
class Fields:
    """The last ``alike`` bits of a code are its alike field, the others its kin field; a weight for each.

    ``Fields()`` is one field in which every bit counts one: plain Hamming distance.

    >>> Fields(alike=2, kin_weight=4).weights(5).tolist()
    [4, 4, 4, 1, 1]
    """

    alike: int = 0
    kin_weight: int = 1
    alike_weight: int = 1

    def __post_init__(self) -> None:
        check_integer("alike", self.alike, 0)
        check_integer("kin_weight", self.kin_weight, 1, MAX_WEIGHT)
        check_integer("alike_weight", self.alike_weight, 1, MAX_WEIGHT)

    @property
    def plain(self) -> bool:
        """Whether every bit counts one."""
        return self.kin_weight == 1 and (self.alike_weight == 1 or not self.alike)

    def check(self, n_bits: int) -> None:
        """Refuse more alike bits than a code has bits."""
        if self.alike > n_bits:
            raise InvalidInput(
                f"Codes of {n_bits} bits came with {self.alike} alike bits",
                f"at most {n_bits} of them",
                "Pass the fields that belong to these codes",
            )

    def kin(self, n_bits: int) -> int:
        """Number of kin bits of a code of so many bits."""
        return n_bits - self.alike

    def max_distance(self, n_bits: int) -> int:
        """The distance of codes that differ in every bit."""
        return self.kin_weight * self.kin(n_bits) + self.alike_weight * self.alike

    def weights(self, n_bits: int) -> npt.NDArray[np.int64]:
        """What each bit counts (n_bits,)."""
        return np.repeat([self.kin_weight, self.alike_weight], [self.kin(n_bits), self.alike])

    def describe(self, n_bits: int) -> str:
        """In words, for people.

        >>> Fields(alike=40, kin_weight=4).describe(64)
        '24 kin bits (each counts 4), 40 alike bits (each counts 1)'
        """
        both = (self.kin(n_bits), "kin", self.kin_weight), (self.alike, "alike", self.alike_weight)
        return ", ".join(f"{size} {name} bits (each counts {weight})" for size, name, weight in both if size)

    def as_dict(self) -> dict[str, int]:
        """For files: what `from_dict` takes."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Any) -> Fields:
        """From a file, which a stranger may have written."""
        if not isinstance(given, dict) or given.keys() != asdict(KIN_ONLY).keys():
            raise ValueError("fields that are no fields")
        return cls(**given)


KIN_ONLY = Fields()
