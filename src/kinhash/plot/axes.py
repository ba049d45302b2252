"""Axes to draw on, given or new, and the colors all charts share."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from .._internal.files import replace_file
from ..errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "FAINT", "GRID", "INK", "KIN", "LOOKS", "STRANGER", "axes_or_new", "bare_page",
    "plain_frame", "png_of", "save_png",
]  # fmt: skip

INK, FAINT, GRID = "#22262e", "#6b7280", "#e5e7eb"
KIN, STRANGER, LOOKS = "#1a7f5a", "#d1344b", "#3b5ba5"


def axes_or_new(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes given, or those of a new figure of that size in inches, which a notebook shows."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra.of("matplotlib", "plot") from None
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def bare_page(width: float, height: float) -> Figure:
    """A white figure that no window and no notebook knows of, for files and inline pictures."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra.of("matplotlib", "plot") from None
    page = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    FigureCanvasAgg(page)
    return page


def png_of(page: Figure, dpi: int = 120) -> bytes:
    """The figure as PNG."""
    content = io.BytesIO()
    page.savefig(content, format="png", dpi=dpi)
    return content.getvalue()


def save_png(page: Figure, path: str | os.PathLike[str], dpi: int = 120) -> None:
    """Save a PNG with a palette of few colors, which halves its size."""
    from PIL import Image

    content = io.BytesIO()
    Image.open(io.BytesIO(png_of(page, dpi))).convert("RGB").quantize(128).save(content, "png", optimize=True)
    # A copy: with Python 3.12.1, a buffer of BytesIO that is left in a traceback ends the process.
    replace_file(path, [memoryview(content.getvalue())])


def plain_frame(axes: Axes) -> None:
    """Two axes, faint lines across, dark text."""
    axes.grid(axis="y", color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, length=3)
    axes.spines[["top", "right"]].set_visible(False)
