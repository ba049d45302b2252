"""Which rows the codes are learned on: the sampled columns of S."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Floats, Ints
from ..errors import InvalidInput
from ..supervision import ClassSupervision, Supervision, row_numbers

__all__ = ["Sample", "draw_sample"]


@dataclass(frozen=True)
class Sample:
    """Entries of the sample: their groups (m,) and how many rows each stands for (m,).

    ``rows`` are the anchor rows as drawn; an entry that stands for several rows gives them all the
    same code.
    """

    groups: Ints
    weights: Floats
    rows: Ints

    def one_row_each(self, group_of_row: Ints) -> Ints:
        """For every entry, the first anchor row of its group."""
        groups, first = np.unique(group_of_row[self.rows], return_index=True)
        return self.rows[first[np.searchsorted(groups, self.groups)]]


def draw_sample(
    supervision: Supervision,
    n_anchors: int,
    rng: np.random.Generator,
    *,
    merge: bool = True,
    anchors: Ints | None = None,
    row_weights: Floats | None = None,
) -> Sample:
    """Draw anchor rows and gather them into entries.

    With ``merge``, anchors with equal supervision become one weighted entry, and where all groups
    fit into ``n_anchors`` every row counts and nothing is left to chance. Classes always do, however many
    there are: a class without an anchor would have no code of its own. Without ``merge``, every
    anchor row is an entry of its own, as in the paper. Entries are in order of first appearance,
    so the names of classes do not matter.
    """
    group = supervision.group_of_row
    anchors = supervision.anchors if anchors is None else _checked(anchors, supervision)
    known = np.flatnonzero(group >= 0)
    if row_weights is not None:
        known = known[row_weights[known] > 0]
    if not len(known):
        raise InvalidInput(
            "Nothing is known about any row (every label is missing, or every weight is 0)",
            "labels for some rows",
            "Pass labels, pairs or a similarity matrix",
        )
    if anchors is not None:
        rows = anchors[np.isin(anchors, known)]
    elif len(known) <= n_anchors or (merge and _all_count(supervision, n_anchors)):
        rows = known
    else:
        share = None if row_weights is None else row_weights[known] / row_weights[known].sum()
        rows = rng.choice(known, n_anchors, replace=False, p=share, shuffle=False)
        rows.sort()
    # Rows drawn in proportion to their weight have had their say; only a full count weighs again.
    drawn = anchors is None and len(rows) < len(known)
    per_row = None if row_weights is None or drawn else row_weights[rows]
    if not merge:
        return Sample(group[rows], np.ones(len(rows)) if per_row is None else per_row, rows)
    unique, first, inverse = np.unique(group[rows], return_index=True, return_inverse=True)
    weights = np.bincount(inverse, per_row, len(unique)).astype(np.float64)
    order = np.argsort(first, kind="stable")
    return Sample(unique[order], weights[order], rows)


def _all_count(supervision: Supervision, n_anchors: int) -> bool:
    return supervision.n_groups <= n_anchors or isinstance(supervision, ClassSupervision)


def _checked(anchors: Ints, supervision: Supervision) -> Ints:
    rows = row_numbers(anchors, "anchors", supervision.n_rows)
    if len(rows) < 2 or len(np.unique(rows)) < len(rows):
        raise InvalidInput(
            f"anchors holds {len(rows)} row numbers, {len(np.unique(rows))} of them distinct",
            "at least two distinct rows",
            "Pass every anchor row once, or leave anchors out",
        )
    if supervision.anchors is not None and not np.array_equal(rows, supervision.anchors):
        raise InvalidInput(
            "Anchors were set as a parameter and came with S, and they differ",
            "the rows that the columns of S stand for",
            "Leave the parameter out",
        )
    return rows
