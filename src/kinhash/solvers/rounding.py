"""From marginals to bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.types import Bools, Floats
from ..errors import UnknownName

__all__ = ["ROUNDING", "Rounded", "round_marginals"]

ROUNDING = ("mean", "median", "half")


@dataclass(frozen=True)
class Rounded:
    """Bits (g, d) and the threshold (d,) each was rounded at."""

    bits: Bools
    threshold: Floats


def round_marginals(phi: Floats, weights: Floats, how: str) -> Rounded:
    """Round φ (g, d) of groups that stand for ``weights`` (g,) rows each.

    ``mean`` and ``median`` over all rows balance each bit (the paper rounds at the mean); ``half`` keeps how
    popular an item's labels are, which matters on tags.
    """
    if how == "mean":
        threshold = weights @ phi / weights.sum()
    elif how == "median":
        threshold = _weighted_median(phi, weights)
    elif how == "half":
        threshold = np.full(phi.shape[1], 0.5)
    else:
        raise UnknownName.among("rounding", how, ROUNDING)
    return Rounded(phi > threshold, threshold)


def _weighted_median(phi: Floats, weights: Floats) -> Floats:
    order = np.argsort(phi, axis=0)
    reached = np.cumsum(weights[order], axis=0) >= weights.sum() / 2
    middle = order[reached.argmax(axis=0), np.arange(phi.shape[1])]
    return phi[middle, np.arange(phi.shape[1])]
