"""Gradient steps for bits that rank rows: kin bits by S, look-alike bits by cosine.

A rotation rounds relaxed codes with the least squared error, but a ranking cares about the nearest rows only.
So queries see the rows of a block by their relaxed bits ``u = tanh(e W)`` and ``v = tanh(f W)``, and the
loss is the cross-entropy between ``softmax(s / τ)``, with s the similarity that is wanted, and
``softmax(α u·v / d)``, as in stochastic neighbor embedding: who is nearest matters, and how far
the far ones are does not.

* *Kin bits*: queries have relaxed codes e that features predict, the database has f; s is S.
* *Look-alike bits*: each row of a block sees the others; s is the cosine of their features. The rows of a
  block have a label in common, because the bits rank rows of one label. If labels have few rows, or there
  are no labels, a block has rows of any label.

Hinton, Roweis. Stochastic neighbor embedding. NIPS 2002.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .._internal.numerics import Adam
from .._internal.types import Array, Floats, Floats32, Ints, Rng
from .fit_kernels import differences_of_shares

__all__ = ["rank_alike", "rank_kin"]

ROWS = 200  # of a block: queries of a step, and rows that they see
DECAYS = (0.9, 0.99)  # Adam's; the rate falls to 0
NEAR = 0.3  # τ, in standard deviations of a block's similarities: only the most similar rows matter
KIN_STEPS, KIN_RATE = 200, 0.05
KIN_SHARPNESS = 4.0  # α: bits must agree in more than a few places before they count as near
ALIKE_STEPS, ROWS_A_STEP, ALIKE_RATE = (100, 300), 60, 0.1  # one step per 60 rows, within bounds
ALIKE_SHARPNESS = np.float32(12)
FEW = 50  # a label of fewer rows has no block of its own


def rank_kin(
    weights: Floats,
    queries: Floats,
    database: Floats,
    similarity: Callable[[Ints, Ints], Floats],
    rng: Rng,
) -> Floats:
    """Better weights (r, d) for relaxed codes (n, r) of the same rows as queries and in the database.

    ``similarity(i, j)`` gives S between rows. Memory: six arrays like the weights and four of ROWS².
    """
    asked, ranked = queries.astype(np.float32), database.astype(np.float32)
    n, size = len(asked), min(ROWS, len(asked))
    W = weights.astype(np.float32)
    W /= np.sqrt(np.mean((asked @ W) ** 2)) or np.float32(1)
    adam = Adam([W], DECAYS)
    for step in range(KIN_STEPS):
        i, j = (rng.choice(n, size, replace=False, shuffle=False) for _ in range(2))
        gradient = kin_gradient(W, asked[i], ranked[j], similarity(i, j))
        adam.move([gradient], KIN_RATE * (1 - step / KIN_STEPS))
    return W.astype(np.float64)


def kin_gradient(W: Floats32, e: Floats32, f: Floats32, S: Floats) -> Floats32:
    """Gradient of the loss of one block of queries and database."""
    u, v = np.tanh(e @ W), np.tanh(f @ W)
    slope = np.float32(KIN_SHARPNESS / W.shape[1])
    wanted = _softmax((S / (NEAR * (S.std() or 1.0))).astype(np.float32))
    wrong = (_softmax(slope * (u @ v.T)) - wanted) * (slope / np.float32(len(e)))
    return e.T @ (wrong @ v * (1 - u * u)) + f.T @ (wrong.T @ u * (1 - v * v))


def _softmax(scores: Array) -> Array:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def rank_alike(weights: Floats32, rows: Floats32, labels: sp.csr_array | None, rng: Rng) -> Floats32:
    """Better weights (p, d) for rows (n, p) of unit length, whose labels (n, t) are known or None.

    Memory: ten arrays of the size of the weights and four of ROWS².
    """
    if len(rows) < 3:  # nothing to rank
        return weights
    some = rows[:: max(1, len(rows) // ROWS)]
    W = weights / (np.sqrt(np.mean((some @ weights) ** 2)) or np.float32(1))
    adam = Adam([W], DECAYS)
    draw = alike_blocks(labels, len(rows), rng)
    steps = int(np.clip(len(rows) // ROWS_A_STEP, *ALIKE_STEPS))
    for step in range(steps):
        gradient = alike_gradient(W, rows[draw()]) + alike_gradient(W, rows[draw()])
        adam.move([gradient], ALIKE_RATE * (1 - step / steps))
    return W


def alike_gradient(W: Floats32, z: Floats32) -> Floats32:
    """Gradient of the loss of one block of rows z (k, p)."""
    codes = np.tanh(z @ W)
    sharpness = ALIKE_SHARPNESS / W.shape[1]
    wrong = codes @ codes.T
    differences_of_shares(wrong, sharpness, z @ z.T, np.float32(NEAR))
    pull = (wrong + wrong.T) @ codes * (sharpness / len(z))
    return z.T @ (pull * (1 - codes * codes))


def alike_blocks(labels: sp.csr_array | None, n_rows: int, rng: Rng) -> Callable[[], Ints]:
    """Draws rows of a block: those with a label of a row taken at random, or any."""
    known = sp.csr_array((n_rows, 0)) if labels is None else labels
    by_label = known.tocsc()

    def members() -> Ints | None:
        row = rng.integers(n_rows)
        own = known.indices[known.indptr[row] : known.indptr[row + 1]]
        if not len(own):
            return None
        label = own[rng.integers(len(own))]
        found: Ints = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        return found if len(found) >= FEW else None

    def draw() -> Ints:
        among = members()
        size = n_rows if among is None else len(among)
        some: Ints = rng.choice(size, min(size, ROWS), replace=False, shuffle=False)
        return some if among is None else among[some]

    return draw
