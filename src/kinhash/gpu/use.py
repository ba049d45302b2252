"""The GPU in use, if any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from .._internal.validation import check_integer

if TYPE_CHECKING:
    from .device import Card

__all__ = ["card_in_use", "on_gpu"]

_card: ContextVar[Card | None] = ContextVar("card", default=None)


@contextmanager
def on_gpu(card: int = 0) -> Iterator[None]:
    """Encode, score and sum on a GPU (extra ``gpu``) inside this block; ``card`` is its number.

        with kinhash.on_gpu():
            codes = hasher.encode(X)
            metrics.mean_average_precision(queries, codes, query_labels, labels)

    `encode` gives the same bits as without a card: a model is whole numbers, whose sums are exact everywhere.
    Maps that a card does not know (trees, polished codes, scikit-learn estimators) stay on the processor.
    Metrics over Hamming rankings count pairs on the card, and counts are whole numbers, so every figure is
    the same; the order of ties by ``ties="index"`` is followed on the processor. `fit` takes the sums of its
    ridge regressions on the card: codes may differ from those of a fit on the processor as those of two
    processors may, in rows near zero.
    """
    from . import all_cards

    cards = all_cards()
    token = _card.set(cards[check_integer("card", card, 0, len(cards) - 1)])
    try:
        yield
    finally:
        _card.reset(token)


def card_in_use() -> Card | None:
    """The card of the `on_gpu` around this, or None."""
    return _card.get()
