"""Turn relaxed codes into bits that rank rows by their similarity S: gradient steps on what a ranking sees.

A rotation rounds relaxed codes with the least squared error, but a ranking cares about the nearest rows only.
So, as for look-alike bits (`near_kin`): queries with relaxed codes e see rows with relaxed codes f by their
relaxed bits u = tanh(e W) and v = tanh(f W). The loss is the cross-entropy between ``softmax(S / τ)`` and
``softmax(α u·v / d)``. W starts at the rotation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._adam import Adam
from .._types import Array, Floats, Floats32, Ints

__all__ = ["rank_kin"]

STEPS = 200
ROWS = 200  # queries of a step, and rows of its database
RATE, DECAYS = 0.05, (0.9, 0.99)  # Adam's; the rate falls to 0
SHARPNESS = 4.0  # α: bits must agree in more than a few places before they count as near
NEAR = 0.3  # τ, in standard deviations of a block's similarities: only the most similar rows matter


def rank_kin(
    weights: Floats,
    queries: Floats,
    database: Floats,
    similarity: Callable[[Ints, Ints], Floats],
    rng: np.random.Generator,
) -> Floats:
    """Better weights (r, d) for relaxed codes (n, r) of the same rows as queries and in the database.

    ``similarity(i, j)`` gives S between rows. Memory: six arrays like the weights and four of ROWS².
    """
    asked, ranked = queries.astype(np.float32), database.astype(np.float32)
    n, size = len(asked), min(ROWS, len(asked))
    W = weights.astype(np.float32)
    W /= np.sqrt(np.mean((asked @ W) ** 2)) or np.float32(1)
    adam = Adam([W], DECAYS)
    for step in range(STEPS):
        i, j = (rng.choice(n, size, replace=False, shuffle=False) for _ in range(2))
        gradient = _gradient(W, asked[i], ranked[j], similarity(i, j))
        adam.move([gradient], RATE * (1 - step / STEPS))
    return W.astype(np.float64)


def _gradient(W: Floats32, e: Floats32, f: Floats32, S: Floats) -> Floats32:
    """Of the loss of one block of queries and database."""
    u, v = np.tanh(e @ W), np.tanh(f @ W)
    slope = np.float32(SHARPNESS / W.shape[1])
    wanted = _softmax((S / (NEAR * (S.std() or 1.0))).astype(np.float32))
    wrong = (_softmax(slope * (u @ v.T)) - wanted) * (slope / np.float32(len(e)))
    gradient: Floats32 = e.T @ (wrong @ v * (1 - u * u)) + f.T @ (wrong.T @ u * (1 - v * v))
    return gradient


def _softmax(scores: Array) -> Array:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)
