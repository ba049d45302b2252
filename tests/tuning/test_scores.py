"""Scores of candidates against their definitions, counted one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from tuning_data import classes, tags, training

from kinhash._linalg import fit_rotation
from kinhash.encoders.expected_labels import label_patterns
from kinhash.energies.ksh import KSH
from kinhash.solvers.coordinate import Coordinate
from kinhash.solvers.spectral import Spectral
from kinhash.tuning import scores
from kinhash.tuning.scores import Judge, average_precision_by_steps
from kinhash.tuning.splits import validation_split


def distinct_scores(rng, shape):
    """Scores of distances up to 64, no two of a row alike."""
    places = np.array([rng.choice(65, shape[1], replace=False) for _ in range(shape[0])])
    return 1 - places / 32


@given(seed=st.integers(0, 10**6), n_queries=st.integers(1, 4), n_rows=st.integers(1, 40))
def test_distinct_scores_give_the_average_precision_of_scikit_learn(seed, n_queries, n_rows):
    rng = np.random.default_rng(seed)
    ranked, kin = distinct_scores(rng, (n_queries, n_rows)), rng.random((n_queries, n_rows)) < 0.3
    found = average_precision_by_steps(ranked, kin, np.ones(n_rows), False, 64)
    each = [average_precision_score(k, s) for k, s in zip(kin, ranked, strict=True) if k.any()]
    assert found == pytest.approx(np.mean(each) if each else 0.0)


@given(seed=st.integers(0, 10**6))
def test_a_row_is_not_ranked_for_itself(seed):
    rng = np.random.default_rng(seed)
    ranked, kin = distinct_scores(rng, (6, 6)), rng.random((6, 6)) < 0.4
    others = ~np.eye(6, dtype=bool)
    found = average_precision_by_steps(ranked, kin, np.ones(6), True, 64)
    rows = [(kin[i][others[i]], ranked[i][others[i]]) for i in range(6)]
    each = [average_precision_score(k, s) for k, s in rows if k.any()]
    assert found == pytest.approx(np.mean(each) if each else 0.0)


@given(seed=st.integers(0, 10**6))
def test_weights_count_rows_that_tie(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, 8)
    ranked, kin = rng.integers(-3, 4, (1, 8)) / 3, rng.random((1, 8)) < 0.5
    repeated = np.repeat(np.arange(8), counts)
    found = average_precision_by_steps(ranked, kin, counts.astype(float), False, 6)
    assert found == pytest.approx(
        average_precision_by_steps(ranked[:, repeated], kin[:, repeated], np.ones(len(repeated)), False, 6)
    )


@pytest.mark.parametrize("n_kin", [1, 2, 5])
def test_ties_cost_what_their_middle_costs(n_kin):
    """Five rows at one score, after two strangers: every hit counts as one in the middle of the five."""
    ranked = np.array([[1.0, 0.9, 0.5, 0.5, 0.5, 0.5, 0.5]])
    kin = np.array([[False, False, *(place < n_kin for place in range(5))]])
    found = average_precision_by_steps(ranked, kin, np.ones(7), False, 20)
    assert found == pytest.approx((0.5 * n_kin + 0.5) / (2 + 2.5 + 0.5))


def plain_average_precision(asked, database, kin, weights, leave_out_self=False):
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
            n, r = weights[tied].sum(), weights[[j for j in tied if kin[i, j]]].sum()
            total += r * (hits + r / 2 + 0.5) / (rows + n / 2 + 0.5)
            hits, rows = hits + r, rows + n
        found.append(total / hits)
    return np.mean(found)


@pytest.mark.parametrize("database", ["fitted", "later"])
@pytest.mark.parametrize("data", [classes, tags])
@pytest.mark.parametrize("solver", [Coordinate(), Spectral(), Spectral(rotation="codes")], ids=repr)
def test_a_candidate_is_judged_by_its_codes_against_three_databases(data, solver, database, monkeypatch):
    """Thirty held-out rows are few: the mean over three rotations."""
    monkeypatch.setattr(scores, "HELD_ROWS", 30)
    monkeypatch.setattr(scores, "SEEN_ROWS", 50)
    X, y = data()
    given = training(X, y)
    supervision = given.supervision
    solution = solver.solve(supervision, KSH(), 8, np.random.default_rng(0))
    patterns = label_patterns(supervision.labels, solution.sample, supervision.group_of_row)
    judge = Judge.of(given, solution, patterns, validation_split(given, np.random.default_rng(0)), database)
    held_rows, seen_rows = judge.split.held, judge.split.part[:50]
    assert len(held_rows) == 30

    rng = np.random.default_rng(1)
    truth = supervision.labels.indicator().toarray()
    chances = [
        0.6 * truth[rows] + 0.4 * rng.random((len(rows), truth.shape[1])) for rows in (held_rows, seen_rows)
    ]
    if data is classes:
        chances = [part / part.sum(axis=1, keepdims=True) for part in chances]
        expected = [2 * part @ patterns.T - 1 for part in chances]
    else:  # some tag in common
        expected = [
            np.array([[1 - 2 * np.prod(1 - row[tags == 1]) for tags in patterns] for row in part])
            for part in chances
        ]
    if solution.embedding is None:
        rounded = [[*(solution.readout.scores(part) for part in expected), solution.minimum.means]]
    else:
        relaxed = [*(solution.embedding.of(part) for part in expected), solution.embedding.entries]
        turns = (fit_rotation(relaxed[1], 8, np.random.default_rng(i), scores.ROUNDS) for i in range(3))
        rounded = [[part @ turn for part in relaxed] for turn in turns]

    def kin(others):
        return supervision.similarity(supervision.group_of_row[held_rows], others) > 0

    def score(asked, seen, sample, database=database):
        ones, group = np.ones(50), supervision.group_of_row
        groups, weights = solution.sample.groups, solution.sample.weights
        learned = plain_average_precision(asked, sample, kin(groups), weights)
        mapped = plain_average_precision(asked, seen, kin(group[seen_rows]), ones)
        unseen = plain_average_precision(asked, asked, kin(group[held_rows]), ones, True)
        return (learned + unseen) / 2 if database == "later" else (2 * learned + 2 * mapped + unseen) / 5

    found = judge.score(solution, *(part.astype(np.float32) for part in chances))
    bits = [[part > 0 for part in codes] for codes in rounded]
    assert found.value == pytest.approx(np.mean([score(*one) for one in bits]), abs=2e-3)
    assert found.later == pytest.approx(np.mean([score(*one, "later") for one in bits]), abs=2e-3)


def test_kin_may_share_any_number_of_tags():
    """256 shared tags are 0 in eight bits."""
    kind = np.arange(300) % 3
    Y = np.repeat(np.eye(3, dtype=np.int8), 256, axis=1)[kind]
    given = training(np.eye(3)[kind], Y)
    solution = Spectral().solve(given.supervision, KSH(), 8, np.random.default_rng(0))
    patterns = label_patterns(given.supervision.labels, solution.sample, given.supervision.group_of_row)
    judge = Judge.of(given, solution, patterns, validation_split(given, np.random.default_rng(0)))
    held, seen = kind[judge.split.held], kind[judge.split.part]
    np.testing.assert_array_equal(judge.kin_seen, held[:, None] == seen)
    np.testing.assert_array_equal(judge.kin_held, (held[:, None] == held) & ~np.eye(len(held), dtype=bool))
    truth = Y.astype(np.float32)
    assert judge.score(solution, truth[judge.split.held], truth[judge.split.part]).value > 0.95
