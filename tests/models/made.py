"""Maps of every kind with weights at random, and rows to give them."""

from __future__ import annotations

import numpy as np

from kinhash.encoders.feature_transform import ColumnsAndRBF, Preparation, UnitRBF
from kinhash.encoders.label_models import LinearLabels
from kinhash.encoders.maps import (
    ClassSimilarity,
    ExpectedMap,
    LinearMap,
    StackedMap,
    TagSimilarity,
)
from kinhash.solvers.readout import LinearReadout, PolishReadout, SolveReadout
from kinhash_bench.baselines.gaussian import Gaussian
from kinhash_bench.baselines.spectral_hashing import PeriodicMap

FEATURES = ("plain", "rbf", "root", "both", "gaussian")
KINDS = ("linear", "periodic", "classes", "matrix", "tags", "graded", "stacked")


def preparation(rng, features, p):
    """Columns of many sizes, and centers among such rows."""
    size = 10.0 ** rng.uniform(-3, 3, p)
    mean, c = size * rng.normal(size=p), int(rng.integers(1, 6))
    centers = mean + size * rng.normal(size=(c, p))
    width = float(rng.choice([0.2, 0.4, 1.5]))
    if features == "plain":
        return Preparation(mean, size)
    if features == "both":
        q = p + c
        return (
            Preparation(
                np.concatenate([mean, rng.random(c)]),
                np.concatenate([size, rng.uniform(0.1, 1, c)]),
                ColumnsAndRBF(UnitRBF.of(centers, width).centers, width),
            )
            if q
            else None
        )
    if features == "gaussian":
        rbf = Gaussian(centers, float(np.linalg.norm(size)))
    else:
        rbf = UnitRBF.of(centers, width, 1 if features == "root" else 2)
    return Preparation(rng.random(c), rng.uniform(0.1, 1, c), rbf)


def weights(rng, q, d):
    scale = 10.0 ** rng.uniform(-2, 2)
    return (scale * rng.normal(size=(q, d))).astype(np.float32), (scale * rng.normal(size=d)).astype(
        np.float32
    )


def made(rng, kind, features, p, d, readout="linear"):
    """A map of this kind from rows of p columns to d bits."""
    prepared = preparation(rng, features, p)
    q, t, m = len(prepared.mean), int(rng.integers(2, 6)), int(rng.integers(2, 7))
    if kind == "linear":
        return LinearMap(prepared, *weights(rng, q, d))
    if kind == "periodic":
        return PeriodicMap(prepared, *weights(rng, q, d))
    if kind == "stacked":
        other = LinearMap(preparation(rng, "plain", p), *weights(rng, p, 2))
        return StackedMap((made(rng, "classes", features, p, d), other))
    matrix, constant = rng.normal(size=(m, d)), rng.normal(size=d)
    read = LinearReadout(matrix, constant)
    if readout == "polish":
        gram = rng.normal(size=(d, d))
        read = PolishReadout(matrix, constant, gram @ gram.T, 0.3)
    if readout == "solve":
        coupling = rng.normal(size=(d, d))
        coupling = -(coupling @ coupling.T)
        np.fill_diagonal(coupling, 0.0)
        read = SolveReadout(matrix, constant, coupling, 2.0, str(rng.choice(["row", "symmetric", "none"])))
    link = "softmax" if kind in ("classes", "matrix") else "sigmoid"
    labels = LinearLabels(*weights(rng, q, t), link)
    if kind in ("tags", "graded"):
        patterns = rng.integers(0, 2, (m, t)).astype(np.uint8)
        expected = TagSimilarity(labels, patterns, kind == "graded")
    else:
        between = rng.uniform(-1, 1, (t, t)) if kind == "matrix" else None
        expected = ClassSimilarity(labels, rng.integers(0, t, m), between)
    return ExpectedMap(prepared, expected, read, np.zeros(d))


def rows(rng, found, n):
    """Rows like those of the map, some of zeros, some far out, in float32 or float64."""
    p = found.n_features
    part = found.parts[0] if isinstance(found, StackedMap) else found
    prepared = part.preparation
    if prepared.rbf is None or len(prepared.mean) > len(prepared.rbf.centers):
        X = prepared.mean[:p] + 2 * prepared.scale[:p] * rng.normal(size=(n, p))
    else:
        X = prepared.rbf.centers[rng.integers(0, len(prepared.rbf.centers), n)] + 0.3 * rng.normal(
            size=(n, p)
        )
    X = X * 10.0 ** rng.choice([0, 0, 0, -30, 30], (n, 1))
    X[rng.random(n) < 0.1] = 0
    return X.astype(np.float32) if rng.random() < 0.5 else np.asarray(X, np.float64)
