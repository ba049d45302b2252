"""KSH: its gradient, its residual, its kernel, and that it tells classes apart."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash import load
from kinhash_bench.baselines.gaussian import Gaussian, root_mean_square_distance
from kinhash_bench.baselines.ksh import KSH, Residual, kernel_preparation, nesterov, smooth_objective
from kinhash_bench.baselines.sample import GroupedSimilarity


def problem(l=30, m=6, d=4, seed=0):
    rng = np.random.default_rng(seed)
    member = rng.integers(0, 3, l)
    block = np.where(np.eye(3) > 0, 1.0, -1.0)
    return (
        rng.normal(size=(l, m)),
        Residual(GroupedSimilarity(member, block), d),
        block[member][:, member],
        rng,
    )


def test_the_gradient_is_that_of_the_smooth_objective():
    K, residual, _, rng = problem()
    residual.take(np.where(rng.random(30) < 0.5, 1.0, -1.0), 0.0, 0.0)
    a = rng.normal(size=6)
    _, slope = smooth_objective(K, residual, a)
    for axis in np.eye(6):
        up, down = (smooth_objective(K, residual, a + s * axis)[0] for s in (1e-5, -1e-5))
        assert slope @ axis == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-6)


def test_the_residual_is_d_times_s_less_the_bits_taken():
    _, residual, S, rng = problem()
    R = 4 * S
    for _ in range(4):
        assert residual.norms[-1] == pytest.approx(np.linalg.norm(R))
        y, other = (np.where(rng.random(30) < 0.5, 1.0, -1.0) for _ in range(2))
        np.testing.assert_allclose(residual.times(other), R @ other)
        assert residual.value(y) == pytest.approx(y @ R @ y)
        residual.take(y, 0.0, residual.value(y))
        R = R - np.outer(y, y)
    assert residual.norms[-1] == pytest.approx(np.linalg.norm(R))


def test_nesterov_goes_down():
    K, residual, _, rng = problem()
    start = rng.normal(size=6) * 0.1
    end = nesterov(K, residual, start, 200, 0.0)
    assert smooth_objective(K, residual, end)[0] < smooth_objective(K, residual, start)[0]


def clusters(n=200, k=4, p=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y], y


def test_every_bit_agrees_at_least_as_much_as_its_spectral_start():
    X, y = clusters()
    fitted = KSH(6, n_anchors=40, random_state=0).fit(X, y)
    agreement = np.array(fitted.report_.facts["agreement"])
    assert (agreement[:, 1] >= agreement[:, 0]).all()
    # ‖R − yyᵀ‖² = ‖R‖² − 2 yᵀRy + l², for the codes the map gives
    square = np.array(fitted.report_.facts["residual"]) ** 2
    np.testing.assert_allclose(np.diff(square), 200**2 - 2 * agreement[:, 1], rtol=1e-9)
    codes = np.where(fitted.transform(X) > 0, 1.0, -1.0)
    S = np.where(y[:, None] == y, 1.0, -1.0)
    assert fitted.report_.facts["residual"][-1] == pytest.approx(np.linalg.norm(6 * S - codes @ codes.T))
    assert fitted.report_.facts["residual"][-1] < 0.6 * fitted.report_.facts["residual"][0]


def test_the_kernel_is_centered_and_as_wide_as_the_mean_squared_distance():
    X, y = clusters(n=50)
    fitted = KSH(4, n_anchors=12, random_state=0).fit(X, y)
    preparation = fitted.unrounded.preparation
    squared = ((X[:, None] - preparation.similarities.centers) ** 2).sum(axis=2)
    K = np.exp(-squared / (2 * squared.mean()))
    np.testing.assert_allclose(preparation(X), K - K.mean(axis=0), atol=1e-6)
    assert root_mean_square_distance(X, X[:3]) ** 2 == pytest.approx(
        ((X[:, None] - X[:3]) ** 2).sum(2).mean()
    )


def test_distances_that_square_to_infinity_are_far_away():
    kernel = Gaussian(np.zeros((2, 3)), 1e-200)
    assert (kernel(np.full((1, 3), 1e200)) == 0).all()
    assert (kernel(np.zeros((1, 3))) == 1).all()


def test_a_stored_model_encodes_alike(tmp_path):
    X, y = clusters()
    fitted = KSH(8, random_state=0).fit(X, y)
    fitted.save(tmp_path / "ksh.kin")
    assert np.array_equal(load(tmp_path / "ksh.kin").encode(X), fitted.encode(X))


@pytest.mark.filterwarnings("ignore:.*bits change when the model is rounded")
def test_pairs_are_enough():
    X, y = clusters()
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 200, (2, 3000))
    left, right = left[left != right], right[left != right]
    fitted = KSH(8, n_labeled=150, random_state=0).fit_pairs(X, left, right, y[left] == y[right])
    assert fitted.score(X, y) > 0.6  # chance is .25; pairs nobody listed pull towards half the bits


def test_the_width_does_not_depend_on_blocks(monkeypatch):
    from kinhash.paper import Training, from_labels
    from kinhash.plugins import Rows, Stages

    X, y = clusters(n=1000)
    found = []
    for size in (1000, 300):
        monkeypatch.setattr(Rows, "block_rows", lambda self, size=size: size)
        training = Training(Rows(X), from_labels(y), None, np.random.default_rng(0), Stages())
        found.append(kernel_preparation(training, 10))
    assert found[0].similarities.width == pytest.approx(found[1].similarities.width)
    np.testing.assert_allclose(found[0].mean, found[1].mean)
