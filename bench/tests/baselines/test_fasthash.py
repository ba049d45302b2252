"""FastHash: cuts are exact, no block step raises the objective, trees are fed back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from kinhash_bench.baselines.fasthash import FastHash, block_bits, coordinate_sweep, cut_block


def submodular(k, rng, density=0.6):
    M = -rng.random((k, k)) * (rng.random((k, k)) < density)
    M = np.triu(M, 1)
    return sp.csr_array(M + M.T), rng.normal(size=k)


@pytest.mark.parametrize("seed", range(10))
def test_a_cut_is_the_minimum_over_all_bits(seed):
    rng = np.random.default_rng(seed)
    inside, outside = submodular(7, rng)
    z = np.where(rng.random(7) < 0.5, 1.0, -1.0)
    found = cut_block(inside, outside, z)

    def energy(b):
        return 0.5 * b @ (inside @ b) + outside @ b

    best = min(energy(np.array(b)) for b in itertools.product((-1.0, 1.0), repeat=7))
    assert energy(found) == pytest.approx(best, abs=1e-6)


def test_blocks_without_edges_and_without_pull_are_no_special_case():
    empty = sp.csr_array((3, 3))
    assert cut_block(empty, np.array([1.0, -2.0, 0.0]), np.ones(3))[:2].tolist() == [-1, 1]
    assert cut_block(empty, np.zeros(3), -np.ones(3)).shape == (3,)


def problem(n=40, k=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    M = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    M = np.where(y[:, None] == y, -1, 1) * (M + M.T)
    return sp.csr_array(M), [np.flatnonzero(y == c) for c in range(k)], rng


@pytest.mark.parametrize("inference", ["cut", "sweeps"])
def test_no_block_step_raises_the_objective(inference, monkeypatch):
    """Values of zᵀAz after each number of sweeps, the same draws each time."""
    A, blocks, _ = problem()
    values = [float(np.ones(40) @ (A @ np.ones(40)))]
    for sweeps in (1, 2, 3):
        monkeypatch.setattr("kinhash_bench.baselines.fasthash.SWEEPS", sweeps)
        z = block_bits(A, blocks, inference, np.random.default_rng(0))
        values.append(float(z @ (A @ z)))
    assert (np.diff(values) <= 1e-9).all()
    assert values[-1] < 0.2 * values[0]


def test_a_coordinate_sweep_is_the_plain_loop():
    A, _, rng = problem()
    z = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    order = rng.permutation(40)
    plain, M = z.copy(), A.toarray()
    before = z @ M @ z
    for i in order:
        if M[i] @ plain * plain[i] > 0:
            plain[i] = -plain[i]
    coordinate_sweep(A.indptr, A.indices, A.data, order, z)
    assert np.array_equal(z, plain)
    assert z @ M @ z <= before


def test_single_rows_are_updated_singly():
    A, _, rng = problem()
    z = block_bits(A, [np.array([i]) for i in range(40)], "cut", rng)
    assert z @ (A @ z) < np.ones(40) @ (A @ np.ones(40))


def clusters(n=80, k=4, p=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y], y


@pytest.mark.parametrize("inference", ["cut", "sweeps"])
def test_it_tells_classes_apart(inference):
    X, y = clusters()
    fitted = FastHash(6, inference=inference, n_partners=20, n_rounds=15, random_state=0).fit(X, y)
    assert fitted.score(X, y) > 0.9


def test_the_next_bit_sees_what_the_trees_say():
    """The objective after the last bit is that of the codes the map gives, not of the inferred ones."""
    X, y = clusters()
    taken = set(range(0, 80, 7))
    for row in range(0, 80, 7):  # rows no tree can tell apart, and of different classes
        other = next(i for i in range(80) if y[i] != y[row] and i not in taken)
        X[row] = X[other]
        taken.add(other)
    fitted = FastHash(4, loss="ksh", n_partners=1000, n_rounds=3, depth=2, random_state=0).fit(X, y)
    B = np.where(fitted.transform(X) > 0, 1.0, -1.0)
    i, j = np.triu_indices(80, 1)
    S = np.where(y[i] == y[j], 1.0, -1.0)
    inferred, learned = fitted.report_.facts["objective"][-1]
    assert learned == pytest.approx(((S - (B @ B.T)[i, j] / 4) ** 2).sum())
    assert learned != inferred


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_pairs_and_untagged_rows_work():
    X, y = clusters()
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 80, (2, 1500))
    left, right = left[left != right], right[left != right]
    fitted = FastHash(6, n_rounds=15, random_state=0).fit_pairs(X, left, right, y[left] == y[right])
    assert fitted.score(X, y) > 0.6
    tags = [set() if i % 5 == 0 else {int(c)} for i, c in enumerate(y)]
    assert FastHash(4, n_rounds=5, random_state=0).fit(X, tags).encode(X).shape == (80, 1)
