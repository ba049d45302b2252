"""The map that is learned from pairs: what its pull is chosen by."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from kinhash import EnergyHasher
from kinhash.encoders import amortized, held_out_examples
from kinhash.encoders import found as searches
from kinhash.encoders.found import found_partners
from kinhash.supervision import PairExamples


@pytest.mark.parametrize("n_rows", [7, 8])
def test_partners_are_found_as_often_as_over_all_orders_of_ties(n_rows, monkeypatch):
    monkeypatch.setattr(searches, "FIRST", 3)
    packed = np.random.default_rng(n_rows).integers(0, 8, (n_rows, 1), dtype=np.uint8)  # many ties
    left, right = np.array([0, 1, 2, 5]), np.array([3, 4, 6, 6])
    pairs = PairExamples(left, right, np.array([1.0, 0.5, 1.0, -1.0]))  # the last is no partner
    found = found_partners([pairs], packed.__getitem__, n_rows, 0)
    wanted = []
    for row, partner in [(0, 3), (1, 4), (2, 6), (3, 0), (4, 1), (6, 2)]:
        others = [other for other in range(n_rows) if other != row]
        far = np.bitwise_count(packed[others] ^ packed[row])[:, 0]
        first_three = [  # equal distances keep the order they came in
            [others[k] for k in sorted(order, key=far.__getitem__)[:3]]
            for order in permutations(range(len(others)))
        ]
        wanted.append(np.mean([partner in three for three in first_three]))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_a_map_may_not_lose_more_partners_than_it_puts_pairs_in_order():
    rng = np.random.default_rng(0)
    group, side = np.repeat(np.arange(150), 4), np.tile([1, 1, -1, -1], 150)
    looks = rng.normal(size=(150, 24))[group]  # what a partner is found by
    X = np.hstack([looks, 0.3 * side[:, None] + 0.1 * rng.normal(size=(600, 2))])  # and what verdicts follow
    first = np.arange(0, 600, 4)
    i, j = (np.concatenate([first + k for k in ends]) for ends in ((0, 2, 0, 1), (1, 3, 2, 3)))
    pairs = PairExamples(i, j, np.where(side[i] == side[j], 1.0, -1.0))

    def judged(pull):
        encoder = amortized.Amortized(pull=pull)
        hasher = EnergyHasher(32, random_state=0, encoder=encoder).fit_pairs(X, i, j, pairs.similarity)
        found = held_out_examples.scores_of([pairs], np.asarray(hasher.encode(X)).__getitem__, 600, 0)
        return hasher.report_.facts["pull"], *held_out_examples.means([found])

    pull, order, partners = judged("auto")
    weakest, weak_order, weak_partners = judged(1e-4)
    assert (pull, weakest) == ("start", 1e-4)
    assert order < 0.95 < 0.99 < weak_order
    assert partners > 0.9 > 0.5 > weak_partners
