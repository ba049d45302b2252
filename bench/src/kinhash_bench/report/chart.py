"""Charts as pictures (SVG) inside the page: the same bytes everywhere, and readable without color.

Every line has a marker and dashes beside its color, and the picture says in words what it shows.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

from .result_table import slug

__all__ = ["MOST", "Axis", "ChartLine", "figure", "line_chart", "picture"]

DASHES = ("-", "--", ":", "-.", (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 4)), (0, (5, 5)))
MARKERS = "os^DxPv+"
MOST = len(MARKERS)
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "kinhash",
    "text.parse_math": False,  # names of methods may hold a $
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True)
class Axis:
    """What an axis shows, whether in powers, and then its ticks if not those that come by themselves."""

    label: str
    log: bool = False
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True)
class ChartLine:
    """Points of one series, x increasing or not, with a bar of half-width ``spread`` where there is one."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float | None, ...] = ()


def picture(width: float, height: float) -> tuple[Any, Any]:
    """An empty figure of this size in inches, and its axes."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height))
    return made, made.subplots()


def figure(name: str, caption: str, words: str, made: Any, kind: str = "chart") -> str:
    """A ``figure`` with the picture, what it shows in words, and its caption."""
    memory = io.BytesIO()
    made.savefig(memory, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None})
    source = f"data:image/svg+xml;base64,{base64.b64encode(memory.getvalue()).decode()}"
    return (
        f'<figure class="{kind}" id="{slug(name)}"><img src="{source}" alt="{escape(words)}"/>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


@lru_cache(512)  # drawing one takes as long as the rest of a small report
def line_chart(name: str, caption: str, lines: tuple[ChartLine, ...], x: Axis, y: Axis) -> str:
    """A ``figure`` with the chart, its legend and its caption. At most eight lines."""
    from matplotlib import rc_context
    from matplotlib.ticker import FixedLocator, LogLocator

    if len(lines) > MOST:
        raise ValueError(f"{len(lines)} lines cannot be distinguished; at most {MOST} can")
    with rc_context(STYLE):
        made, axes = picture(5, 3.8)
        for number, line in enumerate(lines):
            axes.errorbar(
                line.x,
                line.y,
                [half or 0.0 for half in line.spread] or None,
                label=line.label,
                color=f"C{number}",
                marker=MARKERS[number],
                linestyle=DASHES[number],
                markevery=max(1, len(line.x) // 10),  # of a long curve, some points
                markersize=5,
            )
        if x.log:
            axes.set_xscale("log")
            ticks = FixedLocator(x.ticks) if x.ticks else LogLocator(subs=(1, 2, 5))
            axes.xaxis.set_major_locator(ticks)
            axes.xaxis.set_major_formatter("{x:g}")
            axes.minorticks_off()
        axes.set(xlabel=x.label, ylabel=y.label)
        axes.grid(axis="y", alpha=0.3)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
        words = f"{caption}. {y.label} against {x.label}: " + "; ".join(map(_in_words, lines)) + "."
        return figure(name, caption, words, made)


def _in_words(line: ChartLine) -> str:
    return f"{line.label} from {line.y[0]:.4g} at {line.x[0]:.4g} to {line.y[-1]:.4g} at {line.x[-1]:.4g}"
