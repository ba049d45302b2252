"""Small methods for the tests: what they were given can be looked at, and their codes are known."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from kinhash.codes import pack_bits


class SignBits(BaseEstimator):
    """Mapped codes: signs of the columns. Learned codes: the class in binary."""

    seen: list = []  # noqa: RUF012  (on purpose shared: evaluate works on a copy)

    def __init__(self, n_bits=4, learns=True):
        self.n_bits = n_bits
        self.learns = learns

    def fit(self, X, y):
        self.seen.append((X, y))
        if self.learns:
            classes = np.unique(y, return_inverse=True)[1]
            self.codes_ = pack_bits((classes[:, None] >> np.arange(self.n_bits)) & 1)
        return self

    def encode(self, X):
        return pack_bits(np.asarray(X)[:, : self.n_bits] > 0)

    def score(self, X, y):
        raise AssertionError("nobody asks a method how good it is")


def blobs(n=300, p=6, k=5, seed=0):
    """Rows around class means, with features that differ in size."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = rng.normal(size=(k, p))[y] + rng.normal(size=(n, p)) * 0.7
    return (X * np.arange(1, p + 1)).astype(np.float32), np.array(list("abcdefghij"))[y]
