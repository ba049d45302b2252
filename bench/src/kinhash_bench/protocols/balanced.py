"""Rows drawn evenly over labels, as in published splits: equally many queries and training rows of each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinhash.errors import InvalidInput
from kinhash.labels import Labels

__all__ = ["draw_evenly"]

Rows = npt.NDArray[np.int64]


def draw_evenly(labels: Labels, order: Rows, wanted: int, what: str) -> tuple[Rows, Rows]:
    """The first ``wanted / labels`` rows of each label in ``order``, and the rest in its order.

    Labels take turns in the order of their names; a row with several tags counts for the first that takes it.
    """
    indicator = labels.indicator().tocsc()
    present = np.flatnonzero(np.diff(indicator.indptr))
    each = wanted // max(1, len(present))
    if not each or each * len(present) != wanted:
        raise InvalidInput(
            f"{wanted:,} {what} rows were asked for, evenly over {len(present)} labels",
            "a multiple of the number of labels",
            "Use the data set that the protocol was made for, or another n_queries and n_train",
        )
    place = np.full(len(labels), len(order))
    place[order] = np.arange(len(order))
    taken = np.zeros(len(labels), bool)
    for label in present:
        own = indicator.indices[indicator.indptr[label] : indicator.indptr[label + 1]]
        own = own[~taken[own] & (place[own] < len(order))]
        if len(own) < each:
            raise InvalidInput(
                f"The label {str(labels.names[label])!r} has {len(own):,} rows left for {each:,} {what} rows",
                "as many rows of every label",
                "Use more rows, or a protocol that does not draw evenly",
            )
        taken[own[np.argsort(place[own])[:each]]] = True
    return order[taken[order]], order[~taken[order]]
