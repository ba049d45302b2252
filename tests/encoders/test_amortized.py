"""The map that is learned from pairs: what its pull is chosen by."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from kinhash import EnergyHasher
from kinhash.encoders import amortized, held_out_examples
from kinhash.encoders import found as searches
from kinhash.encoders.found import found_partners
from kinhash.errors import KinhashWarning
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


def test_a_kind_with_too_few_examples_is_learned_from_and_not_judged_by():
    rng = np.random.default_rng(0)
    left, right = np.unique(np.sort(rng.integers(0, 300, (2, 2000)), axis=0), axis=1)
    apart = left < right
    many = PairExamples(left[apart], right[apart], np.where((left + right)[apart] % 2 == 0, 1.0, -1.0))
    few = PairExamples(np.arange(12), np.arange(20, 32), np.tile([1.0, -1.0], 6))
    folds = held_out_examples.folded([many, few], 300, rng)
    assert len(folds) == held_out_examples.FOLDS
    for learn, held in folds:
        assert len(learn) == 2
        assert len(held) == 1
        assert len(held[0].left) > 100
    assert held_out_examples.folded([few], 300, rng) == []
    one_sign = few.subset(few.similarity > 0)
    assert [len(learn) for learn, _ in held_out_examples.folded([many, one_sign], 300, rng)] == [1] * 3


@pytest.mark.parametrize("clicks", [False, True])
def test_a_few_labels_do_not_switch_pairs_off(clicks):
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.arange(600) % 5)
    X = np.hstack([1.5 * rng.normal(size=(5, 8))[kind], 30 * rng.normal(size=(600, 8))])
    X[:, :8] += 0.5 * rng.normal(size=(600, 8))
    left, right = np.unique(np.sort(rng.integers(0, 600, (2, 4000)), axis=0), axis=1)
    same = kind[left] == kind[right]
    used = (left < right) & (same | (not clicks))
    given = left[used], right[used], None if clicks else same[used]

    def pull(rows):
        y = None if rows is None else [int(kind[i]) if i in rows else None for i in range(600)]
        return EnergyHasher(32, random_state=0).fit_pairs(X, *given, y=y).report_.facts["pull"]

    assert pull(range(12)) != "start"
    alone = pull(None)
    assert alone != "start"
    first = np.flatnonzero(kind == 0)
    for rows in ([], first[:1], first[:50], [*first[:2], np.flatnonzero(kind == 1)[0]]):
        with pytest.warns(KinhashWarning, match="The labels were left out") as caught:
            assert pull(rows) == alone
        assert len(caught) == 1
        assert caught[0].filename == __file__
