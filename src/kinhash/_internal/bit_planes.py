"""What the bits of a query count in whole numbers, and the same split into bit planes for popcounts."""

from __future__ import annotations

import numpy as np

from .types import Bytes, Floats, Words

__all__ = ["N_PLANES", "planes_of", "weights_of"]

N_PLANES = 4  # bits of a weight


def weights_of(margins: Floats) -> tuple[Bytes, Floats]:
    """Whole weights (q, d) of margins, from 0 to 15, and what a weight of 1 stands for (q,).

    The largest margin of a query weighs 15, the others in proportion, rounded to even. Whole numbers add up
    to the same sum in any order, so distances are the same on every machine. Four bits find what floats find.
    """
    sizes = np.abs(margins)
    largest = sizes.max(axis=1, initial=0.0)
    most = 2**N_PLANES - 1
    whole = np.rint(sizes / np.where(largest > 0, largest, 1.0)[:, None] * most)
    return whole.astype(np.uint8), largest / most


def planes_of(weights: Bytes) -> Words:
    """Bit planes (q, 4, W) of whole weights (q, d), in the order of the bits of a code."""
    padded = np.zeros((len(weights), -(-weights.shape[1] // 64) * 64), np.uint8)
    padded[:, : weights.shape[1]] = weights
    bits = (padded[:, None, :] >> np.arange(N_PLANES, dtype=np.uint8)[:, None]) & 1
    return np.packbits(bits, axis=-1).view(np.uint64)
