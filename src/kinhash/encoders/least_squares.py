"""Ridge regression from moments: ``min Σ w (z·W + c − t)² + α‖W‖²``."""

from __future__ import annotations

import numpy as np

from .._linalg import jittered_cholesky
from .._types import Floats
from ..errors import InvalidInput
from .moments import Standardised

__all__ = ["cholesky_factor", "choose_alpha", "leverage_factor", "ridge_weights"]


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
    from scipy.linalg import cho_solve

    weights: Floats = cho_solve((cholesky_factor(moments.gram, alpha), True), moments.cross)
    return weights


def leverage_factor(moments: Standardised, alpha: float) -> Floats:
    """L⁻ᵀ (q, q) with ``‖z L⁻ᵀ‖² = z (G + αI)⁻¹ zᵀ``, the leverage of a row for leave-one-out predictions."""
    from scipy.linalg import solve_triangular

    lower = cholesky_factor(moments.gram, alpha)
    inverse: Floats = solve_triangular(lower, np.eye(len(lower)), lower=True)
    return inverse.T


def cholesky_factor(gram: Floats, alpha: float) -> Floats:
    """Cholesky factor of G + αI, plus the least jitter that makes it one.

    Products were taken in float32, so on nearly collinear columns G has eigenvalues that are negative by
    rounding; a penalty below that needs help.
    """
    try:
        return jittered_cholesky(gram, alpha, (1e-10, 1e-8, 1e-6, 1e-4))
    except np.linalg.LinAlgError:
        raise InvalidInput(
            "The columns of X are so nearly collinear that ridge regression has no answer",
            "a larger penalty",
            "Set alpha='auto', or a number above 0",
        ) from None


def _generalised_cross_validation(moments: Standardised) -> float:
    """Smallest ``n·RSS(α) / (n − trace of hat matrix)²``, summed over targets, on a grid around n/p."""
    values, vectors = np.linalg.eigh(moments.gram)
    values = np.maximum(values, 0.0)
    projected = ((vectors.T @ moments.cross) ** 2).sum(axis=1)
    # Products were taken in float32: directions this small are rounding, and would seem to explain anything.
    projected[values <= 1e-6 * values[-1]] = 0.0
    total = float((moments.target_squares - moments.weight * moments.target_mean**2).sum())
    best, score = moments.weight / len(values), np.inf
    for alpha in moments.weight / len(values) * 10.0 ** np.arange(-6, 3.1, 0.5):
        shrunk = values + alpha
        residual = total - (projected * (values + 2 * alpha) / shrunk**2).sum()
        freedom = moments.weight - (values / shrunk).sum()
        if freedom > 0 and residual / freedom**2 < score:
            best, score = float(alpha), residual / freedom**2
    return best
