"""Histograms of the distances of relevant and other rows, which should not overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._internal.types import Ints, LabelsLike
from ..codes import Codes, as_codes
from ..supervision import read_labels
from .axes import FAINT, INK, KIN, STRANGER, axes_or_new, plain_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["count_distances", "distances"]

MOST_QUERIES = 1000


def distances(
    query_codes: Codes | npt.ArrayLike,
    database_codes: Codes | npt.ArrayLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike,
    *,
    exclude_self: bool = False,
    n_bits: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the shares of relevant and of other rows at each distance from a query.

    Both histograms are shares that add up to one. Where they are apart, the distance separates relevant rows
    from others; the part in which they overlap is what a search gets wrong.

    Parameters
    ----------
    query_codes : codes of the queries, as `encode` returns them; of more than 1,000 that many are taken,
        evenly spaced.
    database_codes : codes of the rows that are searched.
    query_labels : classes, tag sets or an indicator matrix of the queries; rows without a label are left out.
    database_labels : those of the database.
    exclude_self : whether queries and database are the same rows, so that a row must not meet itself.
    n_bits : number of bits, where codes are bare bytes; 8 per byte by default.
    ax : the matplotlib axes to draw on; by default those of a new figure.

    Returns
    -------
    axes : the axes.

    Examples
    --------
    >>> from kinhash import pack_bits
    >>> codes = pack_bits([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> axes = distances(codes, codes, [0, 0, 1, 1], [0, 0, 1, 1], exclude_self=True, n_bits=3)
    >>> axes.get_xlabel()
    'distance (differing bits)'
    """
    queries, database = as_codes(query_codes, n_bits), as_codes(database_codes, n_bits)
    kin, strangers = count_distances(queries, database, query_labels, database_labels, exclude_self)
    axes = axes_or_new(ax, 6.4, 3.4)
    for counts, name, color, line in ((kin, "similar", KIN, "-"), (strangers, "dissimilar", STRANGER, "--")):
        shares = counts / max(counts.sum(), 1)
        edges = np.arange(len(counts) + 1) - 0.5
        axes.stairs(shares, edges, fill=True, fc=color, alpha=0.22, lw=0)
        axes.stairs(shares, edges, color=color, lw=1.6, ls=line, label=f"{name}, {counts.sum():,} pairs")
    weighted = "" if queries.fields.plain else ", each as often as it counts"
    axes.set_xlabel(f"distance (differing bits{weighted})", color=INK)
    axes.set_ylabel("share of pairs", color=INK)
    last = max(np.flatnonzero(kin + strangers), default=0)
    axes.set(xlim=(-0.5, last + 0.5), ylim=(0, None))
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), borderpad=0, ncols=2, labelcolor=INK)
    overlap = float(np.minimum(kin / max(kin.sum(), 1), strangers / max(strangers.sum(), 1)).sum())
    axes.set_title(f"overlap {overlap:.1%}", loc="right", fontsize=9, color=FAINT)
    plain_frame(axes)
    return axes


def count_distances(
    queries: Codes,
    database: Codes,
    query_labels: LabelsLike,
    database_labels: LabelsLike,
    exclude_self: bool = False,
) -> tuple[Ints, Ints]:
    """Count relevant and other pairs at each distance from 0 to the largest possible.

    Peak memory: about 40 MB.
    """
    from ..metrics import Ranking, own_rows, query_blocks, read_sides

    queries.require_same_kind(database)
    labels, own = read_labels(query_labels, len(queries)), own_rows(exclude_self, len(queries), len(database))
    asked = np.flatnonzero(labels.known)
    asked = asked[np.unique(np.linspace(0, len(asked) - 1, min(len(asked), MOST_QUERIES)).astype(np.int64))]
    sides = read_sides(
        labels[asked], database_labels, len(asked), len(database), None if own is None else own[asked]
    )
    known = database if sides.known_rows is None else database[sides.known_rows]
    kin, strangers = np.zeros((2, queries.max_distance + 1), np.int64)
    for _, groups in query_blocks(Ranking(queries[asked], known, sides)):
        kin += groups.r.sum(axis=0)
        strangers += (groups.n - groups.r).sum(axis=0)
    return kin, strangers
