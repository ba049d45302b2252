"""Ids of rows: 64-bit integers or strings, kept in ascending order.

The position of an id in that order is its *rank*. Everything below works on ranks, so one order, (distance,
rank), serves numbers and strings alike. Consecutive integers are not stored at all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq, lt
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.texts import STRING
from .._internal.types import Array, Bools, Ints
from .._internal.validation import is_integer
from ..errors import InvalidInput

__all__ = ["MOST_IDS", "Ids", "IdsLike", "SomeIds", "as_ids", "is_ascending", "sort_keys", "sorting_order"]

MOST_IDS = 2**63  # ids are 64-bit integers with a sign, so all of them are smaller
INLINE = 15  # bytes of UTF-8 that NumPy keeps in the array itself; longer strings lie beside it

Ranks = Ints
Values = Array
IdsLike = npt.ArrayLike | Sequence[str]


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
        """Memory the ids take, the text of long strings included."""
        if self.values is None:
            return 0
        lengths = (len(text.encode()) for text in self.values.tolist()) if self.are_strings else ()
        return int(self.values.nbytes) + sum(length for length in lengths if length > INLINE)

    def all(self) -> Values:
        """Every id, ascending."""
        if self.values is not None:
            return self.values
        return np.arange(self.first, self.first + self.count, dtype=np.int64)

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
        if self.are_strings:
            return self._find_strings(ids.tolist())
        places = np.minimum(np.searchsorted(self.values, ids), self.count - 1)
        return np.where(self.values[places] == ids, places, -1)

    def _find_strings(self, wanted: list[str]) -> Ranks:
        """Found by Python: np.searchsorted misplaces strings of 16 bytes and more before NumPy 2.5.

        Few by binary search; many, faster, in a dictionary, which takes some 200 bytes per id meanwhile.
        """
        values = self.all()
        if 4 * len(wanted) > self.count:
            rank = dict(zip(values.tolist(), range(self.count), strict=True))
            return np.array([rank.get(text, -1) for text in wanted], np.int64)
        places = [bisect_left(values, text) for text in wanted]
        pairs = zip(places, wanted, strict=True)
        return np.array([p if p < self.count and values[p] == text else -1 for p, text in pairs], np.int64)

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


@dataclass(frozen=True, eq=False)
class SomeIds:
    """Ids of the rows of a mask, of NumPy or CuPy, by the ranks of all rows."""

    ids: Ids
    mask: Bools
    count: int

    def __len__(self) -> int:
        return self.count

    @property
    def are_strings(self) -> bool:
        """Whether the ids are strings."""
        return self.ids.are_strings

    def take(self, ranks: Ranks) -> Values:
        """The ids of these ranks."""
        return self.ids.take(ranks)

    def find(self, ids: Values) -> Ranks:
        """The ranks of these ids, -1 where there is none in the mask."""
        ranks = self.ids.find(ids)
        passes = self.mask[np.maximum(ranks, 0)]
        passes = passes.get() if hasattr(passes, "get") else passes
        return np.where((ranks >= 0) & passes, ranks, -1)


def is_ascending(ids: Values) -> bool:
    """Whether every id is larger than the one before."""
    if ids.dtype != STRING:
        return bool((ids[1:] > ids[:-1]).all())
    texts = ids.tolist()
    return all(map(lt, texts, texts[1:]))


def sort_keys(ids: Values) -> Values:
    """Integers in the order of the ids, equal where the ids are, in the same shape.

    Python compares the strings: before 2.5 NumPy takes those that differ only after a NUL for equal, 2.0
    crashes in lexsort, and 2.4 in its unstable sort.
    """
    if ids.dtype.kind in "iu":
        return ids
    texts = ids.ravel().tolist()
    place = {text: number for number, text in enumerate(sorted(dict.fromkeys(texts)))}
    return np.array([place[text] for text in texts], np.int64).reshape(ids.shape)


def sorting_order(ids: Values) -> Ranks:
    """The order that makes ids ascend; an id that comes twice is refused."""
    if ids.dtype == STRING:
        texts = ids.tolist()
        order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
        ordered = [texts[place] for place in order.tolist()]
        twins = np.flatnonzero(list(map(eq, ordered, ordered[1:])))
    else:
        order = np.argsort(ids, kind="stable")
        twins = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
    if len(twins):
        twin = ids[order[twins[:1]]].tolist()[0]
        raise InvalidInput(f"The id {twin!r} came twice", "distinct ids", "Pass every id once")
    return order


def as_ids(ids: IdsLike, what: str = "ids") -> Values:
    """Ids as int64 or strings, in the order given; anything else is refused."""
    values = np.asarray(ids)
    if values.ndim != 1:
        raise _unusable(what, f"an array of shape {values.shape}")
    if not len(values):
        return np.empty(0, STRING if values.dtype.kind in "UT" else np.int64)
    if values.dtype.kind in "iu":
        return _whole(values, what)
    if values.dtype.kind in "UTOf":
        # Read from what was handed in: a fixed-width array would drop trailing zeros, and NumPy makes floats
        # of signed and unsigned integers that come together.
        handed: Any = values.tolist() if isinstance(ids, np.ndarray) or hasattr(ids, "to_numpy") else ids
        found = list(handed)
        if all(isinstance(value, str) for value in found):
            try:
                return np.array(found, STRING)
            except UnicodeEncodeError:
                raise _unusable(what, "strings that are not valid Unicode") from None
        if all(map(is_integer, found)):
            return _whole(np.array([int(value) for value in found], object), what)
    raise _unusable(what, f"values of type {type(values.flat[0]).__name__}")


def _whole(values: Values, what: str) -> Values:
    """Integers as int64, none changed."""
    for value in (int(values.min()), int(values.max())):
        if not -MOST_IDS <= value < MOST_IDS:
            raise InvalidInput(
                f"The number {value} is among the {what}",
                "integers from -2**63 to 2**63 - 1",
                "Pass such ids as strings, with list(map(str, ...))",
            )
    return values.astype(np.int64)


def _unusable(what: str, came: str) -> InvalidInput:
    return InvalidInput(
        f"The {what} came as {came}",
        "a 1-D array of 64-bit integers, or of strings",
        "Convert them with .astype(int) or list(map(str, ...))",
    )
