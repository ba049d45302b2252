"""The audit: figures against the metrics and brute force, and mistakes that it must see."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from metric_oracles import ap

from kinhash.codes import Codes
from kinhash.labels import read_labels
from kinhash.metrics import evaluate
from kinhash_bench.audit import audit_codes


def random_codes(n: int, seed: int = 0, n_bytes: int = 2) -> Codes:
    return Codes(np.random.default_rng(seed).integers(0, 256, (n, n_bytes), np.uint8), 8 * n_bytes)


def test_a_random_ranking_scores_the_mean_over_all_orders():
    y = read_labels([0, 0, 1, 1, 1])
    yq = read_labels([0, 1])
    found = audit_codes(random_codes(2), random_codes(5), yq, y)
    relevance = {0: [1, 1, 0, 0, 0], 1: [0, 0, 1, 1, 1]}
    every = [
        np.mean([ap(np.take(kin, order)) for order in permutations(range(5))]) for kin in relevance.values()
    ]
    assert found.random == pytest.approx(np.mean(every))
    assert found.chance == pytest.approx((2 / 5 + 3 / 5) / 2)


@pytest.mark.parametrize("alone", [True, False])
def test_figures_are_those_of_the_metrics(alone):
    rng = np.random.default_rng(1)
    y, yq = rng.integers(0, 4, 300), rng.integers(0, 4, 40)
    database, queries = random_codes(300, 2), random_codes(40, 3)
    labels, asked = read_labels(y), read_labels(yq)
    args = (None, database, None, labels) if alone else (queries, database, asked, labels)
    found = audit_codes(*args, cuts=(50, 1000))
    sides = (database, database, y, y) if alone else (queries, database, yq, y)
    own = {"exclude_self": alone}
    details = evaluate(*sides, **own)
    assert (found.expected, found.worst, found.best) == pytest.approx((details.value, *details.band))
    assert found.index == pytest.approx(evaluate(*sides, ties="index", **own))
    (at,) = found.at_k  # 1,000 is more than there are
    assert at.by_kin == pytest.approx(evaluate(*sides, measures="map@50", **own))
    assert at.by_found == pytest.approx(evaluate(*sides, measures="map@50/found", **own))
    assert (found.with_own_row is None) != alone
    assert found.distinct_codes == len(np.unique(database.packed, axis=0))


def test_one_hot_labels_compared_by_their_first_column():
    """Ten even classes: most queries are "not of the first class", and so is nine tenths of the database."""
    y = np.arange(2000) % 10
    shuffled = np.random.default_rng(0).permutation(y)
    found = audit_codes(random_codes(200), random_codes(2000), read_labels(y[:200]), read_labels(shuffled))
    assert found.random == pytest.approx(0.1, abs=0.01)
    assert found.one_hot_random == pytest.approx(0.82, abs=0.01)
    assert found.one_hot == pytest.approx(0.82, abs=0.01)
    indicator = np.eye(10, dtype=int)
    same = audit_codes(
        random_codes(200),
        random_codes(2000),
        read_labels(indicator[y[:200]]),
        read_labels(indicator[shuffled]),
    )
    assert same.expected == pytest.approx(found.expected)
    assert same.one_hot == pytest.approx(found.one_hot)


def test_constant_codes_and_a_sorted_database():
    y = np.repeat(np.arange(5), 40)
    codes = Codes(np.zeros((200, 1), np.uint8), 8)
    found = audit_codes(None, codes, None, read_labels(y))
    said = " ".join(found.findings)
    assert "All codes of the database are the same" in said
    assert "sorted by its labels" in said
    assert found.expected == pytest.approx(found.random)
    assert found.index > 1.2 * found.random
    shuffled = np.random.default_rng(0).permutation(y)
    assert "sorted" not in " ".join(audit_codes(None, codes, None, read_labels(shuffled)).findings)


def test_codes_that_are_the_labels_and_queries_that_are_the_database():
    y = np.random.default_rng(0).integers(0, 4, 100)
    codes = Codes((y[:, None] * 16).astype(np.uint8), 8)
    found = audit_codes(codes, codes, read_labels(y), read_labels(y))
    said = " ".join(found.findings)
    assert "knows its labels" in said
    assert "row for row" in said
    assert "knows" not in " ".join(audit_codes(None, random_codes(100), None, read_labels(y)).findings)


def test_tags_and_rows_without_any_are_read_too():
    tags = read_labels([{"a"}, {"a", "b"}, set(), {"b"}, {"c"}])
    found = audit_codes(None, random_codes(5), None, tags)
    assert found.n_without_kin == 2
    assert found.one_hot is None
