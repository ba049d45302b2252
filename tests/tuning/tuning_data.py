"""Rows of a few classes or tags, as a fit hands them to the tuner."""

from __future__ import annotations

import numpy as np

from kinhash._stages import Stages
from kinhash.rows import Rows
from kinhash.supervision import from_labels
from kinhash.training import Training


def classes(n=400, p=6, k=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, p)) + rng.normal(size=(k, p))[y], y


def tags(n=400, p=6, t=5, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, t)) < 0.3).astype(np.int8)
    return Y @ rng.normal(size=(t, p)) + rng.normal(size=(n, p)), Y


def training(X, y, weights=None, seed=0):
    return Training(Rows(X), from_labels(y), weights, np.random.default_rng(seed), Stages(), 1)
