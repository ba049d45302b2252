"""mAP against bits, ours with intervals, the others beside it. Readable without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import isotonic_regression

from ._axes import FAINT, INK, axes_or_new, plain_frame

if TYPE_CHECKING:
    from ..advice import Advice, Figure

__all__ = ["advice", "apart"]

OURS, LEARNED = "EnergyHasher", "EnergyHasher, learned"
# Colour, marker, dashes, width: every line differs from the others in more than its colour.
STYLES: dict[str, tuple[str, str, str, float]] = {
    LEARNED: ("#0b6e4f", "^", "--", 1.8),
    OURS: ("#0b6e4f", "o", "-", 2.6),
    "ITQ": ("#b45309", "s", "-", 1.4),
    "LSH": ("#7c3aed", "D", "-.", 1.4),
    "sign bits": ("#be185d", "v", ":", 1.6),
}
GAP = 0.038  # mAP: names at the right edge keep at least this apart


def advice(advice: Advice, *, ax: Any = None) -> Any:
    """Draw an advice: mAP against bits with 95 % intervals, the recommended length marked.

    Parameters
    ----------
    advice : what `kinhash.advise` answered.
    ax : the matplotlib axes to draw on; by default those of a new figure.

    Returns
    -------
    axes : the axes.

    Examples
    --------
    >>> import kinhash
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> axes = advice(kinhash.advise(X[:300], y[:300], bits=(8, 16), n_folds=2, random_state=0))
    >>> axes.get_ylabel()
    'mean average precision'
    """
    axes = axes_or_new(ax, 9.6, 6.0)
    lines = _lines(advice)
    for name, figures in lines.items():
        _line(axes, name, figures)
    names = {name: _value(figures[-1], name) for name, figures in lines.items()}
    floats = _floats(advice)
    for name, value, dashes in (
        (floats.method, floats.mapped.value, (6, 2)),
        ("chance", advice.chance.value, (1, 3)),
    ):
        axes.axhline(value, color=INK, lw=1.3, dashes=dashes, zorder=1)
        names[name] = value
    _frame(axes, advice, [figure.n_bits for figure in lines[OURS]])
    _names(axes, names, floats)
    _titles(axes, advice)
    return axes


def _floats(advice: Advice) -> Figure:
    """The search by floats, which has no bits."""
    return next(figure for figure in advice.figures if figure.n_bits is None)


def _lines(advice: Advice) -> dict[str, list[Figure]]:
    coded = [figure for figure in advice.figures if figure.n_bits is not None]
    found = {name: [figure for figure in coded if figure.method == name] for name in STYLES}
    found[LEARNED] = found[OURS]
    return {name: figures for name, figures in found.items() if figures}


def _value(figure: Figure, name: str) -> float:
    return (figure.learned if name == LEARNED and figure.learned else figure.mapped).value


def _line(axes: Any, name: str, figures: list[Figure]) -> None:
    """A line with the interval of every point; ours also as a band."""
    color, marker, dashes, width = STYLES[name]
    found = [figure.learned if name == LEARNED and figure.learned else figure.mapped for figure in figures]
    x, y = [figure.n_bits for figure in figures], [one.value for one in found]
    below, above = [one.low for one in found], [one.high for one in found]
    spans = [
        [v - lo for v, lo in zip(y, below, strict=True)],
        [hi - v for v, hi in zip(y, above, strict=True)],
    ]
    ours = name == OURS
    axes.errorbar(
        x, y, yerr=spans, color=color, marker=marker, linestyle=dashes, lw=width, ms=7 if ours else 5.5,
        capsize=3, elinewidth=1.1, markerfacecolor=color if ours else "white", zorder=4 if ours else 3,
    )  # fmt: skip
    if ours:
        axes.fill_between(x, below, above, color=color, alpha=0.15, lw=0, zorder=2)


def _frame(axes: Any, advice: Advice, lengths: list[Any]) -> None:
    """Lengths evenly apart, their bytes below, and the recommended one marked."""
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log", base=2)
    axes.set_xlim(lengths[0] / 1.25, lengths[-1] * 1.15)
    bytes_of = {figure.n_bits: figure.bytes_per_item for figure in advice.figures}
    axes.set_xticks(lengths, [f"{n_bits}\n{bytes_of[n_bits]} B" for n_bits in lengths])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("bits, and bytes per item", color=INK)
    axes.set_ylabel("mean average precision", color=INK)
    plain_frame(axes)
    answer = advice.recommendation
    if answer.n_bits is not None and answer.method is not None:
        value = advice.figure(answer.method, answer.n_bits).mapped.value
        axes.plot([answer.n_bits], [value], "o", ms=17, mfc="none", mec=INK, mew=1.6, zorder=5)
        axes.plot([answer.n_bits] * 2, [0, value - 0.03], color=INK, lw=0.9, ls=(0, (2, 3)), zorder=1)
        axes.text(answer.n_bits, 0.015, " recommended", ha="left", va="bottom", fontsize=9, color=INK)


def _names(axes: Any, names: dict[str, float], floats: Figure) -> None:
    """Names at the right edge, pushed apart as little as possible where lines end close together."""
    ordered = sorted(names, key=lambda name: names[name])
    shown = {OURS: f"{OURS}, mapped", floats.method: f"{floats.method}, {floats.bytes_per_item:,} B"}
    edge = axes.get_yaxis_transform()  # x in shares of the axes, y in mAP
    for name, place in zip(ordered, apart([names[name] for name in ordered]), strict=True):
        color, weight = STYLES.get(name, (INK,))[0], "bold" if name == OURS else "normal"
        axes.plot(
            [1.003, 1.022], [names[name], place], transform=edge, clip_on=False, color="#9ca3af", lw=0.8
        )
        axes.text(
            1.028,
            place,
            shown.get(name, name),
            transform=edge,
            va="center",
            fontsize=9.5,
            color=color,
            weight=weight,
        )


def apart(values: list[float]) -> list[float]:
    """The places nearest to these ascending values (least squares) that keep `GAP` between neighbours.

    With ``place − number · GAP`` in place of places, "far enough apart" is "not descending".
    """
    steps = GAP * np.arange(len(values))
    places: list[float] = (isotonic_regression(np.array(values) - steps).x + steps).tolist()
    return places


def _titles(axes: Any, advice: Advice) -> None:
    answer, facts = advice.recommendation, advice.measurement
    title = "The labels look random: no code can be recommended"
    if answer.method is not None and answer.n_bits is not None:
        size = advice.figure(answer.method, answer.n_bits).bytes_per_item
        size_text = f"{size} byte{'' if size == 1 else 's'} per item"
        title = f"{answer.n_bits} bits of {answer.method} ({size_text}) are enough"
    axes.set_title(title, loc="left", fontsize=13, weight="bold", color=INK, pad=26)
    used = f"{facts.rows_used:,} of {facts.rows:,}" if facts.rows_used < facts.rows else f"{facts.rows:,}"
    below = (
        f"{used} rows, {facts.labels:,} {facts.kind}; {facts.queries:,} queries that no fit saw; "
        f"95 % intervals; a loss of {facts.tolerance:g} counts as none"
    )
    foot = (
        "mapped: rows no fit saw search each other.  "
        "learned: they search the rows of the fit, coded by their labels."
    )
    for place, offset, text in ((1, (0, 10), below), (0, (0, -56), foot)):
        axes.annotate(
            text, (0, place), xycoords="axes fraction", xytext=offset, textcoords="offset points",
            fontsize=9, color=FAINT,
        )  # fmt: skip
