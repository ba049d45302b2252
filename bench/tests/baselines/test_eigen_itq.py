"""EigenITQ: signs of turned eigenvectors of the centered similarity."""

from __future__ import annotations

import numpy as np
from rival_cases import classes, signs, tags

from kinhash_bench.baselines import EigenITQ


def test_codes_come_from_the_centered_similarity():
    """Every learned code is the sign of a vector in the span of the top eigenvectors of J S J."""
    _, Y = tags(n=80)
    X = np.random.default_rng(0).normal(size=(80, 3))
    S = np.where(Y @ Y.T > 0, 1.0, -1.0)
    J = np.eye(80) - 1 / 80
    values, vectors = np.linalg.eigh(J @ S @ J)
    keep = vectors[:, values > 1e-3 * values[-1]][:, ::-1]
    fitted = EigenITQ(4, random_state=0).fit(X, Y)
    target = signs(fitted)
    top = keep[:, :12]  # as many directions as the rotation may choose from
    projected = top @ (top.T @ target)
    assert (np.sign(projected) == target).mean() > 0.9


def test_classes_have_one_code_each_and_kin_are_nearer():
    X, y = classes()
    fitted = EigenITQ(16, random_state=0).fit(X, y)
    assert len(np.unique(np.column_stack([fitted.codes_, y]), axis=0)) == 4
    assert fitted.score(X, y) > 0.8


def test_pairs_will_do():
    X, y = classes()
    left, right = np.triu_indices(120, 1)
    fitted = EigenITQ(16, random_state=0).fit_pairs(X, left, right, y[left] == y[right])
    assert fitted.score(X, y) > 0.8
