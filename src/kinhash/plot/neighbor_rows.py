"""Drawing of queries and their neighbors: relevant ones framed, others crossed out, with distances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.pictures import pixels
from ..index import Neighbors, number
from ..index import marks as every_mark
from .axes import FAINT, INK, KIN, STRANGER, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["neighbors"]

ROW, HEAD, LEFT = 1.24, 0.5, 1.45  # in cells: a row, the line of places, the column of queries
SIDE, EDGE = 0.86, 0.07  # of a picture in its cell
MOST_QUERIES, MOST_PLACES, MOST_LETTERS = 8, 10, 10


def neighbors(
    found: Neighbors,
    pictures: Any = None,
    *,
    queries: Any = None,
    kin: Any = None,
    rows: Sequence[int] | None = None,
    places: Iterable[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw queries with what they find, nearest first, and the distance below each.

    Parameters
    ----------
    found : what `HammingIndex.search` returned.
    pictures : the picture of each id, as an array (n, height, width[, 3]) or a mapping; bytes are shown as
        they are (0 is black), other numbers as ink. Without it the ids themselves are written.
    queries : pictures of the queries, in their order; they get a column of their own.
    kin : for each neighbor, whether it is kin, in the shape of ``found.ids``: kin get a green frame,
        strangers a red one and a cross.
    rows : numbers of the queries to show; the first eight by default.
    places : which neighbors to show, 1 is the nearest; the first ten by default.
    ax : the matplotlib axes to draw on; by default those of a new figure.

    Returns
    -------
    axes : the axes, for a title or a file: ``axes.figure.savefig("found.png")``.

    Examples
    --------
    >>> from kinhash import HammingIndex, pack_bits
    >>> index = HammingIndex.from_codes(pack_bits(np.eye(8)))
    >>> axes = neighbors(index.search(pack_bits(np.eye(8)[:2]), k=3))
    >>> [text.get_text() for text in axes.texts][:3]
    ['no. 1', '2', '3']
    """
    rows = range(min(len(found), MOST_QUERIES)) if rows is None else rows
    longest = max((len(found[row].ids) for row in rows), default=0)
    shown = [place for place in (range(1, MOST_PLACES + 1) if places is None else places) if place <= longest]
    marks = every_mark(found, kin)
    left = 0.0 if queries is None else LEFT
    width, height = left + max(len(shown), 1), HEAD + len(rows) * ROW
    axes = axes_or_new(ax, 0.8 * width, 0.8 * height)
    if queries is not None:
        _write(axes, 0.5, HEAD / 2, "query", 9)
    for column, place in enumerate(shown):
        _write(axes, left + column + 0.5, HEAD / 2, f"no. {place}" if column == 0 else str(place), 9)
    for line, row in enumerate(rows):
        y = HEAD + line * ROW
        if queries is not None:
            _cell(axes, 0.0, y, queries[row], INK)
        one = found[row]
        for column, place in enumerate(shown):
            if place > len(one.ids):
                continue
            own, x = one.ids[place - 1], left + column
            mark = None if marks is None else bool(marks[row][place - 1])
            color = FAINT if mark is None else KIN if mark else STRANGER
            _cell(axes, x, y, own if pictures is None else pictures[own], color, crossed=mark is False)
            _write(axes, x + 0.5, y + 1.02, number(one.distances[place - 1]), 7.5)
    axes.set(xlim=(-0.05, width + 0.05), ylim=(height, 0), aspect="equal")
    axes.axis("off")
    return axes


def _cell(axes: Axes, x: float, y: float, shown: Any, color: str, crossed: bool = False) -> None:
    """Draw a picture, or an id, in a frame; crossed out if it is not relevant."""
    left, right, top, bottom = x + EDGE, x + EDGE + SIDE, y, y + SIDE
    if np.ndim(shown) >= 2:
        axes.imshow(
            pixels(shown), cmap="gray", vmin=0, vmax=255, extent=(left, right, bottom, top),
            interpolation="bicubic", zorder=1,
        )  # fmt: skip
    else:
        text = str(shown)
        text = text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"
        _write(axes, x + 0.5, y + SIDE / 2, text, 10 if len(text) < 6 else 6.5)
    width = 1 if color == FAINT else 2
    frame = [left, right, right, left, left], [top, top, bottom, bottom, top]
    axes.plot(*frame, color=color, lw=width, zorder=2)
    if crossed:
        axes.plot([left, right], [top, bottom], color=color, lw=1.6, zorder=3)
        axes.plot([left, right], [bottom, top], color=color, lw=1.6, zorder=3)


def _write(axes: Axes, x: float, y: float, text: str, size: float) -> None:
    axes.text(x, y, text, ha="center", va="center", fontsize=size, color=INK, parse_math=False)
