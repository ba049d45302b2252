"""What each bit says: how often it is one, over all rows or label by label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._internal.types import Ints, LabelsLike
from ..codes import Codes, CodesLike, as_codes
from ..errors import InvalidInput
from ..supervision import Labels, read_labels
from .axes import FAINT, INK, KIN, LOOKS, axes_or_new, plain_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bits"]

MOST_LABELS, MOST_LETTERS = 30, 24


def bits(
    codes: CodesLike, labels: LabelsLike = None, *, n_bits: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often each bit is one; with labels, among the rows of each label.

    A bit that is one in half of the rows says most, and one that never changes says nothing. Label by label,
    kin bits are near 0 or 1 in every line, and alike bits are mixed: they tell rows of one label apart.

    Parameters
    ----------
    codes : codes of some rows, such as ``hasher.codes_`` or ``hasher.encode(X)``.
    labels : classes, tag sets or an indicator matrix of those rows; the thirty most frequent are shown.
    n_bits : number of bits, where codes are bare bytes; 8 per byte by default.
    ax : the matplotlib axes to draw on; by default those of a new figure.

    Returns
    -------
    axes : the axes.

    Examples
    --------
    >>> from kinhash import pack_bits
    >>> axes = bits(pack_bits([[0, 0], [0, 1], [1, 0], [1, 1]]), n_bits=2)
    >>> [float(bar.get_height()) for bar in axes.patches]
    [0.5, 0.5]
    """
    codes = as_codes(codes, n_bits)
    if len(codes) == 0:
        raise InvalidInput("There are no codes", "at least one code", "Pass the codes of your rows")
    if labels is None:
        axes = axes_or_new(ax, max(5.0, 0.11 * codes.n_bits), 2.8)
        _balance(axes, codes)
    else:
        known = read_labels(labels)
        if len(known) != len(codes):
            raise InvalidInput(
                f"{len(known)} labels came with {len(codes)} codes",
                "one label per code",
                "Pass codes and labels of the same rows",
            )
        indicator = known.indicator()
        most = np.argsort(-np.asarray(indicator.sum(axis=0)).ravel(), kind="stable")[:MOST_LABELS]
        axes = axes_or_new(ax, max(5.6, 0.125 * codes.n_bits), 1.4 + 0.24 * len(most))
        _by_label(axes, codes, known, np.sort(most))
    _fields(axes, codes)
    axes.set_xlabel("bit", color=INK)
    return axes


def _balance(axes: Axes, codes: Codes) -> None:
    kin = codes.fields.kin(codes.n_bits)
    colors = [KIN] * kin + [LOOKS] * codes.fields.alike
    axes.bar(np.arange(codes.n_bits), codes.bits().mean(axis=0), width=0.8, color=colors)
    axes.axhline(0.5, color=INK, lw=0.9, ls=(0, (4, 3)))
    axes.set(xlim=(-0.6, codes.n_bits - 0.4), ylim=(0, 1))
    axes.set_ylabel("share of ones", color=INK)
    plain_frame(axes)


def _by_label(axes: Axes, codes: Codes, labels: Labels, shown: Ints) -> None:
    indicator = labels.indicator()[:, shown].astype(np.float64)
    counts = np.asarray(indicator.sum(axis=0)).ravel()
    shares = np.asarray(indicator.T @ codes.bits().astype(np.float64)) / np.maximum(counts, 1)[:, None]
    image = axes.imshow(shares, cmap="RdBu_r", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    names = [str(labels.names[label]) for label in shown]
    names = [name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…" for name in names]
    axes.set_yticks(np.arange(len(shown)), names, parse_math=False)
    left = f" ({len(shown)} of {len(labels.names):,})" if len(shown) < len(labels.names) else ""
    axes.set_ylabel(f"{'tag' if labels.is_tags else 'class'}{left}", color=INK)
    axes.tick_params(colors=INK, length=0)
    bar = axes.figure.colorbar(image, ax=axes, pad=0.015, fraction=0.05, ticks=[0, 0.5, 1])
    bar.set_label("share of ones", color=INK)
    bar.outline.set_visible(False)


def _fields(axes: Axes, codes: Codes) -> None:
    """A line between kin and alike bits, and their names above."""
    fields, n_bits = codes.fields, codes.n_bits
    kin, top = fields.kin(n_bits), axes.get_xaxis_transform()
    if kin and fields.alike:
        axes.axvline(kin - 0.5, color=INK, lw=1.2)
    for name, place, side, size, weight in (
        ("kin", -0.5, "left", kin, fields.kin_weight),
        ("alike", n_bits - 0.5, "right", fields.alike, fields.alike_weight),
    ):
        if size and fields.alike:
            times = f", each counts {weight}" if weight > 1 else ""
            text = f"{size} {name} bits{times}"
            axes.text(place, 1.02, text, transform=top, ha=side, va="bottom", fontsize=9, color=FAINT)
