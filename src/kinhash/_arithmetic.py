"""One formula, two arithmetics: last digits depend on the machine in ``FAST``, and on nothing in ``FIXED``.

A product by BLAS adds its terms in an order that follows the processor, the height of the block and the
place of the row in it. So a score near zero may be above it on one machine and below it on another. The
way out is the filtered predicate of computational geometry: compute fast, together with a bound of the
error; only where a score lies within its bound of zero compute that row again in float64, in one order
that is written down here. See `kinhash.maps.Map.scores` for the decision.

Shewchuk. Adaptive precision floating-point arithmetic and fast robust geometric predicates. 1997.
Higham, Mary. A new approach to probabilistic rounding error analysis. 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _elementary
from ._types import Floats

__all__ = [
    "FAST",
    "FIXED",
    "UNIT",
    "Arithmetic",
    "affine_error",
    "column_size",
    "doubtful_rows",
    "scatter",
    "sum_error",
]

Array = npt.NDArray[Any]
UNIT = 2.0**-24  # rounding error of a float32 operation, relative to its result


@dataclass(frozen=True)
class Arithmetic:
    """How formulas are computed. ``sums`` are over the last axis; ``solve`` takes stacked systems."""

    product: Callable[[Array, Array], Array]
    sums: Callable[[Array], Array]
    solve: Callable[[Floats, Floats], Floats]
    exp: Callable[[Array], Array]
    log: Callable[[Array], Array]
    tanh: Callable[[Array], Array]
    cos: Callable[[Array], Array]


def product(a: Array, b: Array) -> Floats:
    """``a @ b`` in float64, the terms of every entry added from the first to the last."""
    left, right = np.ascontiguousarray(a, np.float64), np.ascontiguousarray(b, np.float64)
    if left.shape[1] != right.shape[0]:  # the loop does not look where it reads
        raise ValueError(f"a product of shapes {left.shape} and {right.shape}")
    from ._loops import add_product

    out = np.zeros((left.shape[0], right.shape[1]))
    add_product(left, right, out)
    return out


def sums(a: Array) -> Floats:
    """Sums over the last axis, from the first entry to the last."""
    rows = a.reshape(-1, a.shape[-1])
    return product(rows, np.ones((rows.shape[1], 1))).reshape(a.shape[:-1])


def solve(A: Floats, b: Floats) -> Floats:
    """x (k, d) of ``A_i x_i = b_i`` by elimination in the given order; A (k, d, d) is diagonally dominant."""
    x = np.array(b, np.float64, order="C")
    if A.shape != (*x.shape, x.shape[1]):
        raise ValueError(f"systems of shapes {A.shape} and {x.shape}")
    from ._loops import eliminate

    eliminate(np.array(A, np.float64, order="C"), x)
    return x


FAST = Arithmetic(
    np.matmul,
    lambda a: a.sum(axis=-1),
    lambda A, b: np.asarray(np.linalg.solve(A, b[:, :, None])[:, :, 0], np.float64),
    np.exp,
    np.log,
    np.tanh,
    np.cos,
)
FIXED = Arithmetic(product, sums, solve, _elementary.exp, _elementary.log, _elementary.tanh, _elementary.cos)


def scatter(n: int) -> float:
    """What n rounding errors of float32 add up to, taken as independent, but for one case in 10¹³: 8√n.

    Higham and Mary, theorem 2.4 with λ = 8. Sums of such sums, with other data, scatter in the same way: the
    error of ``Σ a_j s_j`` with n roundings in each s_j is within this of ``√(Σ a_j²)``, not of ``Σ |a_j|``.
    """
    return float(1.01 * UNIT * 8 * np.sqrt(n + 2.0))


def sum_error(n: int) -> float:
    """Error of a float32 sum of n products, in any order, relative to the sum of their absolute values.

    At worst one rounding for each, which is less than they scatter for n below 64.
    """
    return min(1.01 * UNIT * (n + 2), scatter(n))


def column_size(weights: Array) -> float:
    """Length of the longest column."""
    return float(np.sqrt(np.einsum("ij,ij->j", weights, weights, dtype=np.float64)).max(initial=0.0))


def affine_error(z: Array, error: Any, size: float, constant: Array) -> Floats:
    """Bound (k, 1) of the errors of a float32 ``z @ W + constant``; ``size`` is W's `column_size`.

    ``error`` (k, 1) bounds what errors of a row of z do to its product with a vector of length 1. By Cauchy
    and Schwarz, ``|z|·|w| ≤ ‖z‖‖w‖``. The last term covers numbers too small for float32.
    """
    from ._loops import lengths

    rounded = 4 * UNIT * float(np.abs(constant).max(initial=0.0)) + 1e-35
    return np.asarray((sum_error(z.shape[1]) * lengths(z) + error) * size + rounded)


def doubtful_rows(scores: Array, bound: Floats) -> npt.NDArray[np.int64]:
    """Rows with a score that is not farther from zero than its bound, (k, 1) or (k, d); NaN is in doubt."""
    from ._loops import in_doubt

    if bound.shape[1] == 1:
        return np.flatnonzero(in_doubt(scores, bound))
    return np.flatnonzero(~(np.abs(scores) > bound).all(axis=1))
