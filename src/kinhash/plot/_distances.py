"""How far kin and strangers are from a query: two histograms that should not overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._blocks import block_slices
from ..codes import Codes, as_codes
from ..errors import InvalidInput
from ..labels import read_labels
from ._axes import FAINT, INK, KIN, STRANGER, axes_or_new, plain_frame

__all__ = ["count_distances", "distances"]

MOST_QUERIES = 1000
PAIRS_AT_ONCE = 1 << 21

Counts = npt.NDArray[np.int64]


def distances(
    query_codes: Codes | npt.ArrayLike,
    database_codes: Codes | npt.ArrayLike,
    query_labels: Any,
    database_labels: Any,
    *,
    exclude_self: bool = False,
    n_bits: int | None = None,
    ax: Any = None,
) -> Any:
    """Draw how many kin and how many strangers lie at each distance from a query.

    Both histograms are shares that add up to one. Where they are apart, a distance tells kin from strangers;
    the part in which they overlap is what a search gets wrong.

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
    for counts, name, color, line in ((kin, "kin", KIN, "-"), (strangers, "strangers", STRANGER, "--")):
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
    queries: Codes, database: Codes, query_labels: Any, database_labels: Any, exclude_self: bool = False
) -> tuple[Counts, Counts]:
    """Pairs of kin and pairs of strangers at each distance from 0 to the largest possible.

    Peak memory: blocks of two million pairs.
    """
    from ..evaluation.kin import kin_from_labels

    queries.require_same_kind(database)
    of_queries, of_database = read_labels(query_labels), read_labels(database_labels)
    for name, labels, codes in (("query", of_queries, queries), ("database", of_database, database)):
        if len(labels) != len(codes):
            raise InvalidInput(
                f"{len(labels)} {name} labels came with {len(codes)} codes",
                "one label per code",
                "Pass codes and labels of the same rows",
            )
    asked, searched = np.flatnonzero(of_queries.known), np.flatnonzero(of_database.known)
    asked = asked[np.unique(np.linspace(0, len(asked) - 1, min(len(asked), MOST_QUERIES)).astype(np.int64))]
    mine, theirs = queries[asked].repeated(), database[searched].repeated()
    kin = kin_from_labels(of_queries[asked], of_database[searched])
    size = queries.max_distance + 1
    counts = np.zeros((2, size), np.int64)
    for block in block_slices(len(asked), max(1, PAIRS_AT_ONCE // max(1, len(searched)))):
        apart = np.bitwise_count(mine[block, None] ^ theirs[None]).sum(axis=2, dtype=np.int64)
        related = kin.grades(block) > 0
        kept = asked[block, None] != searched[None] if exclude_self else np.ones_like(related)
        counts[0] += np.bincount(apart[related & kept], minlength=size)
        counts[1] += np.bincount(apart[~related & kept], minlength=size)
    return counts[0], counts[1]
