"""Coordinate descent on the bits of single rows towards codes that stay as they are."""

from __future__ import annotations

from .._compile import njit

__all__ = ["polish_rows"]


@njit(cache=True, nogil=True)
def polish_rows(B, b, G, bend, sweeps, least=None):  # type: ignore[no-untyped-def]
    """Rows outside the sample, whose bits do not enter G: coordinate descent on each, in place.

    ``least`` (n, 1), where given, falls to the least |field| by which a bit of the row was ever decided.
    """
    n, d = B.shape
    for i in range(n):
        for _ in range(sweeps):
            changed = 0
            for k in range(d):
                bent = 0.0
                for l in range(d):
                    if l != k:
                        bent += G[k, l] * B[i, l]
                f = b[i, k] - bend * bent
                if least is not None:
                    least[i, 0] = min(least[i, 0], abs(f))
                new = 1.0 if f > 0 else (-1.0 if f < 0 else B[i, k])
                if new != B[i, k]:
                    B[i, k] = new
                    changed += 1
            if changed == 0:
                break
