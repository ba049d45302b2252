"""How rivals' maps are compared: mean average precision of held-out rows, counted one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from kinhash.paper import Training, from_labels
from kinhash.plugins import Rows, Stages
from kinhash_bench.baselines import judge
from kinhash_bench.baselines.features import hold_out
from kinhash_bench.baselines.judge import MapJudge, average_precision_by_steps


def distinct_scores(rng, shape):
    """Scores of distances up to 64, no two of a row alike."""
    places = np.array([rng.choice(65, shape[1], replace=False) for _ in range(shape[0])])
    return 1 - places / 32


@given(seed=st.integers(0, 10**6), n_queries=st.integers(1, 4), n_rows=st.integers(1, 40))
def test_distinct_scores_give_the_average_precision_of_scikit_learn(seed, n_queries, n_rows):
    rng = np.random.default_rng(seed)
    ranked, kin = distinct_scores(rng, (n_queries, n_rows)), rng.random((n_queries, n_rows)) < 0.3
    found = average_precision_by_steps(ranked, kin, False, 64)
    each = [average_precision_score(k, s) for k, s in zip(kin, ranked, strict=True) if k.any()]
    assert found == pytest.approx(np.mean(each) if each else 0.0)


@given(seed=st.integers(0, 10**6))
def test_a_row_is_not_ranked_for_itself(seed):
    rng = np.random.default_rng(seed)
    ranked, kin = distinct_scores(rng, (6, 6)), rng.random((6, 6)) < 0.4
    others = ~np.eye(6, dtype=bool)
    found = average_precision_by_steps(ranked, kin, True, 64)
    rows = [(kin[i][others[i]], ranked[i][others[i]]) for i in range(6)]
    each = [average_precision_score(k, s) for k, s in rows if k.any()]
    assert found == pytest.approx(np.mean(each) if each else 0.0)


@pytest.mark.parametrize("n_kin", [1, 2, 5])
def test_ties_cost_what_their_middle_costs(n_kin):
    """Five rows at one score, after two strangers: every hit counts as one in the middle of the five."""
    ranked = np.array([[1.0, 0.9, 0.5, 0.5, 0.5, 0.5, 0.5]])
    kin = np.array([[False, False, *(place < n_kin for place in range(5))]])
    found = average_precision_by_steps(ranked, kin, False, 20)
    assert found == pytest.approx((0.5 * n_kin + 0.5) / (2 + 2.5 + 0.5))


def plain_average_precision(asked, database, kin, leave_out_self=False):
    """Mean AP by Hamming distance, one query after the other; a tie counts as its middle."""
    found = []
    for i, code in enumerate(asked):
        others = [j for j in range(len(database)) if not (leave_out_self and i == j)]
        if not any(kin[i, j] for j in others):
            continue
        total = hits = rows = 0.0
        distance = {j: int((database[j] != code).sum()) for j in others}
        for radius in sorted(set(distance.values())):
            tied = [j for j in others if distance[j] == radius]
            n, r = len(tied), sum(bool(kin[i, j]) for j in tied)
            total += r * (hits + r / 2 + 0.5) / (rows + n / 2 + 0.5)
            hits, rows = hits + r, rows + n
        found.append(total / hits)
    return np.mean(found)


@pytest.mark.parametrize("kind", ["classes", "tags"])
def test_a_map_is_judged_against_three_databases(kind, monkeypatch):
    monkeypatch.setattr(judge, "HELD_ROWS", 30)
    monkeypatch.setattr(judge, "SEEN_ROWS", 50)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 300) if kind == "classes" else [set(rng.integers(0, 5, 2)) for _ in range(300)]
    supervision = from_labels(y)
    training = Training(Rows(np.zeros((300, 1))), supervision, None, rng, Stages())
    split = hold_out(training)
    held, seen = split.held[:30], split.part[:50]
    bits = rng.normal(size=(300, 12)) + np.array([min(c) if kind == "tags" else c for c in y])[:, None] - 2
    learned = rng.normal(size=(50, 12))

    def kin(rows):
        sets = [one if kind == "tags" else {one} for one in y]
        return np.array([[bool(sets[i] & sets[j]) for j in rows] for i in held])

    judging = MapJudge.of(training, split)
    by_label = plain_average_precision(bits[held] > 0, learned > 0, kin(seen))
    mapped = plain_average_precision(bits[held] > 0, bits[seen] > 0, kin(seen))
    unseen = plain_average_precision(bits[held] > 0, bits[held] > 0, kin(held), True)
    assert judging.value(bits[held], bits[seen], None) == pytest.approx((2 * mapped + unseen) / 3)
    expected = (2 * by_label + 2 * mapped + unseen) / 5
    assert judging.value(bits[held], bits[seen], learned) == pytest.approx(expected)
