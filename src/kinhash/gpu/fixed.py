"""``FIXED`` arithmetic on a card: the same digits as on every processor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arithmetic import Arithmetic

__all__ = ["fixed_on"]

THREADS = 256


def fixed_on(card: Any) -> Arithmetic:
    """The arithmetic of `kinhash._arithmetic.FIXED` for arrays of CuPy on this card."""

    def kernel(name: str) -> Any:
        return card.kernel("fixed.cu", name)

    def product(a: Any, b: Any) -> Any:
        with card.active() as cp:
            left, right = (cp.ascontiguousarray(each, dtype=np.float64) for each in (a, b))
            (m, n), d = left.shape, right.shape[1]
            out = cp.empty((m, d), np.float64)
            if out.size:
                grid = (-(-m // 64), -(-d // 64))
                kernel("product")(grid, (THREADS,), (left, right, *map(np.int64, (m, n, d)), out))
            return out

    def sums(a: Any) -> Any:
        with card.active() as cp:
            rows = cp.ascontiguousarray(a, dtype=np.float64).reshape(-1, a.shape[-1])
            out = cp.empty(len(rows), np.float64)
            if out.size:
                given = (rows, *map(np.int64, rows.shape), out)
                kernel("sums")((-(-len(rows) // THREADS),), (THREADS,), given)
            return out.reshape(a.shape[:-1])

    def of_each(name: str) -> Any:
        def function(x: Any) -> Any:
            with card.active() as cp:
                x = cp.ascontiguousarray(x, dtype=np.float64)
                out = cp.empty_like(x)
                if x.size:
                    kernel(name)((-(-x.size // THREADS),), (THREADS,), (x, np.int64(x.size), out))
                return out

        return function

    def missing(*_: Any) -> Any:
        raise NotImplementedError("maps that need this are encoded on the processor")

    exp, log, tanh = map(of_each, ("exponentials", "logarithms", "hyperbolic_tangents"))
    return Arithmetic(product, sums, missing, exp, log, tanh, missing, exact=True)
