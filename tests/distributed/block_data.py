"""Rows of a few classes or tags, and the hasher that every engine is held against."""

from __future__ import annotations

import numpy as np

from kinhash import EnergyHasher


def classes(n=600, p=8, k=6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return (rng.normal(size=(n, p)) + 2 * rng.normal(size=(k, p))[y]).astype(np.float32), y


def indicator(n=600, p=8, t=6, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, t)) < 0.25).astype(np.int8)
    return (Y @ rng.normal(size=(t, p)) * 2 + rng.normal(size=(n, p))).astype(np.float32), Y


class Recorder:
    """Stands in for a hasher: it notes what it was fitted to."""

    random_state = 0

    def fit(self, X, y=None):
        self.X = X
        rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        labels = y.toarray() if hasattr(y, "toarray") else y
        self.seen = rows.tolist(), labels.tolist() if hasattr(labels, "tolist") else labels
        return self


def hasher():
    return EnergyHasher(16, random_state=0)
