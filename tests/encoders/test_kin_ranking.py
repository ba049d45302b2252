"""Gradient steps on kin bits: the gradient is the loss's, and rows are ranked by S better than before."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from kinhash._internal.numerics import fit_rotation
from kinhash.encoders.ranking import KIN_SHARPNESS, NEAR, kin_gradient, rank_kin
from kinhash.energies.ksh import KSH
from kinhash.solvers.spectral import Spectral
from kinhash.supervision import from_labels


def loss(W, queries, database, S):
    """Cross-entropy by its formula, in float64 and query by query."""
    total = 0.0
    for query, similar in zip(queries, S, strict=True):
        wanted = np.exp(similar / (NEAR * S.std()))
        agreement = np.tanh(query @ W) @ np.tanh(database @ W).T
        seen = np.exp(KIN_SHARPNESS * agreement / W.shape[1])
        total -= (wanted / wanted.sum()) @ np.log(seen / seen.sum())
    return total / len(queries)


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    queries, database, W = rng.normal(size=(9, 5)), rng.normal(size=(7, 5)), rng.normal(size=(5, 4))
    S = rng.uniform(-1, 1, (9, 7))
    found = kin_gradient(*(part.astype(np.float32) for part in (W, queries, database)), S)
    for i, j in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[i, j] = 1e-5
        ends = (loss(W + sign * step, queries, database, S) for sign in (1, -1))
        assert found[i, j] == pytest.approx(np.subtract(*ends) / 2e-5, abs=2e-4)


def test_rows_are_ranked_by_similarity_better_than_by_a_rotation():
    """Graded tags: mean similarity of the ten nearest rows."""
    rng = np.random.default_rng(0)
    tags = [set(rng.choice(12, rng.integers(1, 5), replace=False).tolist()) for _ in range(500)]
    supervision = from_labels(tags, kinship="graded")
    group = supervision.group_of_row
    S = supervision.similarity(group, group)
    solution = Spectral().solve(supervision, KSH(), 16, rng)
    known = solution.embedding.of(supervision.similarity(group, solution.sample.groups))
    predicted = 0.7 * known + 0.3 * known.std() * rng.normal(size=known.shape)
    start = fit_rotation((known + predicted) / 2, 16, np.random.default_rng(1))

    def asked(left, right):
        return S[np.ix_(left, right)]

    halfway = (known + predicted) / 2
    found = rank_kin(start, predicted, halfway, asked, np.random.default_rng(2))

    def first_ten(W):
        bits = [np.where(part @ W > 0, 1, -1) for part in (predicted, halfway)]
        nearest = np.argsort(-(bits[0] @ bits[1].T) + 99 * np.eye(500), axis=1, kind="stable")[:, :10]
        return np.take_along_axis(S, nearest, axis=1).mean()

    assert first_ten(found) > first_ten(start) + 0.02
    again = rank_kin(start, predicted, halfway, asked, np.random.default_rng(2))
    assert np.array_equal(found, again)


@pytest.mark.parametrize("n", [1, 2, 50])
@pytest.mark.parametrize("size", [0.0, 1.0, 1e6])
def test_rows_that_cannot_be_ranked_do_no_harm(n, size):
    rng = np.random.default_rng(0)
    rows, start = size * rng.normal(size=(n, 4)), rng.normal(size=(4, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rank_kin(start, rows, rows, lambda left, right: np.ones((len(left), len(right))), rng)
    assert np.isfinite(found).all()
