"""Numerical methods that several rooms need and neither NumPy nor SciPy has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .types import Array, Floats, Floats32, Rng


def jittered_cholesky(
    gram: Floats, alpha: float, jitters: Sequence[float], smallest_pivot: float = 0.0
) -> Floats:
    """Lower factor of ``G + (α + jitter·size) I`` with the first jitter that gives one.

    ``size`` is the mean of G's diagonal. A factor with an entry of ``smallest_pivot·√size`` or less on its
    diagonal does not count. Raises `numpy.linalg.LinAlgError` where no jitter is enough.
    """
    from scipy.linalg import cholesky

    size = max(float(np.trace(gram)) / len(gram), 1e-30)
    for jitter in jitters:
        raised = gram.copy()
        raised[np.diag_indices_from(raised)] += alpha + jitter * size
        try:
            lower: Floats = cholesky(raised, lower=True)
        except np.linalg.LinAlgError:
            continue
        if np.diag(lower).min() > smallest_pivot * np.sqrt(size):
            return lower
    raise np.linalg.LinAlgError("not positive definite, even with the largest jitter")


def fit_rotation(
    codes: Floats | Floats32,
    n_bits: int,
    rng: Rng,
    n_rounds: int = 50,
    weights: Floats | None = None,
    watch: Callable[[Floats], None] | None = None,
) -> Floats:
    """Matrix R (r, d) that brings ``codes @ R`` near its own signs: orthonormal rows, or columns if r > d.

    Starts from a random rotation. ``weights`` (n,) say how much rows count; ``watch`` is shown ``codes @ R``
    before every round.

    Gong, Lazebnik. Iterative quantization: a procrustean approach to learning binary codes. CVPR 2011.
    """
    rotation = _nearest_rotation(rng.standard_normal((codes.shape[1], n_bits)))
    rotation = rotation.astype(codes.dtype, copy=False)
    weighted = codes if weights is None else codes * weights[:, None]
    for _ in range(n_rounds):
        turned = codes @ rotation
        if watch is not None:
            watch(turned)
        rotation = _nearest_rotation(weighted.T @ np.sign(turned))
    return rotation


def _nearest_rotation(matrix: Floats | Floats32) -> Any:
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ right


def sigmoid(x: Array) -> Array:
    """1 / (1 + e⁻ˣ), without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * x))
