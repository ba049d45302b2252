"""The classifier people would build instead of codes: logistic regression, and the database's own labels.

A query is classified, and rows rank by how well their labels fit: by the probability that they share a label
with the query, or by the Jaccard similarity to expect.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, softmax

from .._internal.blocks import block_slices
from .._internal.types import Array, Floats, Floats32, Ints, Matrix
from ..labels import Labels
from .rankings import ScoreRows

STRENGTHS = (0.03, 0.3, 3.0)  # values of C that are tried, as in scikit-learn
STEPS = 40  # of L-BFGS
N_FOLDS = 5  # classifiers, each of which judges the rows that it did not see
TRIED_ROWS = 10_000  # rows of one block of probabilities
CHOOSING_ROWS, FEWEST_ROWS = 1_500, 1_000  # rows on which C is chosen; rows that are always fitted on
MOST_WORK = 100_000_000  # rows times columns times labels of one fit: seconds
MOST_CHANCES = 20_000_000  # probabilities of one block of rows
FLOOR = 1e-6  # of a probability, so that its logarithm is finite

Chances = Floats32


@dataclass(frozen=True, eq=False)
class Classifier:
    """Logistic regression on standardized columns: softmax for classes, one model for each tag."""

    mean: Floats
    scale: Floats
    weights: Floats32  # (columns + 1, labels), the intercepts last
    is_tags: bool
    C: float

    @classmethod
    def fit(cls, X: Matrix, labels: Labels, C: float | None = None, seed: int = 0) -> Classifier:
        """Fit on rows of known label, a random part of them where columns times labels make it long.

        Parameters
        ----------
        X : matrix of shape (n, p)
        labels : Labels
        C : float, default=None
            Inverse strength of the penalty, as in scikit-learn; None takes the one with the smallest log loss
            on a tenth that is held out.
        seed : int, default=0
        """
        known = np.random.default_rng(seed).permutation(np.flatnonzero(labels.known))
        if C is None:
            C = _best_strength(X, labels, known[:CHOOSING_ROWS], seed)
        rows = np.sort(known[: max(FEWEST_ROWS, MOST_WORK // max(1, X.shape[1] * len(labels.names)))])
        Z, Y = X[rows], labels.indicator()[rows].toarray().astype(np.float32)
        if sp.issparse(Z):  # it would not stay sparse
            mean, spread = np.zeros(Z.shape[1]), np.asarray(np.sqrt(Z.power(2).mean(axis=0))).ravel()
        else:
            mean, spread = (np.asarray(of(Z, axis=0, dtype=np.float64)) for of in (np.mean, np.std))
        constant = spread <= 1e-6 * (np.abs(mean) + spread.max(initial=0))
        scale = np.where(constant, np.inf, spread)
        Z, n, shape = _standardized(Z, mean, scale), max(1, len(rows)), (len(mean) + 1, Y.shape[1])

        def loss(flat: Floats) -> tuple[float, Floats]:
            W = flat.reshape(shape).astype(np.float32)
            A = np.asarray(Z @ W[:-1]) + W[-1]
            if labels.is_tags:
                P, value = expit(A), (np.logaddexp(0, A) - A * Y).sum(dtype=np.float64)
            else:
                P = softmax(A, axis=1)
                value = -np.log(np.maximum((P * Y).sum(axis=1), FLOOR)).sum(dtype=np.float64)
            grad = np.vstack([np.asarray(Z.T @ (P - Y)), (P - Y).sum(axis=0)]).astype(np.float64) / n
            grad[:-1] += flat.reshape(shape)[:-1] / (C * n)
            return float(value / n + (flat.reshape(shape)[:-1] ** 2).sum() / (2 * C * n)), grad.ravel()

        found = minimize(
            loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
        )
        return cls(mean, scale, found.x.reshape(shape).astype(np.float32), labels.is_tags, C)

    def __call__(self, X: Matrix) -> Chances:
        """Probabilities (n, t) of all labels, in the order of their names."""
        A = np.asarray(_standardized(X, self.mean, self.scale) @ self.weights[:-1]) + self.weights[-1]
        return np.asarray(expit(A) if self.is_tags else softmax(A, axis=1), np.float32)


def _standardized(X: Matrix, mean: Floats, scale: Floats) -> Matrix:
    if sp.issparse(X):
        return sp.csr_array(X @ sp.diags_array(1 / scale), dtype=np.float32)
    return ((np.asarray(X, np.float64) - mean) / scale).astype(np.float32)


def _best_strength(X: Matrix, labels: Labels, rows: Ints, seed: int) -> float:
    """The C with the smallest log loss on the last tenth of these rows."""
    n_fit = len(rows) - max(1, len(rows) // 10)
    if n_fit < 2:
        return STRENGTHS[0]
    fit, held = np.sort(rows[:n_fit]), rows[n_fit:]
    losses = [
        log_losses(Classifier.fit(X[fit], labels[fit], C, seed)(X[held]), labels[held]).mean()
        for C in STRENGTHS
    ]
    return STRENGTHS[int(np.argmin(losses))]


def log_losses(chances: Array, labels: Labels) -> Floats:
    """Log loss of every row (n,): of its class, or summed over all tags."""
    p, Y = np.asarray(chances, np.float64), labels.indicator().toarray() > 0
    if not labels.is_tags:
        return -np.log(np.maximum((p * Y).sum(axis=1), FLOOR))
    return -np.log(np.maximum(np.where(Y, p, 1 - p), FLOOR)).sum(axis=1)


def out_of_fold(X: Matrix, labels: Labels, seed: int) -> Iterator[tuple[Ints, Chances]]:
    """Blocks of rows of known label, and their probabilities (k, t) by a classifier of the other folds."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(labels.known))
    at_once = max(1, min(TRIED_ROWS, MOST_CHANCES // max(1, len(labels.names))))
    C = _best_strength(X, labels, order[:CHOOSING_ROWS], seed)
    n_folds = min(N_FOLDS, len(order))
    fold = np.arange(len(order)) % max(1, n_folds)
    for k in range(n_folds):
        fit, judged = np.sort(order[fold != k]), order[fold == k]
        classifier = Classifier.fit(X[fit], labels[fit], C, seed)
        for part in block_slices(len(judged), at_once):
            yield judged[part], classifier(X[judged[part]])


def unseen_chances(X: Matrix, labels: Labels, rows: Ints, seed: int) -> Chances:
    """Probabilities (k, t) of these rows of known label, by classifiers that did not see them."""
    out = np.zeros((len(rows), len(labels.names)), np.float32)
    place = np.full(len(labels), -1)
    place[rows] = np.arange(len(rows))
    for judged, chances in out_of_fold(X, labels, seed):
        asked = place[judged] >= 0
        out[place[judged[asked]]] = chances[asked]
    return out


def shared_label(chances: Chances, database: Labels) -> ScoreRows:
    """Scores that rank rows by the probability of a shared label, tags taken as independent.

    A row with the tags T has ``1 - prod over T of (1 - p)``; minus the sum of the logs is in the same order.
    Rows without a label have 0.
    """
    indicator = sp.csr_array(database.indicator(), dtype=np.float32)
    evidence = chances if not database.is_tags else -np.log1p(-np.minimum(chances, np.float32(1 - FLOOR)))
    return lambda wanted: np.asarray(indicator @ evidence[wanted].T).T


def expected_jaccard(chances: Chances, database: Labels) -> ScoreRows:
    """Scores that rank rows with tags T by ``E|A ∩ T| / E|A ∪ T|``; the query's tags A are independent."""
    indicator = sp.csr_array(database.indicator(), dtype=np.float32)
    sizes = np.diff(indicator.indptr).astype(np.float32)

    def scores(wanted: Ints) -> Array:
        shared = np.asarray(indicator @ chances[wanted].T).T
        union = sizes + chances[wanted].sum(axis=1, keepdims=True) - shared
        return shared / np.maximum(union, FLOOR)

    return scores


def label_bytes(labels: Labels) -> int:
    """Bytes per item that hold its true labels: one per label of a row, two where there are more than 255."""
    each = 1 if len(labels.names) < 256 else 2
    carried = np.diff(labels.indicator()[np.flatnonzero(labels.known)].indptr)
    return each * max(1, math.ceil(carried.mean())) if len(carried) else each
