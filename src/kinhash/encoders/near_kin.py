"""Turn directions into bits that rank kin by how alike they look: gradient steps on what a ranking sees.

Of a block of kin, each row sees the others by their cosine c and by its relaxed code u = tanh(z W). The loss
is the cross-entropy between ``softmax(c / τ)`` and ``softmax(α u·u' / d)``, as in stochastic neighbour
embedding: who is nearest matters, and how far the far ones are does not. Blocks are rows with a label in
common, for among those the bits rank; rows of any kind where labels have few rows, or there are none.

Hinton, Roweis. Stochastic neighbor embedding. NIPS 2002.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .._adam import Adam
from .._types import Floats32, Ints
from .shares import differences_of_shares

__all__ = ["rank_near_kin"]

STEPS, ROWS_A_STEP = (100, 300), 60  # a step for so many rows, within bounds
ROWS = 200  # of each of the two blocks of a step
FEW = 50  # rows of a label, fewer than which are no block
RATE, DECAYS = 0.1, (0.9, 0.99)  # Adam's, of which the rate falls to 0
SHARPNESS = np.float32(12)  # α
NEAR = np.float32(0.3)  # τ, in standard deviations of a block's cosines


def rank_near_kin(
    weights: Floats32, rows: Floats32, labels: sp.csr_array | None, rng: np.random.Generator
) -> Floats32:
    """Better weights (p, d) for rows (n, p) of unit length, whose labels (n, t) are known or None.

    Starts from ``weights``. Memory: ten arrays of their size and four of ROWS².
    """
    if len(rows) < 3:  # nothing to rank
        return weights
    some = rows[:: max(1, len(rows) // ROWS)]
    W = weights / (np.sqrt(np.mean((some @ weights) ** 2)) or np.float32(1))
    adam = Adam([W], DECAYS)
    draw = _blocks(labels, len(rows), rng)
    steps = int(np.clip(len(rows) // ROWS_A_STEP, *STEPS))
    for step in range(steps):
        gradient = _gradient(W, rows[draw()]) + _gradient(W, rows[draw()])
        adam.move([gradient], RATE * (1 - step / steps))
    return W


def _gradient(W: Floats32, z: Floats32) -> Floats32:
    """Of the loss of one block of rows z (k, p)."""
    codes = np.tanh(z @ W)
    sharpness = SHARPNESS / W.shape[1]
    wrong = codes @ codes.T
    differences_of_shares(wrong, sharpness, z @ z.T, NEAR)
    pull = (wrong + wrong.T) @ codes * (sharpness / len(z))
    gradient: Floats32 = z.T @ (pull * (1 - codes * codes))
    return gradient


def _blocks(labels: sp.csr_array | None, n_rows: int, rng: np.random.Generator) -> Callable[[], Ints]:
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
