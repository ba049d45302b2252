"""Codes on a card: words in planes, a mask beside them, tiles that a kernel looks at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log

from .._internal.types import Array

__all__ = ["ROW", "SHIFT", "Notes", "Rows", "Tiles", "samples"]

SHIFT = 40  # a key is distance << SHIFT | row
ROW = (1 << SHIFT) - 1

FIRST_TILES = 1  # of the first sample


@dataclass(frozen=True, eq=False)
class Rows:
    """Words (W, stride) of ``n_rows`` codes, the stride a whole number of tiles; arrays of a card.

    ``mask`` has a bit for each row, 32 to a word, the first row in the lowest bit; None keeps all rows.
    """

    words: Array
    n_rows: int
    mask: Array | None = None


@dataclass(frozen=True)
class Tiles:
    """The tiles ``first``, ``first + step``, ... of some rows, ``count`` of them."""

    first: int
    count: int
    step: int = 1


@dataclass(frozen=True, eq=False)
class Notes:
    """Keys (q, cap) of rows within the limits, in any order, and how many (q,) each query would have had."""

    counts: Array
    keys: Array

    @property
    def cap(self) -> int:
        """Keys a query has room for."""
        return int(self.keys.shape[1])


def samples(n_tiles: int, most_times: int) -> Iterator[tuple[Tiles, float]]:
    """Larger and larger samples, evenly spread, up to all tiles; and what share of the tiles each is.

    Each is at most ``most_times`` as large as the one before.
    """
    larger = max(1.0, n_tiles / FIRST_TILES)
    steps = ceil(log(larger) / log(most_times))
    for step in range(steps, 0, -1):
        size = max(1, int(n_tiles / larger ** (step / steps)))
        yield Tiles(0, size, n_tiles // size), size / n_tiles
    yield Tiles(0, n_tiles), 1.0
