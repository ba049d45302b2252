"""Ids of rows: 64-bit integers or strings, kept in ascending order.

The position of an id in that order is its *rank*. Everything below works on ranks, so one order, (distance,
rank), serves numbers and strings alike. Consecutive integers are not stored at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._check import is_integer
from ..errors import InvalidInput

__all__ = ["Ids", "as_ids"]

STRING = np.dtypes.StringDType()

Ranks = npt.NDArray[np.int64]
Values = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Ids:
    """Distinct ids in ascending order; ``values`` None stands for ``first ... first + count - 1``."""

    count: int
    first: int = 0
    values: Values | None = None

    def __len__(self) -> int:
        return self.count

    @property
    def are_strings(self) -> bool:
        """Whether the ids are strings (numbers otherwise)."""
        return self.values is not None and self.values.dtype == STRING

    @property
    def n_bytes(self) -> int:
        """Memory the ids take."""
        return 0 if self.values is None else int(self.values.nbytes)

    def all(self) -> Values:
        """Every id, ascending."""
        return np.arange(self.first, self.first + self.count) if self.values is None else self.values

    def take(self, ranks: Ranks) -> Values:
        """The ids of these ranks."""
        if self.values is not None:
            return self.values[ranks]
        return ranks + self.first if self.first else ranks

    def find(self, ids: Values) -> Ranks:
        """The ranks of these ids, -1 where there is none."""
        if self.values is None:
            places = np.asarray(ids - self.first, np.int64)
            return np.where((places >= 0) & (places < self.count), places, -1)
        if not self.count:
            return np.full(len(ids), -1)
        places = np.minimum(np.searchsorted(self.values, ids), self.count - 1)
        return np.where(self.values[places] == ids, places, -1)

    def keep(self, ranks: Ranks) -> Ids:
        """The ids of these ascending ranks alone."""
        return Ids.of_sorted(self.take(ranks))

    @classmethod
    def of_sorted(cls, values: Values) -> Ids:
        """From ascending ids; consecutive integers become a range."""
        if not len(values):
            return cls(0, 0, values if values.dtype == STRING else None)
        if values.dtype != STRING and int(values[-1]) - int(values[0]) == len(values) - 1:
            return cls(len(values), int(values[0]))
        return cls(len(values), 0, values)


def as_ids(ids: npt.ArrayLike | Sequence[str], what: str = "ids") -> Values:
    """Ids as int64 or strings, in the order given; anything else is refused."""
    values = np.asarray(ids)
    if values.ndim != 1:
        raise _unusable(what, f"an array of shape {values.shape}")
    if not len(values):
        return np.empty(0, STRING if values.dtype.kind in "UT" else np.int64)
    if values.dtype.kind == "i" or (values.dtype.kind == "u" and int(values.max()) < 1 << 63):
        return values.astype(np.int64)
    if values.dtype.kind in "UTO":
        # Strings are read from what was handed in: a fixed-width array would drop trailing zeros.
        found = values.tolist() if isinstance(ids, np.ndarray) or hasattr(ids, "to_numpy") else list(ids)  # type: ignore[arg-type]
        if all(isinstance(value, str) for value in found):
            try:
                return np.array(found, STRING)
            except UnicodeEncodeError:
                raise _unusable(what, "strings that are not valid Unicode") from None
        if all(map(is_integer, found)):
            try:
                return np.array(found, np.int64)
            except OverflowError:
                pass
    raise _unusable(what, f"values of type {type(values.flat[0]).__name__}")


def _unusable(what: str, came: str) -> InvalidInput:
    return InvalidInput(
        f"The {what} came as {came}",
        "a 1-D array of 64-bit integers, or of strings",
        "Convert them with .astype(int) or list(map(str, ...))",
    )
