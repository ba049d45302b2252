"""The discrete step of SDH: all bits of all rows, one bit after the other, as numba compiles it."""

from __future__ import annotations

import numpy as np

from kinhash.plugins import Floats, block_slices, map_blocks, njit

__all__ = ["settle_bits", "settle_rows"]


def settle_bits(
    B: Floats, pull: Floats, coupling: Floats, n_sweeps: int, n_jobs: int | None = None
) -> Floats:
    """Minimize ``Σ_i b_i V b_iᵀ − 2 q_i·b_i`` over bits, by sweeps from the codes B (n, d).

    ``pull`` q (n, d), ``coupling`` V (d, d) symmetric. Rows do not meet, so each is swept until it rests or
    ``n_sweeps`` are over: the same bits as sweeping columns. A tie keeps the old bit.
    """
    out = B.copy()

    def one(part: slice) -> None:
        settle_rows(out[part], out[part] @ coupling, np.ascontiguousarray(pull[part]), coupling, n_sweeps)

    for _ in map_blocks(one, block_slices(len(B), 4096), n_jobs):
        pass
    return out


@njit(cache=True, nogil=True)
def settle_rows(B, field, pull, coupling, n_sweeps):  # type: ignore[no-untyped-def]
    """Sweeps over the rows of B in place; ``field`` = B @ coupling is kept up to date."""
    n, d = B.shape
    for i in range(n):
        for _ in range(n_sweeps):
            moved = False
            for k in range(d):
                score = pull[i, k] - (field[i, k] - B[i, k] * coupling[k, k])
                if score * B[i, k] < 0:
                    B[i, k] = -B[i, k]
                    moved = True
                    step = 2 * B[i, k]
                    for j in range(d):
                        field[i, j] += step * coupling[k, j]
            if not moved:
                break
