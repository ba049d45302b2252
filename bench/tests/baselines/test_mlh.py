"""MLH: loss-augmented inference against enumeration, the bound above the loss, its gradient."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kinhash_bench.baselines.mlh import MLH, batch_gradient, draw_batch, hinge_table, loss_augmented
from kinhash_bench.baselines.pair_bits import ListedPairs


@pytest.mark.parametrize("d", [1, 3, 4])
@pytest.mark.parametrize("kin", [0, 1])
def test_loss_augmented_inference_is_exact(d, kin):
    rng = np.random.default_rng(d)
    losses = hinge_table(d, d // 2)[kin] * 3
    codes = np.array(list(itertools.product((-1.0, 1.0), repeat=d)))
    for _ in range(20):
        a, b = rng.normal(size=(2, d))
        g, g_other, value = (x[0] for x in loss_augmented(a[None], b[None], losses[None]))
        values = {
            (i, j): losses[int((p != q).sum())] + p @ a + q @ b
            for i, p in enumerate(codes)
            for j, q in enumerate(codes)
        }
        assert value == pytest.approx(max(values.values()))
        assert losses[int((g != g_other).sum())] + g @ a + g_other @ b == pytest.approx(value)


def test_the_hinge_is_the_papers():
    strangers, kin = hinge_table(8, 3)
    assert kin[[0, 2, 3, 8]].tolist() == [0, 0, 1 / 6, 1]
    assert strangers[[0, 3, 4, 8]].tolist() == [1, 1 / 4, 0, 0]


def pairs_of(n, rng):
    i, j = np.triu_indices(n, 1)
    return ListedPairs.of(np.arange(n), i, j, np.where(rng.random(len(i)) < 0.5, 1.0, -1.0))


def test_the_bound_lies_above_the_loss_and_has_the_gradient_it_says():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3)).astype(np.float64)
    pairs = pairs_of(12, rng)
    chosen, table = np.arange(40), hinge_table(4, 1)
    W = rng.normal(size=(4, 4))
    bound, loss, gradient = batch_gradient(X, pairs, chosen, W, table)
    assert bound >= loss
    for place in np.ndindex(W.shape):
        moved = []
        for step in (1e-6, -1e-6):
            V = W.copy()
            V[place] += step
            moved.append(batch_gradient(X, pairs, chosen, V, table)[0])
        assert gradient[place] == pytest.approx((moved[0] - moved[1]) / 2e-6, abs=1e-6)


def test_batches_have_their_share_of_kin():
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(30, 1)
    pairs = ListedPairs.of(np.arange(30), i, j, np.where(np.arange(len(i)) % 20 == 0, 1.0, -1.0))
    chosen = draw_batch(pairs, np.flatnonzero(pairs.S > 0), 50, 0.5, rng)
    assert len(chosen) == 50
    assert (pairs.S[chosen] > 0).sum() >= 25


def clusters(n=120, k=4, p=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y] + 30, y


def test_it_learns_and_its_bound_falls():
    X, y = clusters()
    fitted = MLH(8, n_epochs=6, n_pairs=5000, random_state=0).fit(X, y)
    bound, loss = np.array(fitted.report_.facts["bound"]), np.array(fitted.report_.facts["loss"])
    assert (bound >= loss).all()
    assert bound[-1] < 0.8 * bound[0]
    assert fitted.score(X, y) > 0.85


def test_pairs_are_enough():
    X, y = clusters()
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 120, (2, 1500))
    left, right = left[left != right], right[left != right]
    fitted = MLH(8, n_epochs=4, n_pairs=5000, random_state=0).fit_pairs(X, left, right, y[left] == y[right])
    assert fitted.score(X, y) > 0.8
