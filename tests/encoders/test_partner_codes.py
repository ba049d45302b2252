"""Codes of rows that pairs name: own scores and partners, by a weight that must earn its place."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash import EnergyHasher, HammingIndex
from kinhash.encoders import Amortized
from kinhash.encoders.held_out_examples import split_among_named
from kinhash.encoders.partner_codes import PartnerScores, best_weight
from kinhash.supervision import KinExamples, PairExamples, TripletExamples


def test_scores_are_own_scores_and_signed_bits_of_similar_rows():
    z = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    z /= np.abs(z).mean()
    examples = [
        PairExamples(np.array([0, 0, 1]), np.array([1, 2, 3]), np.array([1.0, -1.0, -1.0])),
        KinExamples(np.array([3]), np.array([4]), 5, weight=2.0),
        TripletExamples(np.array([4]), np.array([0]), np.array([1])),
    ]
    q, wanted = np.tanh(z), z.astype(np.float64).copy()
    for i, j, s in ((0, 1, 1), (3, 4, 2), (4, 0, 1)):  # dissimilar rows push nothing away
        wanted[i] += 0.7 * s * q[j]
        wanted[j] += 0.7 * s * q[i]
    np.testing.assert_allclose(PartnerScores.of(z, examples).at(0.7), wanted, atol=1e-5)


def groups():
    """300 groups of four rows, half of whose features are noise; pairs of the first 1,000 rows."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(300, 24)), 4, axis=0) + rng.normal(size=(1200, 24))
    X, y = np.hstack([X, 2 * rng.normal(size=(1200, 16))]), np.repeat(np.arange(300), 4)
    first = np.arange(0, 1000, 4)
    i, j = (np.concatenate([first + k for k in ends]) for ends in ((0, 0, 1, 2, 1), (1, 2, 2, 3, 3)))
    keep = rng.random(len(i)) < 0.8
    a, b = rng.integers(1000, size=(2, 1000))
    other = y[a] != y[b]
    return X, y, np.concatenate([i[keep], a[other]]), np.concatenate([j[keep], b[other]])


def test_held_out_pairs_are_between_rows_that_others_name():
    X, y, i, j = groups()
    pairs = PairExamples(i, j, np.where(y[i] == y[j], 1.0, -1.0))
    (learn,), (held,) = split_among_named([pairs], len(X), np.random.default_rng(0))
    assert np.isin(held.ends, learn.ends).all()
    assert len(learn.left) + len(held.left) == len(i)
    assert split_among_named([pairs.subset(slice(5))], len(X), np.random.default_rng(0)) is None


def test_the_weight_is_0_where_partners_do_not_help():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 300, (2, 3000))
    noise = PairExamples(i, j, rng.choice([-1.0, 1.0], 3000))
    (learn,), (held,) = split_among_named([noise], 300, rng)
    assert best_weight(rng.normal(size=(300, 32)).astype(np.float32), [learn], [held], 0).weight == 0


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_rows_that_pairs_name_get_codes_that_order_other_pairs_better():
    X, y, i, j = groups()
    hasher = EnergyHasher(32, random_state=0).fit_pairs(X, i, j, y[i] == y[j])
    facts = hasher.report_.facts
    assert facts["partners"] > 0
    assert facts["partners_score"] > facts["score_without"]
    assert hasher.codes_.learned
    assert "learned from pairs" in str(hasher.report_)
    mapped = hasher.encode(X)
    np.testing.assert_array_equal(hasher.codes_.packed[1000:], mapped.packed[1000:])  # no pair names them
    first = np.arange(0, 1000, 4)
    a, b = first, first + 3  # never listed

    def apart(codes):
        return np.bitwise_count(codes.packed[a] ^ codes.packed[b]).sum(axis=1).mean()

    assert apart(hasher.codes_) < apart(mapped)
    only_no = np.setdiff1d(np.arange(1000), np.concatenate([i[y[i] == y[j]], j[y[i] == y[j]]]))
    assert len(only_no)
    np.testing.assert_array_equal(hasher.codes_.packed[only_no], mapped.packed[only_no])
    found = HammingIndex.from_codes(hasher.codes_).search(mapped, k=1).ids[:, 0] == np.arange(1200)
    alone = HammingIndex.from_codes(mapped).search(mapped, k=1).ids[:, 0] == np.arange(1200)
    assert found.mean() > alone.mean() - 0.1  # rows still find themselves
    off = EnergyHasher(32, random_state=0, encoder=Amortized(partners=0)).fit_pairs(X, i, j, y[i] == y[j])
    assert not off.codes_.learned
    assert off.model_id_ == hasher.model_id_
    beside = EnergyHasher(32, random_state=0, alike=0.25).fit_pairs(X, i, j, y[i] == y[j])
    np.testing.assert_array_equal(beside.codes_.packed[1000:], beside.encode(X).packed[1000:])
    assert (beside.codes_.bits()[:1000, 24:] == beside.encode(X).bits()[:1000, 24:]).all()  # these keep looks


def test_labels_become_the_same_pairs_when_settings_are_chosen_and_when_the_map_is_fitted():
    rng = np.random.default_rng(0)
    y = np.arange(30_000) % 5  # more rows than pairs name
    X = (rng.normal(size=(len(y), 5)) + 4 * np.eye(5)[y]).astype(np.float32)
    hasher = EnergyHasher(16, encoder="amortized", alike=0, random_state=0).fit(X, y)
    assert hasher.report_.facts["pull"]
    assert hasher.score(X[:500], y[:500]) > 0.6
