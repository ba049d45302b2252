"""Rows of one view that belong with rows of another, whose codes are known: captions with pictures.

Nothing is said about rows of one view among themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from .._internal.types import Floats, Ints, Numbers
from ..errors import InvalidInput
from .base import UNKNOWN, Supervision, row_numbers

__all__ = ["Pairs", "PartnerSupervision", "from_partners"]

Pairs: TypeAlias = Sequence[Numbers] | None  # rows of the view, rows of the other; None if they are in order

FEWEST = 2  # pairs that a view can be learned from


class PartnerSupervision(Supervision):
    """Row ``rows[k]`` (m,) belongs with row ``partner[k]`` of the other view; groups are the partners."""

    complete = False

    def __init__(self, rows: Ints, partner: Ints, n_rows: int) -> None:
        self.rows, self.partner = rows, partner
        names, group = np.unique(partner, return_inverse=True)
        self.n_groups = len(names)
        self.group_of_row = np.full(n_rows, UNKNOWN, np.int64)
        self.group_of_row[rows] = group

    def similarity(self, left: Ints, right: Ints) -> Floats:
        raise InvalidInput(
            "Partners in another view came to a method that compares rows of one",
            "a view of a fitted hasher",
            "Use add_view",
        )

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        return self.similarity(left, right)


def from_partners(pairs: Pairs, n_rows: int, n_others: int) -> PartnerSupervision:
    """Supervision from ``pairs``, two lists of row numbers; None where row i belongs with row i."""
    if pairs is None:
        if n_rows != n_others:
            raise InvalidInput(
                f"The view has {n_rows:,} rows and beside has {n_others:,}",
                "rows that belong together in the same places",
                "Pass pairs=(rows of the view, rows of beside)",
            )
        return PartnerSupervision(np.arange(n_rows), np.arange(n_rows), n_rows)
    try:
        left, right = pairs
    except (TypeError, ValueError):
        raise InvalidInput(
            "pairs is not two lists", "(rows of the view, rows of beside)", "Pass row numbers, from 0"
        ) from None
    rows, partner = row_numbers(left, "pairs[0]", n_rows), row_numbers(right, "pairs[1]", n_others)
    if len(rows) != len(partner) or len(rows) < FEWEST:
        raise InvalidInput(
            f"pairs has lists of {len(rows)} and {len(partner)} rows",
            f"two lists of one length, {FEWEST} or more",
            "Pass both ends of every pair",
        )
    return PartnerSupervision(rows, partner, n_rows)
