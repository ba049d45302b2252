"""Whether the features of a fit tell rows apart at all."""

from __future__ import annotations

import numpy as np

from .._types import Bytes, Floats
from ..codes import pack_bits
from ..encoders import Fitted
from ..rows import Rows

__all__ = ["all_equal_warning"]

SOME_ROWS = 256  # rows that are looked at,
MOST_NUMBERS = 1 << 23  # and numbers: 64 MB


def all_equal_warning(fitted: Fitted, rows: Rows) -> list[str]:
    """What to say where new rows cannot be told apart: rows from all over X get one code, or RBF drowns them.

    RBF features compare directions in float32: rows that share all but a thousandth of theirs look alike.
    """
    n_some = min(len(rows), SOME_ROWS, max(2, MOST_NUMBERS // rows.shape[1]))
    some = np.unique(np.linspace(0, len(rows) - 1, n_some).astype(np.int64))
    block = rows.read(some)
    codes = pack_bits(fitted.map.decide(block)[0] > 0)
    one_sided = fitted.codes is not None and _largest_share(fitted.codes[some]) > 0.9
    if (block == block[0]).all():
        why, remedy = "every column of X is constant", "Pass features that vary"
    elif fitted.facts.get("features") == "rbf" and _relative_spread(block) < 1e-3:
        why = f"X varies by {_relative_spread(block):.0e} of its size, too little for RBF features"
        remedy = "Subtract the mean of every column, or use plain features"
    elif fitted.facts.get("features") == "both" and _relative_spread(block) < 1e-3:
        spread = _relative_spread(block)
        return [
            f"Similarities to training rows say nothing here: X varies by {spread:.0e} of its size. "
            "Subtract the mean of every column, or use plain features."
        ]
    elif _largest_share(codes) == 1.0 and not one_sided:
        why, remedy = f"{len(some)} of them get the same code", "Check the features, and how they are scaled"
    else:
        return []
    return [f"New rows cannot be told apart by their features: {why}. {remedy}."] if len(some) > 1 else []


def _largest_share(codes: Bytes) -> float:
    """Share of rows that have the commonest code."""
    return float(np.unique(codes, axis=0, return_counts=True)[1].max() / len(codes))


def _relative_spread(block: Floats) -> float:
    """Length of the rows' differences from their mean as a share of the length of rows; scale-free."""
    block = block / (np.abs(block).max() or 1.0)
    away = np.linalg.norm(block - block.mean(axis=0))
    return float(away / (np.linalg.norm(block) or 1.0))
