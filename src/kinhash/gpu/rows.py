"""Codes on a card: words in planes, a mask beside them, tiles that a kernel looks at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["ROW", "SHIFT", "Notes", "Rows", "Tiles", "samples"]

SHIFT = 40  # a key is distance << SHIFT | row
ROW = (1 << SHIFT) - 1

FIRST_TILES = 2  # of the first sample
MOST_TIMES = 1000  # larger the next sample is at most


@dataclass(frozen=True, eq=False)
class Rows:
    """Words (W, stride) of ``n_rows`` codes, the stride a whole number of tiles; arrays of a card.

    ``mask`` has a bit for each row, 32 to a word, the first row in the lowest bit; None keeps all rows.
    """

    words: Any
    n_rows: int
    mask: Any = None


@dataclass(frozen=True)
class Tiles:
    """The tiles ``first``, ``first + step``, ... of some rows, ``count`` of them."""

    first: int
    count: int
    step: int = 1


@dataclass(frozen=True, eq=False)
class Notes:
    """Keys (q, cap) of rows within the limits, in any order, and how many (q,) each query would have had."""

    counts: Any
    keys: Any

    @property
    def cap(self) -> int:
        """Keys a query has room for."""
        return int(self.keys.shape[1])


def samples(n_tiles: int) -> Iterator[tuple[Tiles, float]]:
    """Larger and larger samples, evenly spread, up to all tiles; and what share of the tiles each is."""
    sizes = [n_tiles]
    while sizes[-1] > FIRST_TILES:
        steps = 1  # so many more samples, each as many times larger than the one before
        while (sizes[-1] / FIRST_TILES) ** (1 / steps) > MOST_TIMES:
            steps += 1
        smaller = int(sizes[-1] / (sizes[-1] / FIRST_TILES) ** (1 / steps))
        sizes.append(max(FIRST_TILES, min(smaller, sizes[-1] - 1)))
    for size in reversed(sizes):
        yield Tiles(0, size, n_tiles // size), size / n_tiles
