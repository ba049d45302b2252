"""Kin bits and look-alike bits: how they are shared, and what they are good for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kinhash import BitLayout, EnergyHasher, HammingIndex, metrics
from kinhash.errors import InvalidInput

X, y = load_digits(return_X_y=True)
X = X.astype(np.float64)
N = 1000


@pytest.fixture(scope="module")
def fitted() -> EnergyHasher:
    return EnergyHasher(32, random_state=0).fit(X[:N], y[:N])


@pytest.fixture(scope="module")
def kin_only() -> EnergyHasher:
    return EnergyHasher(32, alike=0, random_state=0).fit(X[:N], y[:N])


def scores(hasher):
    queries, database = hasher.encode(X[N:]), hasher.codes_
    near = metrics.near_kin(queries, database, y[N:], y[:N], X[N:], X[:N])
    return metrics.mean_average_precision(queries, database, y[N:], y[:N]), near


def test_the_nearest_kin_come_first_and_kinship_loses_little(fitted, kin_only):
    (kin, near), (alone, blind) = scores(fitted), scores(kin_only)
    assert kin > alone - 0.02
    assert near.value > 2 * blind.value
    assert blind.distinct < 100  # one answer for each class, and a few for rows in doubt
    assert near.distinct > 0.8 * len(X[N:])


def test_every_query_gets_its_own_answer_from_the_index(fitted):
    found = HammingIndex.from_codes(fitted.codes_).search(fitted.encode(X[N:]), k=10)
    assert len(np.unique(found.ids, axis=0)) > 0.8 * len(X[N:])
    assert (y[found.ids] == y[N:, None]).mean() > 0.9
    assert (np.diff(found.distances.astype(int), axis=1) >= 0).all()


def test_alike_bits_are_the_maps_in_learned_codes_too(fitted):
    n_kin = fitted.codes_.fields.kin(32)
    learned, mapped = fitted.codes_.bits(), fitted.encode(X[:N]).bits()
    assert np.array_equal(learned[:, n_kin:], mapped[:, n_kin:])


@pytest.mark.filterwarnings("ignore:.*share their code")
@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({}, BitLayout(16, 3)),
        ({"kin_weight": 5}, BitLayout(16, 5)),
        ({"alike": 0.25}, BitLayout(8, 3)),
        ({"alike": 0.95, "kin_weight": 1}, BitLayout(30, 1)),
        ({"alike": 0}, BitLayout()),
        ({"alike": 0, "kin_weight": 5}, BitLayout()),
        ({"alike": 0.03}, BitLayout()),  # less than a bit
    ],
    ids=str,
)
def test_shares_and_weights_are_what_was_asked_for(settings, fields):
    hasher = EnergyHasher(32, random_state=0, **settings).fit(X[:300], y[:300])
    assert hasher.codes_.fields == hasher.encode(X[:1]).fields == fields


@pytest.mark.filterwarnings("ignore:.*share their code")
@pytest.mark.parametrize("n_bits", [1, 2, 3, 8])
def test_short_codes_share_what_there_is(n_bits):
    codes = EnergyHasher(n_bits, random_state=0).fit(X[:N], y[:N]).codes_
    assert codes.n_bits == n_bits
    assert codes.fields.alike < n_bits


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_rows_that_are_all_the_same_have_codes_too():
    """More columns than rows, and no direction along which any two differ."""
    codes = EnergyHasher(32, random_state=0).fit(np.full((20, 40), 3.0), np.arange(20) % 3).codes_
    assert codes.n_bits == 32


@pytest.mark.filterwarnings("ignore:.*pairs")
def test_few_rows_pairs_and_tags_have_alike_bits_too():
    few = EnergyHasher(32, random_state=0).fit(X[:100], y[:100]).codes_
    assert few.fields.alike == 16
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 300, (2, 2000))
    apart = left != right
    left, right = left[apart], right[apart]
    pairs = EnergyHasher(16, alike=0.5, random_state=0).fit_pairs(X[:300], left, right, y[left] == y[right])
    assert pairs.codes_.fields.alike == 8
    tags = EnergyHasher(32, random_state=0).fit(X[:300], [{int(c), -1 - int(c) % 2} for c in y[:300]])
    assert tags.codes_.fields.alike == 16


def test_rows_are_alike_by_other_columns_where_these_are_given():
    """Kinship is the class; looks are two columns that the features hold only in part."""
    rng = np.random.default_rng(0)
    looks = rng.normal(size=(N, 6))
    features = np.hstack([X[:N], 8 * looks + rng.normal(size=(N, 6))])
    train = np.arange(N) < 700
    fits = {
        to: EnergyHasher(32, alike=0.5, random_state=0).fit(
            features[train], y[:N][train], alike_to=looks[train] if to else None
        )
        for to in (True, False)
    }

    def near(hasher):
        codes = hasher.encode(features[~train]), hasher.encode(features[train])
        return metrics.near_kin(*codes, y[:N][~train], y[:N][train], looks[~train], looks[train]).value

    assert near(fits[True]) > near(fits[False]) + 0.03


def test_looks_that_cannot_be_used_are_refused():
    with pytest.raises(InvalidInput, match="999 rows and X has 1000"):
        EnergyHasher(16).fit(X[:N], y[:N], alike_to=X[: N - 1])
    with pytest.raises(InvalidInput, match="alike=0"):
        EnergyHasher(16, alike=0).fit(X[:N], y[:N], alike_to=X[:N])
    with pytest.raises(InvalidInput, match="alike_to cannot be used"):
        EnergyHasher(16).fit(X[:N], y[:N], alike_to=np.full((N, 2), np.nan))


def test_an_explanation_has_the_distance_of_a_search(fitted):
    index = HammingIndex.from_codes(fitted.encode(X[:N]))
    for row in (N, N + 1):
        found = index.search(fitted.encode(X[row : row + 1]), k=3)
        told = [fitted.explain(X[row], X[near]).distance for near in found.ids[0]]
        assert told == found.distances[0].tolist()
