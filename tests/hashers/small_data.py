"""Small sets of rows with classes, tags and similarities, and trainings made of them."""

from __future__ import annotations

import numpy as np

from kinhash._internal.rows import Rows
from kinhash._internal.stages import Stages
from kinhash.supervision import Training, from_labels


def classes(n=150, p=6, k=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y], y


def tags(n=150, p=6, t=7, seed=0):
    rng = np.random.default_rng(seed)
    y = [set(rng.choice(t, rng.integers(1, 4), replace=False).tolist()) for _ in range(n)]
    Y = np.array([[tag in row for tag in range(t)] for row in y], float)
    return Y @ rng.normal(size=(t, p)) * 2 + rng.normal(size=(n, p)), y


def similarity(y):
    return np.where(np.asarray(y)[:, None] == np.asarray(y), 1.0, -1.0)


def training(X, y, weights=None, seed=0):
    return Training(Rows(X), from_labels(y), weights, np.random.default_rng(seed), Stages(), 1)


def two_views(n=300, p=8, q=12, k=4, seed=0):
    """Two kinds of features of the same rows, each seeing class and row through noise of its own; classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    item = 3 * rng.normal(size=(k, p))[y] + rng.normal(size=(n, p))
    X = item + 0.2 * rng.normal(size=(n, p))
    return X, item @ rng.normal(size=(p, q)) + 0.2 * rng.normal(size=(n, q)), y
