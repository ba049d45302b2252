"""BRE: its coordinate step against a scan of the line, and an objective that only falls."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash_bench.baselines.bre import BRE, PairList, best_place, descend


def setting(n=25, d=3, seed=0):
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n, 1)
    keep = rng.random(len(i)) < 0.4
    ends = np.column_stack([i[keep], j[keep]])
    pairs = PairList.of(ends, (rng.random(len(ends)) < 0.5).astype(float), n)
    return rng.normal(size=n), rng.normal(size=n), pairs, rng.integers(0, d, len(ends)), d


def objective(scores, pairs, others, d):
    bits = scores > 0
    first, second = pairs.ends.T
    return ((pairs.targets - (others + (bits[first] != bits[second])) / d) ** 2).sum()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("repeat", [False, True])
def test_the_coordinate_step_is_the_best_of_a_fine_scan(seed, repeat):
    column, scores, pairs, others, d = setting(seed=seed)
    column[3] = 0.0  # a row this weight cannot move
    if repeat:  # rows that flip together
        column[5:10], scores[5:10] = column[4], scores[4]
    weight = 0.3
    place, change = best_place(
        column,
        scores,
        weight,
        scores > 0,
        pairs.indptr,
        pairs.partner,
        pairs.number,
        others,
        pairs.targets,
        d,
    )

    def at(w):
        return objective(scores + (w - weight) * column, pairs, others, d)

    moving = np.abs(column) > 1e-12
    thresholds = np.sort(weight - scores[moving] / column[moving])
    scan = np.concatenate(
        [np.linspace(thresholds[0] - 1, thresholds[-1] + 1, 4001), thresholds + 1e-9, thresholds - 1e-9]
    )
    assert change <= 0
    assert at(place) == pytest.approx(at(weight) + change)
    assert at(place) == pytest.approx(min(at(w) for w in scan))


def test_no_step_raises_the_objective():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    _, _, pairs, _, _ = setting(n=40)
    basis = np.stack([rng.choice(40, 6, replace=False) for _ in range(8)], axis=1)
    W = 0.001 * rng.normal(size=basis.shape)
    history = descend(X @ X.T, basis, W, rng.integers(0, 6, (40, 8)), pairs, 1e-6)
    assert (np.diff(history) <= 0).all()
    assert history[-1] < 0.98 * history[0]
    bits = np.stack([X @ X[basis[:, b]].T @ W[:, b] > 0 for b in range(8)], axis=1)
    first, second = pairs.ends.T
    by_hand = ((pairs.targets - (bits[first] != bits[second]).mean(axis=1)) ** 2).sum()
    assert history[-1] == pytest.approx(by_hand)


def clusters(n=150, k=4, p=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y] + 50, y


def test_the_map_gives_the_codes_the_objective_was_counted_on():
    X, y = clusters()
    fitted = BRE(8, partners=1.0, max_sweeps=40, random_state=0).fit(X, y)
    bits = fitted.transform(X)
    i, j = np.triu_indices(150, 1)
    by_hand = (((y[i] != y[j]) - (bits[i] != bits[j]).mean(axis=1)) ** 2).sum()
    assert fitted.report_.facts["objective"][-1] == pytest.approx(by_hand, rel=1e-3)
    assert fitted.score(X, y) > 0.75


def test_pairs_are_enough_and_each_counts_once():
    X, y = clusters()
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 150, (2, 2000))
    left, right = left[left != right], right[left != right]
    fitted = BRE(8, max_sweeps=40, random_state=0).fit_pairs(X, left, right, y[left] == y[right])
    assert fitted.score(X, y) > 0.6
