"""Logistic regression of all labels at once: one independent problem per tag, or one softmax over classes.

For label t: ``min Σ_i w_i [log(1 + e^{z_it}) − y_it z_it] + ½λ‖W_t‖²`` with ``z = x W + c``. The Hessian is
close to ``p̄(1 − p̄)·XᵀX + λI``, so in the eigenvectors of ``XᵀX``, scaled by the square root of that diagonal,
it is close to the identity and L-BFGS needs a dozen or two steps, on correlated features too. All
labels share the products with X; each tag has its own step and its own history, while classes, which
exclude each other (``log Σ_t e^{z_it} − z_{i,y_i}``), move together.

Liu, Nocedal. On the limited memory BFGS method for large scale optimization. 1989.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._blocks import map_blocks

__all__ = ["GramBasis", "LabelledRows", "fit_logistic"]

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
MEMORY = 8  # steps L-BFGS remembers


@dataclass(frozen=True)
class GramBasis:
    """Eigenvalues (q,) and eigenvectors (q, q) of XᵀX for standardised rows."""

    values: Floats
    vectors: Floats32

    @classmethod
    def of(cls, gram: Floats) -> GramBasis:
        """From the Gram matrix of the rows."""
        values, vectors = np.linalg.eigh(gram)
        return cls(np.maximum(values, 0.0), vectors.astype(np.float32))


@dataclass(frozen=True)
class LabelledRows:
    """Rows in blocks: ``read(block)`` gives prepared rows (b, q), 0/1 labels (b, t), and weights or None."""

    blocks: list[slice]
    read: Callable[[slice], tuple[Floats32, Floats32, Floats32 | None]]
    n_jobs: int | None = None


def fit_logistic(
    rows: LabelledRows,
    basis: GramBasis,
    label_means: Floats,
    total_weight: float,
    penalty: float,
    *,
    exclusive: bool = False,
    start: tuple[Floats32, Floats32] | None = None,
    max_steps: int = 25,
    tolerance: float = 3e-3,
) -> tuple[Floats32, Floats32]:
    """Weights (q, t) and intercepts (t,), until the gradient has shrunk by ``tolerance``.

    Each step reads all rows once: 4·n·q·t operations. Memory beyond the rows: about twenty (q, t) arrays.
    """
    problem = _Problem(rows, basis, label_means, total_weight, penalty, exclusive)
    theta = problem.starting_point(start)
    value, gradient = problem(theta)
    first = float((gradient**2).sum())
    history = _History(exclusive)
    dot = history.dot
    direction = -gradient
    step = np.ones(len(label_means))
    for _ in range(max_steps):
        if not first or float((gradient**2).sum()) <= tolerance**2 * first:
            break
        uphill = dot(gradient, direction) >= 0
        direction[:, uphill] = -gradient[:, uphill]
        slope = dot(gradient, direction)
        new_value, new_gradient = problem(theta + step * direction)
        # Labels whose step went too far stay where they are and try a shorter one next time.
        fine = new_value <= value + 1e-4 * step * slope + 1e-6 * np.abs(value)
        moved = np.where(fine, step * direction, 0.0)
        history.add(moved, np.where(fine, new_gradient - gradient, 0.0), fine)
        theta, value = theta + moved, np.where(fine, new_value, value)
        gradient = np.where(fine, new_gradient, gradient)
        direction = np.where(fine, history.direction(gradient), direction)
        step = np.where(fine, 1.0, 0.4 * step)
    return problem.weights(theta)


class _Problem:
    """Value (t,) and gradient (q + 1, t) in the scaled coordinates; the last row is the intercept."""

    def __init__(
        self,
        rows: LabelledRows,
        basis: GramBasis,
        label_means: Floats,
        total_weight: float,
        penalty: float,
        exclusive: bool,
    ) -> None:
        self.rows, self.basis, self.penalty = rows, basis, penalty
        self.exclusive = exclusive
        self.chance = (label_means * total_weight + 0.5) / (total_weight + 1)
        spread = np.minimum(self.chance * (1 - self.chance), 0.25)
        curvature = np.vstack([basis.values[:, None] * spread + penalty, (total_weight * spread)[None]])
        self.scale = 1 / np.sqrt(np.maximum(curvature, 1e-12))

    def starting_point(self, start: tuple[Floats32, Floats32] | None) -> Floats:
        q, t = self.scale.shape[0] - 1, self.scale.shape[1]
        theta = np.zeros((q + 1, t))
        theta[q] = np.log(self.chance / (1.0 if self.exclusive else 1 - self.chance))
        if start is not None:
            theta[:q], theta[q] = self.basis.vectors.T @ start[0], start[1]
        return theta / self.scale

    def weights(self, theta: Floats) -> tuple[Floats32, Floats32]:
        plain = (theta * self.scale).astype(np.float32)
        return self.basis.vectors @ plain[:-1], plain[-1]

    def __call__(self, theta: Floats) -> tuple[Floats, Floats]:
        W, c = self.weights(theta)

        def one(block: slice) -> tuple[Floats, Floats32, Floats]:
            x, y, w = self.rows.read(block)
            z = x @ W + c
            loss, error = _softmax_loss(z, y) if self.exclusive else _sigmoid_loss(z, y)
            if w is not None:
                loss, error = loss * w[:, None], error * w[:, None]
            return loss.sum(axis=0, dtype=np.float64), x.T @ error, error.sum(axis=0, dtype=np.float64)

        value = np.zeros(len(c))
        by_weight, by_intercept = np.zeros(W.shape), np.zeros(len(c))
        for loss, gradient, errors in map_blocks(one, self.rows.blocks, self.rows.n_jobs):
            value += loss
            by_weight += gradient
            by_intercept += errors
        plain = theta[:-1] * self.scale[:-1]
        value += 0.5 * self.penalty * (plain**2).sum(axis=0)
        if self.exclusive:  # one problem: every class sees its whole value
            value[:] = value.sum()
        rotated = self.basis.vectors.T @ by_weight.astype(np.float32) + self.penalty * plain
        return value, np.vstack([rotated, by_intercept[None]]) * self.scale


def _sigmoid_loss(z: Floats32, y: Floats32) -> tuple[Floats32, Floats32]:
    decay = np.exp(-np.abs(z))
    loss = np.log1p(decay) + np.maximum(z, 0) - y * z
    return loss, np.where(z > 0, np.float32(1), decay) / (1 + decay) - y


def _softmax_loss(z: Floats32, y: Floats32) -> tuple[Floats32, Floats32]:
    z = z - z.max(axis=1, keepdims=True)
    odds = np.exp(z)
    total = odds.sum(axis=1, keepdims=True)
    return y * (np.log(total) - z), odds / total - y


class _History:
    """The last steps and gradient changes of every label, and the direction they suggest."""

    def __init__(self, together: bool) -> None:
        self.together = together
        self.steps: list[Floats] = []
        self.changes: list[Floats] = []
        self.rates: list[Floats] = []

    def dot(self, left: Floats, right: Floats) -> Floats:
        """Inner products (t,) per label, or the one over all labels for every label."""
        products = (left * right).sum(axis=0)
        return np.full_like(products, products.sum()) if self.together else products

    def add(self, step: Floats, change: Floats, fine: npt.NDArray[np.bool_]) -> None:
        product = self.dot(step, change)
        useful = fine & (product > 1e-12 * self.dot(change, change)) & (product > 0)
        self.steps.append(step)
        self.changes.append(change)
        self.rates.append(np.where(useful, 1 / np.where(useful, product, 1.0), 0.0))
        for kept in (self.steps, self.changes, self.rates):
            del kept[:-MEMORY]

    def direction(self, gradient: Floats) -> Floats:
        """Two-loop recursion; a label without a useful last step keeps the unit metric."""
        q = gradient.copy()
        alphas = []
        for s, y, rate in zip(self.steps[::-1], self.changes[::-1], self.rates[::-1], strict=True):
            alpha = rate * self.dot(s, q)
            q -= alpha * y
            alphas.append(alpha)
        size = self.rates[-1] * self.dot(self.changes[-1], self.changes[-1])
        q /= np.where(size > 0, size, 1.0)
        for s, y, rate, alpha in zip(self.steps, self.changes, self.rates, alphas[::-1], strict=True):
            q += (alpha - rate * self.dot(y, q)) * s
        return -q
