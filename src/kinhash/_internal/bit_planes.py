"""Bit weights quantized to 4-bit whole numbers and split into bit planes for popcounts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .types import Bytes, Floats

__all__ = ["MOST_WEIGHT", "N_PLANES", "SAFETY", "planes_of", "whole_weights"]

N_PLANES = 4
MOST_WEIGHT = 2**N_PLANES - 1
SAFETY = 1e-9  # far above the rounding of a sum of 1024 floats, far below a step


def whole_weights(
    weights: Floats,
) -> tuple[Bytes, Floats]:
    """Weights (q, 64 W) rounded down to whole steps, at most 15, and the step (q,) of each query."""
    step = weights.max(axis=1) / MOST_WEIGHT
    step[step == 0] = 1.0
    whole = np.minimum(np.floor(weights / step[:, None] * (1 - SAFETY)), MOST_WEIGHT)
    return whole.astype(np.uint8), step


def planes_of(whole: Bytes) -> npt.NDArray[np.uint64]:
    """Bit planes (q, 4, W) of whole weights (q, 64 W), in the order of the bits of a code."""
    bits = (whole[:, None, :] >> np.arange(N_PLANES, dtype=np.uint8)[:, None]) & 1
    return np.packbits(bits, axis=-1).view(np.uint64)
