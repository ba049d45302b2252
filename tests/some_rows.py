"""Small sets of rows with classes, tags and pairs, for tests of hashers."""

from __future__ import annotations

import numpy as np


def classes(n=300, p=16, k=5, noise=1.0, seed=0):
    """Rows around k centers, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return noise * rng.normal(size=(n, p)) + 2 * rng.normal(size=(k, p))[y], y


def tags(n=300, p=16, t=6, seed=0):
    """Rows that are sums of their tags' directions, and their tag sets."""
    rng = np.random.default_rng(seed)
    y = [set(rng.choice(t, rng.integers(1, 4), replace=False).tolist()) for _ in range(n)]
    Y = np.array([[tag in row for tag in range(t)] for row in y], float)
    return Y @ rng.normal(size=(t, p)) * 2 + rng.normal(size=(n, p)), y


def pairs(y, m=2000, seed=0):
    """Random pairs of different rows, and whether they have the same label."""
    left, right = np.random.default_rng(seed).integers(0, len(y), (2, m))
    left, right = left[left != right], right[left != right]
    return left, right, np.asarray(y)[left] == np.asarray(y)[right]


def clicks(y, m=2000, seed=0):
    """Pairs of rows that have the same label."""
    left, right, same = pairs(y, 10 * m, seed)
    return left[same][:m], right[same][:m]


def distances(codes, others=None):
    """Hamming distances (n, m), bit by bit."""
    bits = codes.bits().astype(int)
    theirs = bits if others is None else others.bits().astype(int)
    return (bits[:, None] != theirs[None]).sum(axis=2)


def order(codes, similar, others=None):
    """Share of (similar, other) pairs of pairs of rows that distances put in order; ties count half."""
    away = distances(codes, others)
    apart = ~np.eye(len(away), dtype=bool) if others is None else np.ones(away.shape, bool)
    near, far = away[similar & apart], away[~similar & apart]
    counts = np.bincount(far, minlength=codes.n_bits + 1)
    above = counts.sum() - np.cumsum(counts)
    return float((above[near] + counts[near] / 2).mean() / counts.sum())


def same(y, z=None):
    """Which rows have the same label (n, m)."""
    return np.asarray(y)[:, None] == np.asarray(y if z is None else z)
