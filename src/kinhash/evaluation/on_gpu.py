"""A database on a graphics card, where pairs are counted: the same numbers, for millions of queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._blocks import block_slices
from ..codes import Codes
from ..gpu.tally import Counted
from ..index.weighing import weighing_of
from .kernels import GIVEN
from .kin import Kin, LabelWords

__all__ = ["database_on"]

BLOCK_ROWS = 1 << 20


def database_on(card: Any, database: Codes, kin: Kin) -> Counted:
    """Codes and labels of a database on the card, copied block by block."""
    words = card.rows(database.words()).words
    labels = None
    if isinstance(kin, LabelWords):
        blocks = [kin.words(rows) for rows in block_slices(len(database), BLOCK_ROWS)]
        width = kin.query_words.shape[1]
        labels = card.rows(np.concatenate([np.empty((0, width), np.uint64), *blocks])).words
    fields = database.fields
    ones = weighing_of(fields, database.n_bits).kin
    how = kin.how if isinstance(kin, LabelWords) else GIVEN
    return Counted(words, labels, len(database), ones, (fields.kin_weight, fields.alike_weight), how)
