"""From features to codes: rows are standardized, and a ridge regression predicts the codes of the fit.

A ridge regression ``min Σ w (z·W + c − t)² + α‖W‖²`` needs only sums over rows, its moments. Rows are first
shifted and scaled by guessed means and spreads. Products are taken in float32 and summed in float64. At the
end the sums are corrected to the true means and spreads. So one pass is enough, and memory does not depend on
the number of rows. Blocks are fixed by the width of X, spread over threads and summed in their order, so the
numbers do not depend on the number of threads.

A `LinearMap` lives in floating point while a fit lasts; `kinhash.models` rounds it to whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .._internal.blocks import block_slices, map_blocks, require_memory
from .._internal.numerics import jittered_cholesky
from .._internal.rows import Rows
from .._internal.types import Array, Bools, Floats, Floats32, Ints
from ..errors import InvalidInput
from ..models import Builder, Map
from .similarity import Training

FAR = 1e15  # prepared values are cut here; their products still fit into float32
GUESS_ROWS = 1024


@dataclass(frozen=True)
class PreparedMap(Map):
    """A map of prepared rows."""

    preparation: Preparation

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns of the raw rows."""
        return self.preparation.n_features


@dataclass(frozen=True)
class LinearMap(PreparedMap):
    """``scores = z W + intercept`` with z the prepared row: W (q, d) float32, intercept (d,) float32."""

    weights: Floats32
    intercept: Floats32
    kind: ClassVar[str] = "linear"

    @classmethod
    def fit(cls, moments: Standardized, alpha: float, threshold: Floats) -> LinearMap:
        """Ridge onto the targets of these moments; a bit is 1 where a target exceeds ``threshold`` (d,).

        Columns are centered, so the prediction is centered too and the intercept is what the mean
        target exceeds the threshold by: zero when bits were rounded at their mean.
        """
        weights = ridge_weights(moments, alpha)
        intercept = moments.target_mean - threshold
        return cls(moments.preparation, weights.astype(np.float32), intercept.astype(np.float32))

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return self.weights.shape[1]

    def scores(self, block: Array) -> Array:
        return self.preparation(block) @ self.weights + self.intercept

    def steps(self, builder: Builder) -> tuple[int, Array]:
        return self.preparation.product(builder, self.weights, self.intercept)


