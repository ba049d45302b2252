"""PCA, a random rotation, signs."""

from __future__ import annotations

import numpy as np
from rival_cases import classes

from kinhash.paper import ITQ
from kinhash_bench.baselines import RotatedPCA


def test_bits_are_signs_of_rotated_components():
    X, _ = classes(p=12)
    fitted = RotatedPCA(6, random_state=0).fit(X)
    centered = X - X.mean(axis=0)
    axes = np.linalg.svd(centered, full_matrices=False)[2][:6]
    scores = fitted.unrounded.scores(X)
    turn = np.linalg.lstsq(centered @ axes.T, scores, rcond=None)[0]
    np.testing.assert_allclose((centered @ axes.T) @ turn, scores, atol=1e-4 * np.abs(scores).max())
    np.testing.assert_allclose(turn.T @ turn / np.trace(turn.T @ turn) * 6, np.eye(6), atol=1e-4)


def test_itq_starts_there_and_loses_less_by_rounding():
    X, _ = classes(n=400, p=12)

    def loss(method):
        scores = method(8, random_state=1).fit(X).unrounded.scores(X)
        scores = scores / np.sqrt((scores**2).mean())
        return ((np.abs(scores) - 1) ** 2).mean()

    assert loss(ITQ) < loss(RotatedPCA)


def test_more_bits_than_columns():
    X, _ = classes(p=4)
    assert RotatedPCA(20, random_state=0).fit(X).transform(X).shape == (len(X), 20)
