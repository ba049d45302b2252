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

from .._internal.blocks import block_slices
from .._internal.rows import Rows
from .._internal.stages import Stages
from .._internal.types import Array, Floats, Floats32, Ints, Matrix
from ..encoders import LabelModel, Plain, Preparation, labeled_set, logistic_labels, prepare_rows
from ..encoders import log_losses as losses_of_indicator
from ..supervision import Labels, Training, from_labels
from .cosine import ScoreRows
from .hold_out import folds

__all__ = [
    "Classifier",
    "expected_jaccard",
    "label_bytes",
    "log_losses",
    "out_of_fold",
    "shared_label",
    "unseen_chances",
]

PENALTIES = (100.0, 10.0, 1.0)
N_FOLDS = 5  # classifiers, each of which judges the rows that it did not see
TRIED_ROWS = 10_000  # rows on which a penalty is chosen
FEWEST_ROWS = 1_000
MOST_WORK = 1_000_000_000  # rows times columns times labels of one fit: seconds
MOST_CHANCES = 20_000_000  # probabilities of one block of rows
FLOOR = 1e-6  # of a probability, so that its logarithm is finite

Chances = Floats32


@dataclass(frozen=True, eq=False)
class Classifier:
    """Logistic regression on standardized columns: softmax for classes, one model for each tag."""

    preparation: Preparation
    model: LabelModel

    @classmethod
    def fit(cls, X: Matrix, labels: Labels, penalty: float | None = None, seed: int = 0) -> Classifier:
        """Fit on the rows of known label; ``penalty`` None takes the best on a tenth that is held out.

        Where columns times labels make a fit long, it takes a random part of the rows.
        """
        rng = np.random.default_rng(seed)
        known = rng.permutation(np.flatnonzero(labels.known))
        if penalty is None:
            penalty = best_penalty(X, labels, known[:TRIED_ROWS], seed)
        most = max(FEWEST_ROWS, MOST_WORK // max(1, X.shape[1] * len(labels.names)))
        training = Training(Rows(X), from_labels(labels, len(labels)), None, rng, Stages())
        rows = labeled_set(training, Plain(), rng, np.sort(known[:most]))
        return cls(rows.preparation, logistic_labels(rows, penalty))

    def __call__(self, X: Matrix) -> Chances:
        """Probabilities (n, t) of all labels, in the order of their names."""
        return np.asarray(self.model.probabilities(prepare_rows(Rows(X), self.preparation)), np.float32)


def best_penalty(X: Matrix, labels: Labels, rows: Ints, seed: int = 0) -> float:
    """The penalty with the smallest log loss on the last tenth of these rows."""
    n_fit = len(rows) - max(1, len(rows) // 10)
    if n_fit < 2:
        return PENALTIES[0]
    fit, held = np.sort(rows[:n_fit]), rows[n_fit:]
    losses = [
        log_losses(Classifier.fit(X[fit], labels[fit], penalty, seed)(X[held]), labels[held]).mean()
        for penalty in PENALTIES
    ]
    return PENALTIES[int(np.argmin(losses))]


def log_losses(chances: Array, labels: Labels) -> Floats:
    """Log loss of every row (n,): of its class, or summed over all tags."""
    return losses_of_indicator(chances, labels.indicator(), not labels.is_tags)


def out_of_fold(X: Matrix, labels: Labels, seed: int) -> Iterator[tuple[Ints, Chances]]:
    """Blocks of rows of known label, and their probabilities (k, t) by a classifier of the other folds."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(labels.known))
    at_once = max(1, min(TRIED_ROWS, MOST_CHANCES // max(1, len(labels.names))))
    penalty = best_penalty(X, labels, order[:TRIED_ROWS], seed)
    for split in folds(len(order), min(N_FOLDS, len(order))):
        fit = np.sort(order[split.train])
        classifier = Classifier.fit(X[fit], labels[fit], penalty, seed)
        for part in block_slices(len(split.held_out), at_once):
            held = order[split.held_out[part]]
            yield held, classifier(X[held])


def unseen_chances(X: Matrix, labels: Labels, rows: Ints) -> Chances:
    """Probabilities (k, t) of these rows of known label, by classifiers that did not see them."""
    out = np.zeros((len(rows), len(labels.names)), np.float32)
    place = np.full(len(labels), -1)
    place[rows] = np.arange(len(rows))
    for held, chances in out_of_fold(X, labels, 0):
        asked = place[held] >= 0
        out[place[held[asked]]] = chances[asked]
    return out


def shared_label(chances: Chances, database: Labels) -> ScoreRows:
    """Scores that rank rows by the probability of a shared label, tags taken as independent.

    A row with the tags T has ``1 - prod over T of (1 - p)``; minus the sum of the logs is in the same order.
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
    """Bytes per item that hold its true labels: one per label of a row, two where there are more than 256."""
    each = 1 if len(labels.names) <= 256 else 2
    carried = np.diff(labels.indicator()[np.flatnonzero(labels.known)].indptr)
    return each * max(1, math.ceil(carried.mean())) if len(carried) else each
