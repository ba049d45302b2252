"""One formula, two arithmetics: last digits depend on the machine in ``FAST``, and on nothing in ``FIXED``.

A product by BLAS adds its terms in an order that follows the processor, the height of the block and the
place of the row in it. So a score near zero may be above it on one machine and below it on another. The
way out is the filtered predicate of computational geometry: compute fast, together with a bound of the
error; only where a score lies within its bound of zero compute that row again in float64, in one order
that is written down here. See `kinhash.encoders.Map.decide` and `mapped_codes` for the decision.

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
    "AffineError",
    "Arithmetic",
    "doubtful_rows",
    "product_error",
    "scatter",
    "sum_error",
]

Array = npt.NDArray[Any]
UNIT = 2.0**-24  # rounding error of a float32 operation, relative to its result
PART = 256  # terms that a float32 sum adds up in an order nobody knows


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
    exact: bool = False  # nothing is in doubt, so errors are not asked for


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


def in_parts(a: Array, b: Array) -> Array:
    """``a @ b`` by BLAS; a long sum in float32 is made of parts, whose errors are relative to them alone."""
    if len(b) <= PART or a.dtype != np.float32 or b.dtype != np.float32:
        return np.matmul(a, b)
    out = a[:, :PART] @ b[:PART]
    for start in range(PART, len(b), PART):
        out += a[:, start : start + PART] @ b[start : start + PART]
    return out


FAST = Arithmetic(
    in_parts,
    lambda a: a.sum(axis=-1),
    lambda A, b: np.asarray(np.linalg.solve(A, b[:, :, None])[:, :, 0], np.float64),
    np.exp,
    np.log,
    np.tanh,
    np.cos,
)
FIXED = Arithmetic(
    product, sums, solve, _elementary.exp, _elementary.log, _elementary.tanh, _elementary.cos, True
)


def scatter(n: int) -> float:
    """What n rounding errors of float32 add up to, relative to what is summed: 3√n.

    An error is relative to a partial sum. They are taken as independent, each as likely up as down and spread
    evenly over ±UNIT, so that n of them have the deviation √(n/3), of which this is five (Higham and Mary,
    theorem 2.4, have 8√n for errors of any distribution). Where it matters most, at sums near zero, partial
    sums are half of all terms at most, and it is ten. Seen on real rows, with kernels of six processors:
    below 5 for sums of any size and below 3 near zero, for n from 64 to 1,000; where every term is the same
    number, first up and then down again, 1.5√n.

    Sums of such sums, with other data, scatter in the same way: the error of ``Σ a_j s_j`` with n roundings
    in each s_j is within this of ``√(Σ a_j²)``, not of ``Σ |a_j|``.
    """
    return float(1.01 * UNIT * 3 * np.sqrt(n + 2.0))


def sum_error(n: int) -> float:
    """Error of a float32 sum of n products, in any order, relative to the sum of their absolute values.

    At worst one rounding for each, which is less than they scatter for n below 8.
    """
    return min(1.01 * UNIT * (n + 2), scatter(n))


def product_error(weights: Array) -> float:
    """Error of a FAST float32 ``z @ weights``, (n, d), relative to the length of z.

    By Cauchy and Schwarz, ``|z|·|w| ≤ ‖z‖‖w‖`` in every part. Errors of parts are independent, and squared
    lengths of the parts of z add up to that of z, so the longest part of a column counts.
    """
    starts = range(0, max(len(weights), 1), PART)
    longest = max(_longest_column(weights[start : start + PART]) for start in starts)
    own = sum_error(min(len(weights), PART)) * longest
    return own if len(starts) == 1 else own + scatter(len(starts)) * _longest_column(weights)


def _longest_column(weights: Array) -> float:
    return float(np.sqrt(np.einsum("ij,ij->j", weights, weights, dtype=np.float64).max(initial=0.0)))


@dataclass(frozen=True)
class AffineError:
    """Bounds (k, 1) of the errors of a float32 ``z @ W + constant``.

    ``own`` is the `product_error`, ``size`` the length of the longest column of W; ``rounded`` covers the
    constant, and numbers too small for float32.
    """

    own: float
    size: float
    rounded: float

    @classmethod
    def of(cls, weights: Array, constant: Array) -> AffineError:
        """Of W (n, d) and constant (d,)."""
        largest = float(np.abs(constant).max(initial=0.0))
        rounded = (sum_error(len(weights)) + 4 * UNIT) * largest + 1e-35
        return cls(product_error(weights), _longest_column(weights), rounded)

    def __call__(self, z: Array, error: Any = 0.0) -> Floats:
        """For rows z (k, n), whose own errors move their product with a vector of length 1 by ``error``."""
        from ._loops import lengths

        return np.asarray(self.own * lengths(z) + error * self.size + self.rounded)


def doubtful_rows(scores: Array, bound: Floats) -> npt.NDArray[np.int64]:
    """Rows with a score that is not farther from zero than its bound, (k, 1) or (k, d); NaN is in doubt."""
    from ._loops import in_doubt

    if bound.shape not in (scores.shape, (len(scores), 1)):  # the loop does not look where it reads
        raise ValueError(f"bounds of shape {bound.shape} for scores of shape {scores.shape}")
    return np.flatnonzero(in_doubt(scores, bound))
