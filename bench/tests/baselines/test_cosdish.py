"""COSDISH: balanced bits, its bit problem against the objective, its cluster step against its points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kinhash_bench.baselines.cosdish import (
    COSDISH,
    CodesInTurn,
    balanced_cluster,
    bit_problem,
    rebalanced,
    sweep,
)


def setting(n=40, d=7, k=4, seed=0):
    rng = np.random.default_rng(seed)
    member = np.arange(n) % k
    codes = CodesInTurn(np.where(rng.random((n, d)) < 0.5, 1, -1), member)
    columns = rng.choice(n, d, replace=False)
    S = rebalanced(np.where(np.arange(k)[:, None] == member[columns], 1.0, -1.0), np.full(k, n / k), "-r")
    return codes, columns, S, rng


def test_half_of_the_drawn_points_get_plus_one_in_every_bit():
    """With the constant point there are d + 1, and half of them, rounded up, are members."""
    for d in (1, 2, 7, 8):
        codes, columns, S, _ = setting(d=d)
        sweep(codes, columns, S)
        assert ((codes.bits[columns] > 0).sum(axis=0) == (d + 2) // 2 - 1).all()


def test_the_bit_problem_is_the_objective_of_the_bits_so_far():
    """(d S̃ − Σ_{t≤k} b b)² over Ω × Ω twice and Γ × Ω twice, up to what does not depend on the bit."""
    codes, columns, S, rng = setting()
    d, B = 7, codes.bits.astype(float)
    full = S[codes.member]
    outside = np.setdiff1d(np.arange(40), columns)
    sums, gram = codes.outside(columns)
    np.testing.assert_allclose(gram, B[outside].T @ B[outside])
    np.testing.assert_allclose(S.T @ sums, full[outside].T @ B[outside])
    k, earlier = 3, B[columns][:, :3]
    Q, p = bit_problem(full[columns], (S.T @ sums)[:, k], gram[:k, k], earlier, d)
    inner, outer = d * full[columns] - earlier @ earlier.T, d * full[outside] - B[outside][:, :k] @ earlier.T

    def by_hand(b):
        off = ~np.eye(d, dtype=bool)
        return ((inner - np.outer(b, b)) ** 2)[off].sum() + (
            (outer - np.outer(B[outside][:, k], b)) ** 2
        ).sum()

    found = []
    for _ in range(5):
        b = np.where(rng.random(d) < 0.5, 1.0, -1.0)
        found.append(b @ Q @ b + p @ b - by_hand(b))
    assert np.ptp(found) < 1e-8


@pytest.mark.parametrize("q", [1, 2, 5, 6])
def test_the_cluster_step_is_the_one_of_the_points(q):
    """The same by the points themselves: columns of a Cholesky factor, nearest neighbors, scatter."""
    rng = np.random.default_rng(q)
    for _ in range(20):
        Q = rng.normal(size=(q, q))
        Q = Q + Q.T
        np.fill_diagonal(Q, 0)
        p = rng.normal(size=q)
        found = balanced_cluster(Q, p)
        whole = np.zeros((q + 1, q + 1))
        whole[:q, :q], whole[:q, q] = 4 * Q, (2 * p - 4 * Q.sum(axis=1)) / 2
        whole[q, :q] = whole[:q, q]
        whole /= np.abs(whole).max()
        points = np.linalg.cholesky(1e4 * np.eye(q + 1) - whole)
        half, best, scatters = (q + 2) // 2, None, {}
        for center in range(q + 1):
            distance = ((points[:q] - points[center]) ** 2).sum(axis=1)
            chosen = tuple(sorted(np.argsort(distance)[: half - 1]))
            group = points[[*chosen, q]]
            scatters[chosen] = ((group - group.mean(axis=0)) ** 2).sum()
        best = min(scatters, key=scatters.get)
        mine = tuple(np.flatnonzero(found > 0))
        assert scatters[mine] == pytest.approx(scatters[best], abs=1e-6)
        assert len(mine) == half - 1


def test_the_cluster_step_finds_the_best_of_its_size_on_small_problems_mostly():
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(30):
        Q = rng.normal(size=(6, 6))
        Q = Q + Q.T
        np.fill_diagonal(Q, 0)
        p = rng.normal(size=6)
        values = [
            b @ Q @ b + p @ b
            for b in (np.array(c) for c in itertools.product((-1.0, 1.0), repeat=6))
            if (b > 0).sum() == 3
        ]
        b = balanced_cluster(Q, p)
        gaps.append((b @ Q @ b + p @ b - min(values)) / np.ptp(values))
    assert np.mean(gaps) < 0.15


def test_the_step_of_the_other_rows_never_raises_their_part():
    codes, columns, S, _ = setting()
    d, outside = 7, np.setdiff1d(np.arange(40), columns)
    before = codes.bits.astype(float)
    sweep(codes, columns, S)
    after = codes.bits.astype(float)
    target = d * S[codes.member[outside]]
    # The term that Γ's step minimizes, given Ω: −2d Σ S̃ b·b, whose quadratic partner it drops.
    assert (target * (after[outside] @ after[columns].T)).sum() >= (
        target * (before[outside] @ after[columns].T)
    ).sum()


def clusters(n=120, k=4, p=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y], y


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_one_bit_is_constant_with_plus_r_and_not_with_minus_r():
    X, y = clusters()
    constant = COSDISH(1, dissimilar="+r", random_state=0).fit(X, y)
    assert (constant.codes_.packed == 0).all()
    telling = COSDISH(1, random_state=0).fit(X, y)
    assert len(np.unique(telling.codes_)) == 2
    first = telling.codes_.packed[:, 0]
    assert [len(np.unique(first[y == c])) for c in range(4)] == [1, 1, 1, 1]  # one class against the rest


def test_columns_are_weighted_to_sum_to_nothing():
    S = np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    sizes = np.array([2.0, 3.0, 5.0])
    assert (sizes @ rebalanced(S, sizes, "-r")).sum() == pytest.approx(0)
    assert (rebalanced(S, sizes, "+r") > 0).all()


def test_the_objective_is_the_sum_it_says():
    codes, columns, S, _ = setting()
    B = codes.bits.astype(float)
    by_hand = ((7 * S[codes.member] - B @ B[columns].T) ** 2).sum()
    assert codes.objective(columns, S) == pytest.approx(by_hand)


def test_any_map_takes_its_codes():
    from sklearn.neighbors import KNeighborsRegressor

    X, y = clusters()
    found = {}
    for map_ in ("own", "linear", "rbf", KNeighborsRegressor(3)):
        fitted = COSDISH(16, map=map_, n_centers=20, random_state=0).fit(X, y)
        found[str(map_)] = fitted.codes_
        assert fitted.score(X, y) > 0.9
    assert len({codes.packed.tobytes() for codes in found.values()}) == 1


def test_pairs_are_enough():
    X, y = clusters()
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 120, (2, 4000))
    left, right = left[left != right], right[left != right]
    fitted = COSDISH(16, random_state=0).fit_pairs(X, left, right, y[left] == y[right])
    assert fitted.score(X, y) > 0.8
