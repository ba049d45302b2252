"""Sums over rows that are all a ridge regression needs, and that add up in any order.

Rows are shifted and scaled by a first guess of their statistics, multiplied in float32, summed in
float64, and corrected to their true mean and spread at the end. So one pass is enough, blocks can
come from anywhere, and memory does not depend on the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._blocks import block_slices, map_blocks, require_memory
from .._types import Floats
from ..gpu.use import card_in_use
from ..rows import Rows
from .preparation import Preparation

__all__ = ["Moments", "Standardised", "moments_of_block", "moments_of_rows"]


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

    def standardised(self, standardize: bool = True) -> Standardised:
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
        return Standardised(
            preparation, self.n_rows, self.weight, gram, cross, mean_target, self.target_squares
        )


@dataclass(frozen=True)
class Standardised:
    """Centred moments of standardised rows: ``gram`` (q, q), ``cross`` (q, k) with centred targets."""

    preparation: Preparation
    n_rows: int
    weight: float
    gram: Floats
    cross: Floats
    target_mean: Floats
    target_squares: Floats


def moments_of_block(
    preparation: Preparation, block: Floats, targets: npt.NDArray[Any], weights: Floats | None
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
    targets: Callable[[slice], npt.NDArray[Any]],
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
        from .moments_on_gpu import moments_on

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
