"""How large the argument of the sigmoid can get in each row: a kernel of the linear systems."""

from __future__ import annotations

import numpy as np

from .._compile import njit

__all__ = ["row_bounds"]


@njit(cache=True, nogil=True, fastmath={"reassoc"})  # sums of absolute values may be reordered
def row_bounds(A, own, factor, size):  # type: ignore[no-untyped-def]
    """max_k (Σ_l |A_kl + factor_i own_ik own_il| + |b_ik|), without forming every A_i."""
    rows, d = own.shape
    out = np.zeros(rows)
    for i in range(rows):
        for k in range(d):
            total = size[i, k]
            scale = factor[i] * own[i, k]
            for l in range(d):
                if l != k:
                    total += abs(A[k, l] + scale * own[i, l])
            if total > out[i]:
                out[i] = total
    return out
