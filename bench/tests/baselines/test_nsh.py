"""NSH: inner products of labels are kept, and no round raises the objective."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash.errors import InvalidInput
from kinhash.labels import read_labels
from kinhash_bench.baselines.nsh import NSH, leading_directions, orthonormal_rows, unit_labels

# Uncentered label vectors may leave a bit on one side for all rows.
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


def tagged(n=120, p=6, t=5, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, t)) < 0.3).astype(int)
    Y[np.arange(n), np.arange(n) % t] = 1
    return Y @ rng.normal(size=(t, p)) * 2 + rng.normal(size=(n, p)), Y


def test_turned_labels_keep_their_inner_products_when_there_are_enough_bits():
    _, Y = tagged()
    Z = unit_labels(read_labels(Y).indicator())
    R = orthonormal_rows(np.random.default_rng(0).normal(size=(5, 8)))
    np.testing.assert_allclose(R @ R.T, np.eye(5), atol=1e-12)
    np.testing.assert_allclose((Z @ R) @ (Z @ R).T, (Z @ Z.T).toarray(), atol=1e-10)
    np.testing.assert_allclose(np.diag((Z @ Z.T).toarray()), 1)


def test_fewer_bits_than_labels_keep_the_inner_products_as_well_as_they_can():
    _, Y = tagged()
    Z = unit_labels(read_labels(Y).indicator())
    for mean in (np.zeros(5), np.asarray(Z.mean(axis=0)).ravel()):
        centered = Z.toarray() - mean
        short = centered @ leading_directions(Z, mean, 3)
        error = np.linalg.norm(short @ short.T - centered @ centered.T)
        values = np.linalg.svd(centered, compute_uv=False) ** 2
        assert error == pytest.approx(np.linalg.norm(values[3:]))


@pytest.mark.parametrize("mu", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("n_bits", [3, 16])
@pytest.mark.parametrize("center", [True, False])
def test_no_round_raises_the_objective(mu, n_bits, center):
    X, Y = tagged()
    fitted = NSH(n_bits, mu=mu, n_rounds=12, center=center, random_state=0).fit(X, Y)
    objective = np.array(fitted.report_.facts["objective"])
    assert (np.diff(objective) <= 1e-4 * objective[:-1]).all()  # features are float32


def test_procrustes_is_the_best_turn():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(4, 6))
    best = np.trace(orthonormal_rows(M).T @ M)
    for _ in range(50):
        assert np.trace(orthonormal_rows(rng.normal(size=(4, 6))).T @ M) <= best


def test_it_learns_from_labels_and_refuses_pairs():
    X, Y = tagged()
    assert NSH(16, random_state=0).fit(X, Y).score(X, Y) > 0.7
    with pytest.raises(InvalidInput, match="NSH was given pairs"):
        NSH(8).fit_pairs(X, [0, 1, 2], [1, 2, 3], [1, -1, 1])
