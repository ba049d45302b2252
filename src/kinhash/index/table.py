"""Neighbors as a table, for notebooks and terminals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.html import document, escape, picture, table
from .._internal.pictures import pixels, png, png_address
from .._internal.types import Bools
from ..errors import InvalidInput

if TYPE_CHECKING:
    from .neighbors import Neighbors

__all__ = ["NeighborsTable", "marks", "number"]

MOST_QUERIES, MOST_PLACES, MOST_LETTERS = 8, 10, 40
SIDE = "width:44px;height:44px;object-fit:contain;display:block;margin:0 auto 2px;background:white;"
FRAMES = {True: "outline:2px solid #1a7f5a", False: "outline:2px solid #d1344b", None: ""}
WORDS = {True: "kin", False: "stranger", None: ""}


@dataclass(frozen=True, eq=False)
class NeighborsTable:
    """The first queries with their first neighbors: ids, distances, and pictures where given."""

    found: Neighbors
    pictures: Any = None
    queries: Any = None
    kin: Any = None

    def __post_init__(self) -> None:
        marks(self.found, self.kin)

    def _repr_html_(self) -> str:
        found, shown = self.found, min(len(self.found), MOST_QUERIES)
        each = [found[row] for row in range(shown)]
        width = min(max((len(one.ids) for one in each), default=0), MOST_PLACES)
        head = ["query", *(f"no. {place + 1}" for place in range(width))]
        lines = [[self._query(row), *self._places(row, width)] for row in range(shown)]
        most = max((len(one.ids) for one in each), default=0)
        notes = [f"{len(found) - shown:,} more queries"] * (len(found) > shown)
        notes += [f"up to {most:,} neighbors each"] * (most > width)
        below = f"<p><i>{'; '.join(notes)}</i></p>" if notes else ""
        return document(table(lines, head, "center"), below)

    def __repr__(self) -> str:
        lines = []
        for row in range(min(len(self.found), MOST_QUERIES)):
            one = self.found[row]
            pairs = [f"{own} ({number(far)})" for own, far in zip(one.ids, one.distances, strict=True)]
            more = ", …" if len(pairs) > MOST_PLACES else ""
            lines.append(f"query {row}: {', '.join(pairs[:MOST_PLACES])}{more}")
        return "\n".join([repr(self.found), *lines])

    def _query(self, row: int) -> str:
        if self.queries is None:
            return str(row)
        return _image(self.queries[row], f"query {row}", "") + str(row)

    def _places(self, row: int, width: int) -> list[str]:
        """The cells of a query: picture, id, distance, and whether it is kin."""
        one = self.found[row]
        every = marks(self.found, self.kin)
        kin = [None] * len(one.ids) if every is None else every[row].tolist()
        cells = []
        for own, far, mark in list(zip(one.ids.tolist(), one.distances, kin, strict=True))[:width]:
            text = str(own) if len(str(own)) <= MOST_LETTERS else str(own)[: MOST_LETTERS - 1] + "…"
            image = "" if self.pictures is None else _image(self.pictures[own], f"row {own}", FRAMES[mark])
            word = f" · {WORDS[mark]}" if mark is not None else ""
            cells.append(f"{image}<b>{escape(text)}</b><br><small>{number(far)}{word}</small>")
        return cells + [""] * (width - len(cells))


def marks(found: Neighbors, kin: Any) -> list[Bools] | None:
    """Whether each neighbor is relevant, query by query; None if unknown."""
    if kin is None:
        return None
    kin = np.asarray(kin, bool)
    if kin.shape != found.ids.shape:
        raise InvalidInput(
            f"kin has the shape {kin.shape}, and the ids have {found.ids.shape}",
            "True or False for each neighbor",
            "Compare labels, as in y[found.ids] == y_queries[:, None]",
        )
    if found.splits is not None:
        return np.split(kin, found.splits[1:-1])
    return list(np.atleast_2d(kin))


def _image(shown: Any, words: str, frame: str) -> str:
    return picture(png_address(png(pixels(shown))), words, SIDE + frame)


def number(distance: float) -> str:
    """Whole numbers as they are, margins with three digits."""
    return str(int(distance)) if np.issubdtype(np.asarray(distance).dtype, np.integer) else f"{distance:.3g}"
