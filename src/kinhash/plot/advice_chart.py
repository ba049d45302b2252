"""mAP against bits, ours with intervals, the others beside it. Readable without color."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression

from ..codes import n_bytes
from ..metrics import CLASSIFIER, COSINE, ITQ, LEARNED, LSH, MAPPED, RANDOM
from .axes import FAINT, INK, axes_or_new, plain_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..advice import Advice
    from ..metrics import Interval

__all__ = ["advice", "apart"]

LATER = "codes, later rows"
# The line of a comparison and its measure; then color, marker, dashes and width.
CURVES: dict[str, tuple[str, str]] = {
    LEARNED: (LEARNED, "mAP"), LATER: (MAPPED, "later"), ITQ: (ITQ, "mAP"), LSH: (LSH, "mAP"),
}  # fmt: skip
STYLES: dict[str, tuple[str, str, str, float]] = {
    LEARNED: ("#0b6e4f", "o", "-", 2.6),
    LATER: ("#0b6e4f", "^", "--", 1.8),
    ITQ: ("#b45309", "s", "-", 1.4),
    LSH: ("#7c3aed", "D", "-.", 1.4),
}
GAP = 0.038  # mAP: names at the right edge keep at least this apart


def advice(advice: Advice, *, ax: Axes | None = None) -> Axes:
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
    >>> axes = advice(kinhash.advise(X[:300], y[:300], bits=(8, 16), n_splits=1, random_state=0))
    >>> axes.get_ylabel()
    'mean average precision'
    """
    axes = axes_or_new(ax, 9.6, 6.0)
    lengths = sorted(advice.comparisons)
    first = advice.at(lengths[0])
    names = {}
    for name, (line, measure) in CURVES.items():
        if line in first:
            found = [advice.at(n_bits).line(line).interval(measure) for n_bits in lengths]
            _line(axes, name, lengths, found)
            names[name] = found[-1].value
    for name, dashes in ((COSINE, (6, 2)), (CLASSIFIER, (3, 1, 1, 1)), (RANDOM, (1, 3))):
        size, score = first.line(name).bytes_per_item, first.score(name)
        names[f"{name}, {size:,} B" if size else name] = score
        axes.axhline(score, color=INK, lw=1.3, dashes=dashes, zorder=1)
    _frame(axes, advice, lengths)
    _names(axes, names)
    _titles(axes, advice)
    return axes


def _line(axes: Axes, name: str, lengths: list[int], found: list[Interval]) -> None:
    """A line with the interval of every point; ours also as a band."""
    color, marker, dashes, width = STYLES[name]
    y, below, above = ([getattr(one, end) for one in found] for end in ("value", "low", "high"))
    spans = [np.subtract(y, below), np.subtract(above, y)]
    ours = name == LEARNED
    axes.errorbar(
        lengths, y, yerr=spans, color=color, marker=marker, linestyle=dashes, lw=width, ms=7 if ours else 5.5,
        capsize=3, elinewidth=1.1, markerfacecolor=color if ours else "white", zorder=4 if ours else 3,
    )  # fmt: skip
    if ours:
        axes.fill_between(lengths, below, above, color=color, alpha=0.15, lw=0, zorder=2)


def _frame(axes: Axes, advice: Advice, lengths: list[int]) -> None:
    """Lengths evenly apart, their bytes below, and the recommended one marked."""
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log", base=2)
    axes.set_xlim(lengths[0] / 1.25, lengths[-1] * 1.15)
    axes.set_xticks(lengths, [f"{n_bits}\n{n_bytes(n_bits)} B" for n_bits in lengths])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("bits, and bytes per item", color=INK)
    axes.set_ylabel("mean average precision", color=INK)
    plain_frame(axes)
    answer = advice.recommendation
    if answer.n_bits is not None and answer.method is not None:
        value = advice.at(answer.n_bits).score(answer.method if answer.method in CURVES else LEARNED)
        axes.plot([answer.n_bits], [value], "o", ms=17, mfc="none", mec=INK, mew=1.6, zorder=5)
        axes.plot([answer.n_bits] * 2, [0, value - 0.03], color=INK, lw=0.9, ls=(0, (2, 3)), zorder=1)
        axes.text(answer.n_bits, 0.015, " recommended", ha="left", va="bottom", fontsize=9, color=INK)


def _names(axes: Axes, names: dict[str, float]) -> None:
    """Names at the right edge, pushed apart as little as possible where lines end close together."""
    ordered = sorted(names, key=lambda name: names[name])
    edge = axes.get_yaxis_transform()  # x in shares of the axes, y in mAP
    for name, place in zip(ordered, apart([names[name] for name in ordered]), strict=True):
        color, weight = STYLES.get(name, (INK,))[0], "bold" if name == LEARNED else "normal"
        axes.plot(
            [1.003, 1.022], [names[name], place], transform=edge, clip_on=False, color="#9ca3af", lw=0.8
        )
        axes.text(
            1.028,
            place,
            name,
            transform=edge,
            va="center",
            fontsize=9.5,
            color=color,
            weight=weight,
        )


def apart(values: list[float]) -> list[float]:
    """The places nearest to these ascending values (least squares) that keep `GAP` between neighbors.

    With ``place − number · GAP`` in place of places, "far enough apart" is "not descending".
    """
    steps = GAP * np.arange(len(values))
    return (isotonic_regression(np.array(values) - steps).x + steps).tolist()


def _titles(axes: Axes, advice: Advice) -> None:
    answer, facts = advice.recommendation, advice.measurement
    title = "The labels look random: no code can be recommended"
    if answer.method is not None and answer.n_bits is not None:
        size = n_bytes(answer.n_bits)
        size_text = f"{size} byte{'' if size == 1 else 's'} per item"
        title = f"{answer.n_bits} bits of {answer.method} ({size_text}) are enough"
    axes.set_title(title, loc="left", fontsize=13, weight="bold", color=INK, pad=26)
    used = f"{facts.rows_used:,} of {facts.rows:,}" if facts.rows_used < facts.rows else f"{facts.rows:,}"
    below = (
        f"{used} rows, {facts.labels:,} {facts.kind}; {facts.queries:,} queries that no fit saw; "
        f"95 % intervals; a loss of {facts.tolerance:g} counts as none"
    )
    foot = "Queries search rows of the fit, whose codes come from labels; later rows search each other."
    for place, offset, text in ((1, (0, 10), below), (0, (0, -56), foot)):
        axes.annotate(
            text, (0, place), xycoords="axes fraction", xytext=offset, textcoords="offset points",
            fontsize=9, color=FAINT,
        )  # fmt: skip
