"""Small data for the rivals' own tests."""

from __future__ import annotations

import numpy as np


def classes(n=120, p=8, k=4, seed=0):
    """Rows around k centers, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return rng.normal(size=(n, p)) + 2 * rng.normal(size=(k, p))[y], y


def tags(n=120, p=8, t=6, seed=0):
    """Rows that are sums of their tags' directions, and the 0/1 matrix of their tags."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, t)) < 0.35).astype(np.int8)
    Y[np.arange(n), rng.integers(0, t, n)] = 1
    return Y @ rng.normal(size=(t, p)) * 2 + rng.normal(size=(n, p)), Y


def signs(fitted):
    """Learned codes as ±1."""
    bits = np.unpackbits(fitted.codes_, axis=1)[:, : fitted.n_bits]
    return bits * 2.0 - 1


def one_hot(y):
    return (y[:, None] == np.unique(y)).astype(float)


def never_rises(values, slack=1e-6):
    """Whether a sequence goes down, up to rounding in its last digits."""
    values = np.asarray(values)
    return bool((np.diff(values) <= slack * np.abs(values).max()).all())
