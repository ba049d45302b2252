"""Line charts as SVG, written by hand: small, the same bytes everywhere, and readable without colour.

Every line has a marker, dashes and a letter at its end beside its colour; the legend repeats all four.
Ink is the colour of the text around the chart, so that it follows a dark page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .grid import slug

__all__ = ["Axis", "ChartLine", "line_chart"]

WIDTH, HEIGHT = 480, 330
LEFT, RIGHT, TOP, BOTTOM = 66, 34, 14, 56
DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2 1 2 1 2", "1 4", "6 6")
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "ring", "down", "plus")
LETTERS = "ABCDEFGH"
MOST = len(LETTERS)


@dataclass(frozen=True)
class Axis:
    """What an axis shows, whether in powers, and its ticks if not those that come by themselves."""

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


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    start: float
    end: float
    log: bool

    def __call__(self, value: float) -> float:
        low, high, at = (
            (math.log(self.low), math.log(self.high), math.log(value))
            if self.log
            else (self.low, self.high, value)
        )
        return self.start + (at - low) / ((high - low) or 1.0) * (self.end - self.start)


def line_chart(name: str, caption: str, lines: Sequence[ChartLine], x: Axis, y: Axis) -> str:
    """A ``figure`` with the chart, its legend and its caption. At most eight lines."""
    if len(lines) > MOST:
        raise ValueError(f"{len(lines)} lines cannot be told apart; at most {MOST}")
    across = _scale([v for line in lines for v in line.x], x, LEFT, WIDTH - RIGHT)
    reach = [v + s * half for line in lines for v, half in _bars(line) for s in (-1, 1)]
    up = _scale(reach, y, HEIGHT - BOTTOM, TOP)
    name = slug(name)
    words = f"{caption}. {y.label} against {x.label}: " + "; ".join(map(_in_words, lines)) + "."
    parts = [
        f'<figure class="chart" id="{name}">',
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"',
        f' aria-labelledby="{name}-t {name}-d">',
        f'<title id="{name}-t">{escape(caption)}</title>',
        f'<desc id="{name}-d">{escape(words)}</desc>',
        *_frame(across, up, x, y),
    ]
    for number, line in enumerate(lines):
        parts += _drawn(line, number, across, up)
    lettered = _ends_apart(lines, up)
    parts += _letters(lines, across, up) if lettered else []
    parts += ["</svg>", _legend(lines, lettered), f"<figcaption>{escape(caption)}</figcaption></figure>"]
    return "\n".join(parts)


def _in_words(line: ChartLine) -> str:
    return f"{line.label} from {line.y[0]:.4g} at {line.x[0]:.4g} to {line.y[-1]:.4g} at {line.x[-1]:.4g}"


def _bars(line: ChartLine) -> list[tuple[float, float]]:
    spread = line.spread or (None,) * len(line.y)
    return [(value, half or 0.0) for value, half in zip(line.y, spread, strict=True)]


def _scale(values: list[float], axis: Axis, start: float, end: float) -> _Scale:
    low, high = min([*values, *axis.ticks]), max([*values, *axis.ticks])
    if axis.log:
        return _Scale(low / 1.15, high * 1.15, start, end, True)
    room = 0.06 * (high - low) or 0.05
    return _Scale(low - room, high + room, start, end, False)


def _ticks(scale: _Scale, axis: Axis, most: int = 6) -> list[float]:
    """Round numbers within a scale: 1, 2 or 5 times a power of ten."""
    if axis.ticks:
        return list(axis.ticks)
    if axis.log:
        powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
        for leading in ((1, 2, 5), (1, 3), (1,)):
            found = [m * 10.0**p for p in powers for m in leading if scale.low <= m * 10.0**p <= scale.high]
            if len(found) <= most + 1:
                break
        return found
    step = 10.0 ** math.floor(math.log10((scale.high - scale.low) / most))
    step *= next(m for m in (1, 2, 5, 10) if (scale.high - scale.low) / (step * m) <= most)
    first = math.ceil(scale.low / step)
    return [place * step for place in range(first, math.floor(scale.high / step) + 1)]


def _frame(across: _Scale, up: _Scale, x: Axis, y: Axis) -> list[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>']
    for value in _ticks(across, x):
        at = f"{across(value):.1f}"
        parts.append(f'<path class="axis" d="M{at} {bottom}v5"/>')
        parts.append(f'<text x="{at}" y="{bottom + 21}" text-anchor="middle">{value:.6g}</text>')
    for value in _ticks(up, y):
        at = f"{up(value):.1f}"
        parts.append(f'<path class="grid" d="M{LEFT} {at}H{right}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{float(at) + 4:.1f}" text-anchor="end">{value:.6g}</text>')
    middle = (LEFT + right) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x.label)}</text>')
    height = (TOP + bottom) / 2
    turned = f'transform="rotate(-90 14 {height})"'
    parts.append(f'<text x="14" y="{height}" text-anchor="middle" {turned}>{escape(y.label)}</text>')
    return parts


def _drawn(line: ChartLine, number: int, across: _Scale, up: _Scale) -> list[str]:
    points = [(across(a), up(b)) for a, b in zip(line.x, line.y, strict=True)]
    path = "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
    dash = f' stroke-dasharray="{DASHES[number]}"' if DASHES[number] else ""
    parts = [f'<g class="line line{number}">', f'<path d="M{path}"{dash}/>']
    for (a, _), (value, half) in zip(points, _bars(line), strict=True):
        if half:
            parts.append(f'<path class="bar" d="M{a:.1f} {up(value - half):.1f}V{up(value + half):.1f}"/>')
    step = max(1, len(points) // 10)  # of a long curve, some points
    parts += [_marker(MARKERS[number], a, b) for a, b in points[::step]]
    return [*parts, "</g>"]


def _marker(shape: str, x: float, y: float, r: float = 3.6) -> str:
    if shape in ("circle", "ring"):
        return f'<circle class="{shape}" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'
    outlines = {
        "square": f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h-{2 * r}z",
        "triangle": f"M{x:.1f} {y - r * 1.2:.1f}l{r * 1.2:.2f} {r * 2.1:.2f}h-{r * 2.4:.2f}z",
        "down": f"M{x:.1f} {y + r * 1.2:.1f}l{r * 1.2:.2f} -{r * 2.1:.2f}h-{r * 2.4:.2f}z",
        "diamond": f"M{x:.1f} {y - r * 1.3:.1f}l{r * 1.3:.2f} {r * 1.3:.2f}l-{r * 1.3:.2f} {r * 1.3:.2f}"
        f"l-{r * 1.3:.2f} -{r * 1.3:.2f}z",
        "cross": f"M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}m0 -{2 * r}l-{2 * r} {2 * r}",
        "plus": f"M{x - r:.1f} {y:.1f}h{2 * r}m-{r} -{r}v{2 * r}",
    }
    kind = "open" if shape in ("cross", "plus") else "full"
    return f'<path class="{kind}" d="{outlines[shape]}"/>'


def _ends_apart(lines: Sequence[ChartLine], up: _Scale) -> bool:
    """Whether letters at the ends of lines would be beside their lines; curves that meet get none."""
    ends = [up(line.y[_last(line)]) for line in lines]
    return len(lines) == 1 or max(ends) - min(ends) > 24


def _last(line: ChartLine) -> int:
    return max(range(len(line.x)), key=lambda place: line.x[place])


def _letters(lines: Sequence[ChartLine], across: _Scale, up: _Scale, apart: float = 16) -> list[str]:
    """A letter for each line in the margin, none on another, and a thin leader from the end of its line."""
    ends = []
    for number, line in enumerate(lines):
        last = _last(line)
        ends.append((up(line.y[last]), across(line.x[last]), number))
    ends.sort()
    parts: list[str] = []
    margin = WIDTH - RIGHT + 14
    at = float(TOP) + 6
    for place, (y, x, number) in enumerate(ends):
        below = HEIGHT - BOTTOM - apart * (len(ends) - 1 - place)
        at = max(at, min(y, below))
        parts.append(f'<path class="leader" d="M{x + 5:.1f} {y:.1f}L{margin - 3:.1f} {at:.1f}"/>')
        parts.append(f'<text class="letter" x="{margin:.1f}" y="{at + 5:.1f}">{LETTERS[number]}</text>')
        at += apart
    return parts


def _legend(lines: Sequence[ChartLine], lettered: bool) -> str:
    """Samples with names, as a list that wraps on small screens."""
    items = []
    for number, line in enumerate(lines):
        dash = f' stroke-dasharray="{DASHES[number]}"' if DASHES[number] else ""
        sample = (
            f'<svg viewBox="0 0 40 12" aria-hidden="true"><g class="line line{number}">'
            f'<path d="M1 6L39 6"{dash}/>{_marker(MARKERS[number], 20, 6)}</g></svg>'
        )
        letter = f"<b>{LETTERS[number]}</b> " if lettered else ""
        items.append(f"<li>{sample}{letter}{escape(line.label)}</li>")
    return f'<ul class="legend">{"".join(items)}</ul>'
