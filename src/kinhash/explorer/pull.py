"""Steps that pull linked points together and push others apart: the moving part of the map.

With ``q(d) = 1 / (1 + d²)``, linked points climb ``log q`` and random pairs ``log(1 − q)``, one pair at a
time with a step that shrinks to zero. One thread and a generator of our own: the same seed, the same map.

Tang, Liu, Zhang, Mei. Visualizing large-scale and high-dimensional data. 2016.
"""

from __future__ import annotations

from .._internal.compile import njit

__all__ = ["settle"]

LARGEST_STEP = 4.0
NEAR = 1e-3  # what keeps points in one place from being pushed infinitely far


@njit(cache=True, nogil=True)
def settle(places, heads, tails, n_steps, n_pushed, gravity, seed):  # type: ignore[no-untyped-def]
    """Move ``places`` (n, 2) in place: ``n_steps`` rounds over the links ``heads[i] → tails[i]``."""
    n = places.shape[0]
    state = (seed * 2 + 1) & 0xFFFFFFFF
    for step in range(n_steps):
        rate = 1.0 - step / n_steps
        for link in range(heads.shape[0]):
            i, j = heads[link], tails[link]
            dx, dy = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
            pull = -2.0 / (1.0 + dx * dx + dy * dy)
            mx = rate * min(LARGEST_STEP, max(-LARGEST_STEP, pull * dx))
            my = rate * min(LARGEST_STEP, max(-LARGEST_STEP, pull * dy))
            places[i, 0] += mx
            places[i, 1] += my
            places[j, 0] -= mx
            places[j, 1] -= my
            places[i, 0] -= rate * gravity * places[i, 0]
            places[i, 1] -= rate * gravity * places[i, 1]
            for _ in range(n_pushed):
                state = (1664525 * state + 1013904223) & 0xFFFFFFFF
                k = (state * n) >> 32
                if k == i:
                    continue
                dx, dy = places[i, 0] - places[k, 0], places[i, 1] - places[k, 1]
                square = dx * dx + dy * dy
                push = 2.0 / ((NEAR + square) * (1.0 + square))
                places[i, 0] += rate * min(LARGEST_STEP, max(-LARGEST_STEP, push * dx))
                places[i, 1] += rate * min(LARGEST_STEP, max(-LARGEST_STEP, push * dy))
