"""How large the argument of the sigmoid can get in each row: a kernel of the linear systems."""

from __future__ import annotations

import numpy as np

from .._internal.compile import njit

__all__ = ["row_bounds"]


@njit(cache=True, nogil=True)
def row_bounds(A, own, factor, size):  # type: ignore[no-untyped-def]
    """max_k (Σ_l |A_kl + factor_i own_ik own_il| + |b_ik|), without forming every A_i.

    All k of a row are summed side by side, each over l in order: vector instructions, and one order of sums.
    """
    rows, d = own.shape
    out, columns = np.zeros(rows), A.T.copy()
    for i in range(rows):
        total, scale = size[i].copy(), factor[i] * own[i]
        for l in range(d):
            for k in range(d):
                if l != k:
                    total[k] += abs(columns[l, k] + scale[k] * own[i, l])
        out[i] = max(0.0, total.max())
    return out
