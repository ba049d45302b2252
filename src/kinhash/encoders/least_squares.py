"""Ridge regression from moments: ``min Σ w (z·W + c − t)² + α‖W‖²``.

A ridge regression needs only sums over rows, its moments. Rows are first shifted and scaled by guessed means
and spreads. Products are taken in float32 and summed in float64. At the end the sums are corrected to the
true means and spreads. So one pass is enough, blocks can come from anywhere, and memory does not depend on
the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.blocks import block_slices, map_blocks, require_memory
from .._internal.numerics import jittered_cholesky
from .._internal.rows import Rows
from .._internal.types import Array, Floats
from ..errors import InvalidInput
from ..gpu import card_in_use, moved
from .feature_transform import Preparation

if TYPE_CHECKING:
    from ..gpu import Card

__all__ = [
    "Moments",
    "Standardized",
    "cholesky_factor",
    "choose_alpha",
    "leverage_factor",
    "moments_of_block",
    "moments_of_rows",
    "moments_on",
    "ridge_weights",
]

BLOCK_BYTES = 1 << 28  # of prepared rows on the card; a few such arrays are there at a time


@dataclass(frozen=True)
class Moments:
    """Weighted sums over rows z (prepared, q columns) with targets t (k columns).

    ``weight`` Σw, ``sums`` Σwz (q,), ``gram`` Σwzzᵀ (q, q), ``cross`` Σwztᵀ (q, k), ``target_sums`` Σwt (k,),
    ``target_squares`` Σwt² (k,), and the number of rows.
    """

    preparation: Preparation
    n_rows: int
    weight: float
    sums: Floats
    gram: Floats
    cross: Floats
    target_sums: Floats
    target_squares: Floats

    def merge(self, other: Moments) -> Moments:
        """Moments of both sets of rows, which must have been prepared alike."""
        return Moments(
            self.preparation,
            self.n_rows + other.n_rows,
            self.weight + other.weight,
            self.sums + other.sums,
            self.gram + other.gram,
            self.cross + other.cross,
            self.target_sums + other.target_sums,
            self.target_squares + other.target_squares,
        )

    def standardized(self, standardize: bool = True) -> Standardized:
        """Correct to the true mean and spread of these rows."""
        delta = self.sums / self.weight
        gram = self.gram - self.weight * np.outer(delta, delta)
        variance = np.maximum(np.diag(gram) / self.weight, 0.0)
        varies = variance > self.preparation.least_variance(np.diag(self.gram) / self.weight, standardize)
        ratio = np.where(varies, np.sqrt(variance), 1.0) if standardize else np.ones(len(delta))
        gram = gram / ratio / ratio[:, None]
        # A column that does not vary carries nothing but rounding error: silence it.
        gram[~varies] = 0.0
        gram[:, ~varies] = 0.0
        mean_target = self.target_sums / self.weight
        cross = (self.cross - np.outer(self.sums, mean_target)) / ratio[:, None]
        cross[~varies] = 0.0
        first = self.preparation
        spread = None if standardize else first.scale * np.sqrt(variance)
        preparation = Preparation(first.mean + first.scale * delta, first.scale * ratio, first.rbf, spread)
        return Standardized(
            preparation, self.n_rows, self.weight, gram, cross, mean_target, self.target_squares
        )


@dataclass(frozen=True)
class Standardized:
    """Centered moments of standardized rows: ``gram`` (q, q), ``cross`` (q, k) with centered targets."""

    preparation: Preparation
    n_rows: int
    weight: float
    gram: Floats
    cross: Floats
    target_mean: Floats
    target_squares: Floats


def moments_of_block(
    preparation: Preparation, block: Floats, targets: Array, weights: Floats | None
) -> Moments:
    """Moments of raw rows (b, p) with targets (b, k)."""
    z = preparation(block)
    t = targets.astype(np.float32, copy=False)
    wz = z if weights is None else z * weights[:, None].astype(np.float32)
    total = float(len(z)) if weights is None else float(weights.sum())
    wt = targets if weights is None else targets * weights[:, None]
    return Moments(
        preparation,
        len(z),
        total,
        (np.ones(len(wz), np.float32) @ wz).astype(np.float64),
        (wz.T @ z).astype(np.float64),
        (wz.T @ t).astype(np.float64),
        wt.sum(axis=0, dtype=np.float64),
        (wt * targets).sum(axis=0, dtype=np.float64),
    )


def moments_of_rows(
    rows: Rows,
    preparation: Preparation,
    targets: Callable[[slice], Array],
    weights: Floats | None = None,
    n_jobs: int | None = None,
) -> Moments:
    """Moments of a whole matrix, block by block; ``targets(slice)`` gives the targets of those rows.

    Inside `kinhash.on_gpu` the sums are taken on the card. Peak memory: three (q, q) float64 arrays per
    thread and a few blocks of about 16 MB.
    """
    q = len(preparation.mean)
    require_memory(
        5 * 8 * q * q,
        f"The Gram matrix of {q} features",
        "Reduce the features first, for example with sklearn.decomposition.TruncatedSVD",
    )

    card = card_in_use()
    if card is not None and len(rows):
        return moments_on(card, rows, preparation, targets, weights)

    def one(part: slice) -> Moments:
        weight = None if weights is None else weights[part]
        block = rows.plain(part) if preparation.rbf is None else rows.read(part)
        return moments_of_block(preparation, block, targets(part), weight)

    total: Moments | None = None
    for part in map_blocks(one, block_slices(len(rows), rows.block_rows()), n_jobs):
        total = part if total is None else total.merge(part)
    assert total is not None
    return total


def moments_on(
    card: Card,
    rows: Rows,
    preparation: Preparation,
    targets: Callable[[slice], Array],
    weights: Floats | None,
) -> Moments:
    """The same as `moments_of_rows`, up to rounding in floating point.

    Memory on the card: two (q, q) float64 arrays, and about six blocks of `BLOCK_BYTES`.
    """
    there, q = moved(preparation, card), len(preparation.mean)
    total: list[Any] = []
    for part in block_slices(len(rows), max(1024, BLOCK_BYTES // (8 * max(q, rows.shape[1])))):
        with card.active():
            z = there(card.put(rows.plain(part)).astype(np.float64)).astype(np.float64)
            t = card.put(targets(part)).astype(np.float64)
            w = card.put(np.ones(len(z)) if weights is None else np.asarray(weights[part], np.float64))
            wz, wt = z * w[:, None], t * w[:, None]
            found = [w.sum(), wz.sum(axis=0), wz.T @ z, wz.T @ t, wt.sum(axis=0), (wt * t).sum(axis=0)]
            total = [sum_ + more for sum_, more in zip(total, found, strict=True)] if total else found
    weight, *sums = map(card.get, total)
    return Moments(preparation, len(rows), float(weight), *sums)


def choose_alpha(alpha: float | str, moments: Standardized) -> float:
    """``"auto"`` is n/p, as LFH and later methods have it, ``"gcv"`` is generalized cross-validation."""
    if isinstance(alpha, str):
        if alpha == "auto":
            return moments.weight / len(moments.gram)
        if alpha == "gcv":
            return _generalized_cross_validation(moments)
    elif alpha >= 0 and np.isfinite(alpha):
        return float(alpha)
    raise InvalidInput(
        f"alpha is {alpha!r}", "a number of at least 0, 'auto' (= n/p) or 'gcv'", "Use 'auto' when in doubt"
    )


def ridge_weights(moments: Standardized, alpha: float) -> Floats:
    """W (q, k) for standardized rows; the intercept is the mean target."""
    from scipy.linalg import cho_solve

    return cho_solve((cholesky_factor(moments.gram, alpha), True), moments.cross)


def leverage_factor(moments: Standardized, alpha: float) -> Floats:
    """L⁻ᵀ (q, q) with ``‖z L⁻ᵀ‖² = z (G + αI)⁻¹ zᵀ``, the leverage of a row for leave-one-out predictions."""
    from scipy.linalg import solve_triangular

    lower = cholesky_factor(moments.gram, alpha)
    inverse: Floats = solve_triangular(lower, np.eye(len(lower)), lower=True)
    return inverse.T


def cholesky_factor(gram: Floats, alpha: float) -> Floats:
    """Cholesky factor of G + αI, plus the least jitter that makes it positive definite.

    Products were taken in float32, so on nearly collinear columns G has eigenvalues that are negative by
    rounding, and a smaller penalty does not make up for them.
    """
    try:
        return jittered_cholesky(gram, alpha, (1e-10, 1e-8, 1e-6, 1e-4))
    except np.linalg.LinAlgError:
        raise InvalidInput(
            "The columns of X are so nearly collinear that ridge regression has no answer",
            "a larger penalty",
            "Set alpha='auto', or a number above 0",
        ) from None


def _generalized_cross_validation(moments: Standardized) -> float:
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
