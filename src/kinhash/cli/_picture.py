"""Queries with rows along their ranking: kin framed, strangers crossed, distances written."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._files import replace_file
from ..codes import Codes
from ..errors import MissingExtra
from ..index import HammingIndex

__all__ = ["Panel", "Pictures", "draw_neighbours"]

PLACES = (1, 2, 3, 4, 40, 80, 120)  # the nearest kin, and kin that look less and less like the query
KIN, STRANGER, INK = "#1a7f5a", "#d1344b", "#22262e"
ROW, GAP, TOP, LEFT = 1.22, 0.7, 1.5, 1.6  # in cells: a row, between panels, headings, queries
SIDE = 0.86  # of a picture in its cell

Array = npt.NDArray[Any]


class Pictures(NamedTuple):
    """Pictures (n, height, width) and their classes (n,)."""

    shapes: Array
    classes: npt.NDArray[np.int64]


class Panel(NamedTuple):
    """One way to search: its name, and the codes of the queries and of the database."""

    title: str
    queries: Codes
    database: Codes


def draw_neighbours(panels: list[Panel], queries: Pictures, database: Pictures, output: str) -> None:
    """Draw and save, all or nothing. The order is exact: distance, then row number.

    Shown are the first query of every second class, and the query the first panel does worst on.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra.of("matplotlib", "plot") from None

    places = np.array([place for place in PLACES if place <= len(database.classes)])
    found = [HammingIndex.from_codes(p.database).search(p.queries, int(places[-1])) for p in panels]
    kin = [database.classes[one.ids] == queries.classes[:, None] for one in found]
    rows = _shown(queries.classes, kin[0])
    width, height = LEFT + len(panels) * (len(places) + GAP) - GAP, TOP + len(rows) * ROW + 0.1
    figure = Figure(figsize=(width * 0.62, height * 0.62), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-0.1, width + 0.1), ylim=(height, 0), aspect="equal")
    axes.axis("off")

    def write(x: float, y: float, text: str, size: float, **style: Any) -> None:
        axes.text(x, y, text, ha="center", va="center", fontsize=size, color=INK, **style)

    write(0.5, TOP - 0.3, "query", 9)
    for line, row in enumerate(rows):
        _cell(axes, 0, TOP + line * ROW, queries.shapes[row], INK)
    write(0.5, TOP + len(rows) * ROW - ROW + 1.01, f"worst of {len(queries.classes)}", 7.5, style="italic")
    for number, panel in enumerate(panels):
        left = LEFT + number * (len(places) + GAP)
        middle = left + len(places) / 2
        share = f"{kin[number].mean():.0%} of the first {places[-1]} are kin, over {len(kin[number])} queries"
        write(middle, 0.28, panel.title, 12, weight="bold")
        write(middle, 0.72, share, 9.5)
        for column, place in enumerate(places.tolist()):
            write(left + column + 0.5, TOP - 0.3, f"no. {place}" if column == 0 else str(place), 9)
            for line, row in enumerate(rows):
                x, y, good = left + column, TOP + line * ROW, bool(kin[number][row, place - 1])
                neighbour = database.shapes[found[number].ids[row, place - 1]]
                _cell(axes, x, y, neighbour, KIN if good else STRANGER, crossed=not good)
                write(x + 0.5, y + 1.01, str(found[number].distances[row, place - 1]), 7.5)
    _save(figure, output)


def _shown(classes: npt.NDArray[np.int64], kin: Array) -> list[int]:
    """The first query of every second class, then the one with the fewest kin found."""
    firsts = [int(np.flatnonzero(classes == kind)[0]) for kind in np.unique(classes)[::2]]
    return [*firsts, int(kin.sum(axis=1).argmin())]


def _cell(axes: Any, x: float, y: float, picture: Array, color: str, crossed: bool = False) -> None:
    """A picture in a frame, crossed out if it is a stranger."""
    left, right, top, bottom = x + 0.07, x + 0.07 + SIDE, y, y + SIDE
    axes.imshow(picture, cmap="gray_r", extent=(left, right, bottom, top), interpolation="bicubic", zorder=1)
    axes.plot([left, right, right, left, left], [top, top, bottom, bottom, top], color=color, lw=2, zorder=2)
    if crossed:
        axes.plot([left, right], [top, bottom], color=color, lw=1.6, zorder=3)
        axes.plot([left, right], [bottom, top], color=color, lw=1.6, zorder=3)


def _save(figure: Any, output: str) -> None:
    """A PNG of few colours: half the bytes, and no eye can tell."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=110)
    content = io.BytesIO()
    Image.open(drawn).convert("RGB").quantize(96).save(content, format="png", optimize=True)
    replace_file(output, [content.getbuffer()])
