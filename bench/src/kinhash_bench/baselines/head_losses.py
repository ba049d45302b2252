"""The losses of deep hashing methods, of the scores of a batch, with their gradients.

Letters: s scores (b, d), L labels (b, C), t codewords of rows (b, d), c codewords of labels (C, d).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .head import Array, Batch, HeadLoss

__all__ = [
    "CRHLoss",
    "CSQLoss",
    "CenteredLoss",
    "CroVCALoss",
    "DPNLoss",
    "GreedyHashLoss",
    "HashNetLoss",
    "OrthoHashLoss",
]


class CenteredLoss(HeadLoss):
    """A loss that draws rows towards fixed codewords of their labels (C, d)."""

    def __init__(self, codewords: Array) -> None:
        self.codewords = codewords

    def codes(self, labels: Array) -> Array:
        """The codeword of the class; of tags the majority, ties going to the first."""
        first = self.codewords[labels.argmax(axis=1)] * (labels.sum(axis=1, keepdims=True) > 0)
        return np.sign(labels @ self.codewords + 0.5 * first)


class CSQLoss(CenteredLoss):
    """Cross entropy of ``(1 + tanh s)/2`` with the bits of t, and λ times ``(|tanh s| − 1)²``, by bit."""

    def __init__(self, codewords: Array, quantization: float = 1e-4) -> None:
        super().__init__(codewords)
        self.quantization = quantization

    def gradient(self, scores: Array, batch: Batch) -> tuple[float, Array, Sequence[Array]]:
        t = self.codes(batch.labels)
        u, known = np.tanh(scores), t != 0
        cross = np.logaddexp(0, -2 * t * scores) * known
        gap = np.abs(u) - 1
        value = (cross + self.quantization * gap**2).mean()
        pull = -2 * t * _sigmoid(-2 * t * scores) * known
        pull = pull + self.quantization * 2 * gap * np.sign(u) * (1 - u * u)
        return float(value), pull / scores.size, ()


class DPNLoss(CenteredLoss):
    """Polarisation: ``max(0, m − s·t)`` bit by bit, mean over bits."""

    def __init__(self, codewords: Array, margin: float = 1.0) -> None:
        super().__init__(codewords)
        self.margin = margin

    def gradient(self, scores: Array, batch: Batch) -> tuple[float, Array, Sequence[Array]]:
        t = self.codes(batch.labels)
        gap = self.margin - scores * t
        value = np.maximum(gap, 0) * (t != 0)
        return float(value.mean()), -t * (gap > 0) / scores.size, ()


class OrthoHashLoss(CenteredLoss):
    """Softmax of ``scale·(cos(s, c) − margin·L)`` against the labels, whose shares sum to 1."""

    def __init__(self, codewords: Array, scale: float = 8.0, margin: float = 0.2) -> None:
        super().__init__(codewords)
        self.scale, self.margin = scale, margin

    def gradient(self, scores: Array, batch: Batch) -> tuple[float, Array, Sequence[Array]]:
        length = np.maximum(np.linalg.norm(scores, axis=1, keepdims=True), 1e-12)
        unit, axes = scores / length, self.codewords / np.sqrt(scores.shape[1])
        cosines = unit @ axes.T
        value, pull = _softmax_loss(self.scale * (cosines - self.margin * batch.labels), batch.shares)
        pull = self.scale * pull
        return value, (pull @ axes - (pull * cosines).sum(axis=1, keepdims=True) * unit) / length, ()


class GreedyHashLoss(HeadLoss):
    """Softmax of ``sign(s) V`` against the labels, and α times ``||s| − 1|³``; V (d, C) is trained along.

    The gradient passes the sign as if it were not there.
    """

    def __init__(
        self, n_labels: int, n_bits: int, rng: np.random.Generator, quantization: float = 0.1
    ) -> None:
        self.classifier = (rng.standard_normal((n_bits, n_labels)) / np.sqrt(n_bits)).astype(np.float32)
        self.weights = (self.classifier,)
        self.quantization = quantization

    def gradient(self, scores: Array, batch: Batch) -> tuple[float, Array, Sequence[Array]]:
        bits = np.where(scores > 0, 1.0, -1.0)
        value, pull = _softmax_loss(bits @ self.classifier, batch.shares)
        gap = np.abs(scores) - 1
        value += float(self.quantization * (np.abs(gap) ** 3).mean())
        cubes = self.quantization * 3 * gap * np.abs(gap) * np.sign(scores) / scores.size
        return value, pull @ self.classifier.T + cubes, (bits.T @ pull,)


class HashNetLoss(HeadLoss):
    """Likelihood of kinship in each pair, ``w_ij (log(1 + e^θ) − k_ij θ)`` with θ = 10/d · h_i·h_j.

    h = tanh(β s), with β growing from 1 to about 7; kin and strangers weigh alike altogether.
    """

    growth = 50.0  # β² − 1 at the end: 10,000 iterations of the authors' program

    def gradient(self, scores: Array, batch: Batch) -> tuple[float, Array, Sequence[Array]]:
        d = scores.shape[1]
        beta = float(np.sqrt(1 + self.growth * batch.progress))
        h, kin = np.tanh(beta * scores), batch.kin
        theta = 10 / d * (h @ h.T)
        others = ~kin
        np.fill_diagonal(others, False)
        n_kin, n_others = max(int(kin.sum()), 1), max(int(others.sum()), 1)
        weights = kin / n_kin + others / n_others
        value = float((weights * (np.logaddexp(0, theta) - kin * theta)).sum())
        pull = weights * (_sigmoid(theta) - kin) * 10 / d
        return value, ((pull + pull.T) @ h) * (1 - h * h) * beta, ()


class CRHLoss(HeadLoss):
    """`OrthoHashLoss` towards codewords that labels choose anew from a codebook (M, d) while training.

    ``moves`` times in the first half of a descent, labels are matched one to one with the codewords that
    agree most with the means of ``tanh s`` over their rows since the last time; of several tags in equal
    shares.
    """

    moves = 10

    def __init__(self, codebook: Array, n_labels: int) -> None:
        self.codebook, self.moved = codebook, 0
        self.inner = OrthoHashLoss(codebook[:n_labels])
        self.sums = np.zeros((n_labels, codebook.shape[1]))

    def gradient(self, scores: Array, batch: Batch) -> tuple[float, Array, Sequence[Array]]:
        due = min(int(2 * self.moves * batch.progress), self.moves)
        if due > self.moved:
            from scipy.optimize import linear_sum_assignment

            lengths = np.maximum(np.linalg.norm(self.sums, axis=1, keepdims=True), 1e-12)
            chosen = linear_sum_assignment(self.sums / lengths @ self.codebook.T, maximize=True)[1]
            self.inner = OrthoHashLoss(self.codebook[chosen])
            self.moved, self.sums = due, np.zeros_like(self.sums)
        self.sums += batch.shares.T @ np.tanh(scores)
        return self.inner.gradient(scores, batch)


class CroVCALoss(HeadLoss):
    """Cross entropy of the scores with the bits of their labels' means in the batch, less the coding rate.

    The rate is ``½ log det(I + d/(0.05 b) ZᵀZ) (d + b)/(d b)``, Z the scores at unit length; it weighs .1.
    The gradient passes the means as if they were given.
    """

    spread, rate = 0.05, 0.1

    def gradient(self, scores: Array, batch: Batch) -> tuple[float, Array, Sequence[Array]]:
        b, d = scores.shape
        means = batch.labels.T @ scores / np.maximum(batch.labels.sum(axis=0), 1)[:, None]
        bits = (batch.shares @ means > 0).astype(np.float64)
        cross = np.logaddexp(0, scores) - bits * scores
        length = np.maximum(np.linalg.norm(scores, axis=1, keepdims=True), 1e-12)
        unit, scale = scores / length, d / (b * self.spread)
        share = self.rate * (d + b) / (d * b)
        within = np.eye(d) + scale * unit.T @ unit
        value = cross.mean() - share * np.linalg.slogdet(within)[1] / 2
        pull = -share * scale * np.linalg.solve(within, unit.T).T
        pull = (pull - (pull * unit).sum(axis=1, keepdims=True) * unit) / length
        return float(value), (_sigmoid(scores) - bits) / scores.size + pull, ()


def _softmax_loss(logits: Array, shares: Array) -> tuple[float, Array]:
    """Mean cross entropy with label shares that sum to 1 (or 0, for a row without labels); its gradient."""
    logits = logits - logits.max(axis=1, keepdims=True)
    chances = np.exp(logits)
    total = chances.sum(axis=1, keepdims=True)
    value = -(shares * (logits - np.log(total))).sum() / len(logits)
    return float(value), (chances / total * shares.sum(axis=1, keepdims=True) - shares) / len(logits)


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))