# -- prepared rows -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Preparation:
    """``(x − mean) / scale`` per column.

    Arithmetic is in float64 until the values have a sane size, then float32: huge and tiny columns survive.
    """

    mean: Floats
    scale: Floats
    spread: Floats | None = None  # of columns that keep their sizes

    def __call__(self, block: Floats) -> Floats32:
        """Prepared rows (k, q) float32 of raw rows (k, p), float64 or float32."""
        return self.standardized(block)

    def of_rows(self, rows: Rows, part: slice | Ints) -> Floats32:
        """The same of some rows of a matrix."""
        return self(np.ascontiguousarray(rows.plain(part)))

    def standardized(self, values: Floats) -> Floats32:
        """``(values − mean) / scale``."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            factor = np.minimum(1 / self.scale, 1e300)  # a scale too small to invert stays finite
            return np.clip((values - self.mean) * factor, -FAR, FAR).astype(np.float32)

    @classmethod
    def first_guess(cls, block: Floats, standardize: bool = True) -> Preparation:
        """Column means and spreads of some rows: near enough to keep float32 sums accurate."""
        peak = np.maximum(np.abs(block).max(axis=0, initial=0.0), 1e-300)
        with np.errstate(over="ignore"):
            unit = block / peak  # squares of 1e30 would still fit, squares of 1e200 would not
        mean, spread = unit.mean(axis=0), unit.std(axis=0)
        varies = spread > 1e-12  # a constant column has the spread 1
        scale = np.where(varies, spread, 1.0) * np.where(varies, peak, 1.0)
        if not np.isfinite(scale).all():
            raise InvalidInput(
                "The values of X are too large to standardize",
                "numbers below about 1e150 in size",
                "Rescale the columns of X",
            )
        if not standardize and float(np.abs(block).max(initial=0.0)) > FAR:
            raise InvalidInput(
                "X holds values too large to be used as they are",
                f"numbers below {FAR:.0e} in size with standardize=False",
                "Set standardize=True, or rescale the columns of X",
            )
        return cls(mean * peak, scale if standardize else np.ones_like(scale))

    def corrected(
        self, shift: Floats, squares: Floats, variance: Floats, standardize: bool
    ) -> tuple[Preparation, Floats, Bools]:
        """To the true statistics, given means, mean squares and variances of columns prepared by this guess.

        Also the ratio of true to guessed spreads (q,), and which columns vary: others carry nothing but
        rounding error. Divided by a guess of their deviation, columns have a variance near 1. As they come
        they may be of any size, and what their values and the sums of their squares lose to rounding decides.
        """
        variance = np.maximum(variance, 0.0)
        least: Floats | float = 1e-10
        if not standardize:
            least = np.maximum(1e-10 * squares, (1e-13 * self.mean / self.scale) ** 2)
        varies = variance > least
        ratio = np.where(varies, np.sqrt(variance), 1.0) if standardize else np.ones(len(shift))
        spread = None if standardize else self.scale * np.sqrt(variance)
        mean, scale = self.mean + self.scale * shift, self.scale * ratio
        return replace(self, mean=mean, scale=scale, spread=spread), ratio, varies

    def product(
        self, builder: Builder, weights: Floats32, constant: Floats32, units: int | Array | None = None
    ) -> tuple[int, Array]:
        """``z @ weights + constant`` of prepared rows z as steps of whole numbers, and its units."""
        return builder.affine(self.mean, self.scale, weights, constant, units, self.spread)

    @property
    def n_features(self) -> int:
        """Columns of the raw rows."""
        return len(self.mean)


def first_preparation(rows: Rows, standardize: bool = True) -> Preparation:
    """Statistics of some rows spread over the matrix, to keep sums accurate."""
    n = len(rows)
    some = np.unique(np.linspace(0, n - 1, min(n, GUESS_ROWS)).astype(np.int64))
    return Preparation.first_guess(rows.read(some), standardize)


def prepare_rows(
    rows: Rows, preparation: Preparation, chosen: Ints | None = None, n_jobs: int | None = None
) -> Floats32:
    """Prepared rows (k, q) float32: all of them, or the chosen ones in their order."""
    n = len(rows) if chosen is None else len(chosen)
    out = np.empty((n, len(preparation.mean)), np.float32)

    def one(part: slice) -> None:
        out[part] = preparation.of_rows(rows, part if chosen is None else chosen[part])

    for _ in map_blocks(one, block_slices(n, rows.block_rows()), n_jobs):
        pass
    return out


# -- ridge regression --------------------------------------------------------------------------


@dataclass(frozen=True)
class Standardized:
    """Centered moments of standardized rows: ``gram`` (q, q), ``cross`` (q, k) with centered targets."""

    preparation: Preparation
    weight: float
    gram: Floats
    cross: Floats
    target_mean: Floats
    target_squares: Floats


def standardized_moments(
    training: Training,
    guess: Preparation,
    targets: Callable[[slice], Array] | None = None,
    standardize: bool = True,
) -> Standardized:
    """Moments of the known rows: one pass over X. ``targets(slice)`` are those of the rows of a slice.

    Peak memory: three (q, q) float64 arrays per thread and a few blocks of about 16 MB.
    """
    rows, weights, q = training.rows, training.known_weights, len(guess.mean)
    require_memory(
        5 * 8 * q * q,
        f"The Gram matrix of {q} features",
        "Reduce the features first, for example with sklearn.decomposition.TruncatedSVD",
    )
    nothing = np.zeros((len(rows), 0), np.float32)

    def one(part: slice) -> list[Floats]:
        z = guess.of_rows(rows, part)
        given = nothing[part] if targets is None else targets(part)
        t, wz, wt, weight = given.astype(np.float32, copy=False), z, given, np.float64(len(z))
        if weights is not None:
            w = weights[part, None]
            wz, wt, weight = z * w.astype(np.float32), given * w, w.sum()
        ones = np.ones(len(z), np.float32)
        products = [ones @ wz, wz.T @ z, wz.T @ t]
        squares = [wt.sum(axis=0, dtype=np.float64), (wt * given).sum(axis=0, dtype=np.float64)]
        return [weight, *(one.astype(np.float64) for one in products), *squares]

    sums: list[Floats] = []
    for part in map_blocks(one, block_slices(len(rows), rows.block_rows()), training.n_jobs):
        sums = [old + new for old, new in zip(sums, part, strict=True)] if sums else part
    total, row_sum, gram, cross, target_sum, target_squares = sums
    weight = float(total)
    shift, squares = row_sum / weight, np.diag(gram) / weight
    gram = gram - weight * np.outer(shift, shift)
    preparation, ratio, varies = guess.corrected(shift, squares, np.diag(gram) / weight, standardize)
    gram = gram / ratio / ratio[:, None]
    gram[~varies] = 0.0
    gram[:, ~varies] = 0.0
    mean_target = target_sum / weight
    cross = (cross - np.outer(row_sum, mean_target)) / ratio[:, None]
    cross[~varies] = 0.0
    return Standardized(preparation, weight, gram, cross, mean_target, target_squares)


def choose_alpha(alpha: float | str, moments: Standardized) -> float:
    """``"auto"`` is n/p, as LFH and later methods have it, ``"gcv"`` is generalized cross-validation.

    The latter is the smallest ``n·RSS(α) / (n − trace of hat matrix)²``, summed over targets, on a grid
    around n/p.
    """
    automatic = moments.weight / len(moments.gram)
    if not isinstance(alpha, str):
        return float(alpha)
    if alpha == "auto":
        return automatic
    values, vectors = np.linalg.eigh(moments.gram)
    values = np.maximum(values, 0.0)
    projected = ((vectors.T @ moments.cross) ** 2).sum(axis=1)
    # Products were taken in float32: directions this small are rounding, and would seem to explain anything.
    projected[values <= 1e-6 * values[-1]] = 0.0
    total = float((moments.target_squares - moments.weight * moments.target_mean**2).sum())
    best, score = automatic, np.inf
    for penalty in automatic * 10.0 ** np.arange(-6, 3.1, 0.5):
        shrunk = values + penalty
        residual = total - (projected * (values + 2 * penalty) / shrunk**2).sum()
        freedom = moments.weight - (values / shrunk).sum()
        if freedom > 0 and residual / freedom**2 < score:
            best, score = float(penalty), residual / freedom**2
    return best


def ridge_weights(moments: Standardized, alpha: float) -> Floats:
    """W (q, k) for standardized rows; the intercept is the mean target.

    Products were taken in float32, so on nearly collinear columns G has eigenvalues that are negative by
    rounding, and the least jitter that makes G + αI positive definite is added.
    """
    from scipy.linalg import cho_solve

    try:
        factor = jittered_cholesky(moments.gram, alpha, (1e-10, 1e-8, 1e-6, 1e-4))
    except np.linalg.LinAlgError:
        raise InvalidInput(
            "The columns of X are so nearly collinear that ridge regression has no answer",
            "a larger penalty",
            "Set alpha='auto', or a number above 0",
        ) from None
    return cho_solve((factor, True), moments.cross)
