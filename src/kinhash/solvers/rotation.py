"""The rotation of relaxed codes that loses least when they are rounded to bits (ITQ).

Gong, Lazebnik. Iterative quantization: a procrustean approach to learning binary codes. CVPR 2011.
"""

from __future__ import annotations

import numpy as np

from .._types import Floats

__all__ = ["fit_rotation"]


def fit_rotation(
    codes: Floats,
    n_bits: int,
    rng: np.random.Generator,
    n_rounds: int = 50,
    weights: Floats | None = None,
    start: Floats | None = None,
) -> Floats:
    """Matrix R (r, d) that brings ``codes @ R`` near its own signs: orthonormal rows, or columns if r > d.

    Each round costs 4·n·r·d operations and one singular value decomposition of (r, d).
    """
    rotation = _random_rotation(codes.shape[1], n_bits, rng) if start is None else start
    weighted = codes if weights is None else codes * weights[:, None]
    for _ in range(n_rounds):
        left, _, right = np.linalg.svd(weighted.T @ np.sign(codes @ rotation), full_matrices=False)
        rotation = left @ right
    return rotation


def _random_rotation(n_directions: int, n_bits: int, rng: np.random.Generator) -> Floats:
    left, _, right = np.linalg.svd(rng.standard_normal((n_directions, n_bits)), full_matrices=False)
    rotation: Floats = left @ right
    return rotation
