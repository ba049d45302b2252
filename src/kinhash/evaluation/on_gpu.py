"""Metrics counted on a graphics card: the same numbers, for millions of queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from .._blocks import block_slices
from ..codes import Codes
from ..gpu.tally import Counted
from ..index.weighing import weighing_of
from .kernels import GIVEN
from .kin import Kin, LabelWords

__all__ = ["card_in_use", "database_on", "on_gpu"]

BLOCK_ROWS = 1 << 20

_card: ContextVar[Any] = ContextVar("card", default=None)


@contextmanager
def on_gpu(card: int = 0) -> Iterator[None]:
    """Count pairs on a graphics card (extra ``gpu``) in this block, for every metric over Hamming rankings.

    Counts are whole numbers, so every figure is the one that the processor gives. The order of ties by
    ``ties="index"`` is followed on the processor. Memory on the card: codes and label words of the database,
    and for relevances given as matrices those of a block of queries.

        with metrics.on_gpu():
            metrics.mean_average_precision(queries, database, query_labels, database_labels)
    """
    from ..gpu.card import all_cards

    cards = all_cards()
    token = _card.set(cards[card])
    try:
        yield
    finally:
        _card.reset(token)


def card_in_use() -> Any:
    """The card of the `on_gpu` around this, or None."""
    return _card.get()


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
