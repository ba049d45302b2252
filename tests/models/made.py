"""Models of every kind with weights at random, what they round, and rows to give them."""

from __future__ import annotations

import numpy as np

from kinhash.models import SIMILARITY_BITS, Builder, Join, WholeMap, whole_network

KINDS = ("network", "before", "near", "linear", "rbf", "root", "raw", "joined")


def of_length_one(A):
    n = np.linalg.norm(A, axis=1, keepdims=True)
    return A / np.where(n > 0, n, 1.0)


def made(seed, kind, p=7, d=3, h=5, size=1.0):
    """A model, the scores it rounds as a function of rows, and rows around its columns (100, p)."""
    rng = np.random.default_rng(seed)
    spread = 10.0 ** rng.uniform(-3, 3, p)
    mean = spread * rng.normal(size=p)
    X = mean + 1.5 * spread * rng.normal(size=(100, p))
    if kind in ("network", "before", "near"):
        return *network(rng, kind, mean, spread, d, h, size), X
    scale = size * 10.0 ** rng.uniform(-2, 2)
    weights, constant = scale * rng.normal(size=(p, d)), scale * rng.normal(size=d)
    builder = Builder(p)
    if kind in ("linear", "joined"):
        place, units = builder.affine(mean, spread, weights, constant)
        n = 1
        if kind == "joined":
            n, place, units = 2, builder.add(Join((place, place))), np.tile(units, 2)
        return builder.build(place, units), lambda X: np.tile((X - mean) / spread @ weights + constant, n), X
    if kind == "raw":
        centers, width, power = X[:p], float(np.linalg.norm(spread)), 2
        near = builder.raw_similarities(centers, width)
    else:
        centers, width, power = of_length_one(X[:p]), 0.4, 1 if kind == "root" else 2
        near = builder.unit_similarities(centers, width, power)

    def scores(X):
        away = np.linalg.norm((X if kind == "raw" else of_length_one(X))[:, None] - centers, axis=2)
        return np.exp(-(away**power) / (2 * width**2)) @ weights + constant

    place, units = builder.linear(near, SIMILARITY_BITS, weights, constant)
    return builder.build(place, units), scores, X


def network(rng, kind, mean, spread, d, h, size):
    p, inv = len(mean), 1 / spread
    inv[: p // 3] = 0  # columns that are left out
    more, inner = {}, lambda X: X
    columns = p
    if kind == "before":
        columns, basis = 4, rng.normal(size=(p, 4))
        more = {"before": (mean, inv, basis)}

        def inner(X, mean=mean, inv=inv):
            return ((X - mean) * inv) @ basis

        mean, inv = rng.normal(size=4), rng.uniform(0.5, 1.5, 4)
    if kind == "near":
        m, origin = 3, mean
        columns, centers = p + m, of_length_one(rng.normal(size=(m, p)) * spread)
        more = {"near": (origin, centers, 0.5)}

        def inner(X):
            away = ((of_length_one(X - origin)[:, None] - centers) ** 2).sum(axis=2)
            return np.hstack([X, np.exp(-away / 0.5)])

        mean, inv = np.r_[mean, rng.random(m)], np.r_[inv, rng.uniform(1, 5, m)]
    W, U = size * rng.normal(size=(columns, d)), rng.normal(size=(columns, h)) * 10.0 ** rng.uniform(-2, 2)
    b, c, V = rng.normal(size=d), rng.normal(size=h), size * rng.normal(size=(h, d))
    model = whole_network(mean, inv, W, b, U, c, V, **more)

    def scores(X):
        z = (inner(X) - mean) * inv
        return z @ W + b + np.maximum(z @ U + c, 0) @ V

    return model, scores


def hard_rows(X, seed=0):
    """Those rows, and some of them zero, huge, tiny, or without most of their entries; in either type."""
    rng = np.random.default_rng(seed)
    X = np.array(X, np.float64)
    X[:20] *= 10.0 ** rng.choice([-300, -30, -3, 3, 30], (20, 1))
    X[20:30] *= rng.random((10, X.shape[1])) < 0.2
    X[30], X[31], X[32] = 0, 1e-310, 3e38
    narrow = np.clip(X, -3e38, 3e38).astype(np.float32)
    return narrow if rng.random() < 0.5 else X


def stored(model):
    """The model as a file would give it back."""
    return WholeMap.from_arrays({name: each.copy() for name, each in model.arrays().items()})
