"""Ridge regression from moments: ``min Σ w (z·W + c − t)² + α‖W‖²``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from .moments import Standardised

__all__ = ["choose_alpha", "leverage_factor", "ridge_weights"]

Floats = npt.NDArray[np.float64]


def choose_alpha(alpha: float | str, moments: Standardised) -> float:
    """``"auto"`` is n/p (the LFH line's choice), ``"gcv"`` the minimiser of generalised cross-validation."""
    if isinstance(alpha, str):
        if alpha == "auto":
            return moments.weight / len(moments.gram)
        if alpha == "gcv":
            return _generalised_cross_validation(moments)
    elif alpha >= 0 and np.isfinite(alpha):
        return float(alpha)
    raise InvalidInput(
        f"alpha is {alpha!r}", "a number of at least 0, 'auto' (= n/p) or 'gcv'", "Use 'auto' when in doubt"
    )


def ridge_weights(moments: Standardised, alpha: float) -> Floats:
    """W (q, k) for standardised rows; the intercept is the mean target."""
    from scipy.linalg import cho_factor, cho_solve

    weights: Floats = cho_solve(cho_factor(_regularised(moments.gram, alpha), lower=True), moments.cross)
    return weights


def leverage_factor(moments: Standardised, alpha: float) -> Floats:
    """L⁻ᵀ (q, q) with ``‖z L⁻ᵀ‖² = z (G + αI)⁻¹ zᵀ``, the leverage of a row for leave-one-out predictions."""
    from scipy.linalg import cholesky, solve_triangular

    lower = cholesky(_regularised(moments.gram, alpha), lower=True)
    inverse: Floats = solve_triangular(lower, np.eye(len(lower)), lower=True)
    return inverse.T


def _regularised(gram: Floats, alpha: float) -> Floats:
    # A trace-sized jitter keeps alpha = 0 solvable on collinear columns.
    jitter = 1e-10 * max(float(np.trace(gram)) / len(gram), 1e-30)
    out = gram.copy()
    out[np.diag_indices_from(out)] += alpha + jitter
    return out


def _generalised_cross_validation(moments: Standardised) -> float:
    """Smallest ``n·RSS(α) / (n − trace of hat matrix)²``, summed over targets, on a grid around n/p."""
    values, vectors = np.linalg.eigh(moments.gram)
    values = np.maximum(values, 0.0)
    projected = ((vectors.T @ moments.cross) ** 2).sum(axis=1)
    total = float((moments.target_squares - moments.weight * moments.target_mean**2).sum())
    best, score = moments.weight / len(values), np.inf
    for alpha in moments.weight / len(values) * 10.0 ** np.arange(-6, 3.1, 0.5):
        shrunk = values + alpha
        residual = total - (projected * (values + 2 * alpha) / shrunk**2).sum()
        freedom = moments.weight - (values / shrunk).sum()
        if freedom > 0 and residual / freedom**2 < score:
            best, score = float(alpha), residual / freedom**2
    return best
