"""What a fit says of itself: labels and pairs that do not help, mapped rows that crowd out learned ones."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

import kinhash
from kinhash import EnergyHasher, HammingIndex
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.errors import DamagedFile, KinhashWarning
from kinhash.index.validation import UNFAIR_SHARE

PLAIN = ExpectedLabels(features="plain", penalty=10.0)


def classes(n=600, k=5, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return 3 * rng.normal(size=(k, 8))[y] + noise * rng.normal(size=(n, 8)), y


def said(fit):
    """What a fit warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KinhashWarning)
        fit()
    return [str(one.message) for one in caught if issubclass(one.category, KinhashWarning)]


# -- labels ---------------------------------------------------------------------------------------------


def test_labels_that_features_do_not_predict_are_told_of():
    X, y = classes()
    hasher = EnergyHasher(16, random_state=0)
    assert said(lambda: hasher.fit(X, y)) == []
    (told,) = said(lambda: hasher.fit(X, np.random.default_rng(1).permutation(y)))
    assert "Features hardly predict the labels" in told
    tags = [{str(c), "odd" if c % 2 else "even"} for c in y]
    assert said(lambda: hasher.fit(X, tags)) == []
    (told,) = said(lambda: hasher.fit(np.random.default_rng(1).permutation(X), tags))
    assert "Features hardly predict the labels" in told


def test_a_few_labels_among_many_rows_are_told_of():
    X, y = classes()
    few = [int(c) if i < 200 else None for i, c in enumerate(y)]
    (told,) = said(lambda: EnergyHasher(16, random_state=0).fit(X, few))
    assert told.startswith("Only 200 of 600 rows have a label")
    assert said(lambda: EnergyHasher(16, random_state=0).fit(X[:200], y[:200])) == []


# -- pairs -----------------------------------------------------------------------------------------------


def pairs(y, n=6000, seed=0):
    left, right = np.random.default_rng(seed).integers(0, len(y), (2, n))
    left, right = left[left != right], right[left != right]
    return left, right, y[left] == y[right]


def test_pairs_are_told_of_where_codes_without_them_do_better():
    X, y = classes(k=3, noise=0.3)
    left, right, same = pairs(y)
    key = np.minimum(left, right) * len(y) + np.maximum(left, right)
    first = np.unique(key, return_index=True)[1]
    left, right, same = left[first], right[first], same[first]
    shuffled = np.random.default_rng(1).permutation(same)
    hasher = EnergyHasher(16, random_state=0)
    told = said(lambda: hasher.fit_pairs(X, left, right, np.where(shuffled, 1, -1)))
    assert any("did not help" in one and "ITQ" in one for one in told)
    # Looks say nothing here: what tells the classes apart is small beside what does not.
    hidden = np.hstack([0.5 * X, 30 * np.random.default_rng(2).normal(size=(len(X), 8))])
    assert said(lambda: hasher.fit_pairs(hidden, left, right, np.where(same, 1, -1))) == []
    told = said(lambda: hasher.fit_pairs(X, left[:12], right[:12], [1, -1] * 6))
    assert any("too few pairs or triplets" in one for one in told)


# -- learned and mapped rows in one index -----------------------------------------------------------------


@pytest.fixture(scope="module")
def noisy():
    """Classes that features tell apart in part."""
    X, y = classes(n=1500, k=6, noise=6.0)
    return X, y


def measured(hasher, X, n=300, seed=5):
    """Share of the first ten that mapped rows take where they are 15 % of the rows, counted one by one."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    queries, rest = order[:n], order[n:]
    mapped = rest[: int(0.15 * len(rest))]
    is_mapped = np.isin(rest, mapped)
    learned, by_map = hasher.codes_.bits(), hasher.encode(X).bits()
    database = np.where(is_mapped[:, None], by_map[rest], learned[rest])
    weight = np.where(np.arange(hasher.n_bits) < hasher.codes_.fields.kin(hasher.n_bits), 3, 1)
    taken = []
    for query in by_map[queries]:
        distance = (database != query) @ weight + rng.random(len(rest))
        taken.append(is_mapped[np.argsort(distance)[:10]].mean())
    return np.mean(taken)


@pytest.mark.parametrize("trust", [0.0, 0.4, 1.0])
def test_the_share_of_mapped_rows_by_brute_force(noisy, trust):
    X, y = noisy
    hasher = EnergyHasher(32, encoder=PLAIN, trust=trust, random_state=0).fit(X, y)
    share = hasher.codes_.mapped_share
    assert share == pytest.approx(measured(hasher, X), abs=0.04)
    if trust == 0:
        assert share == pytest.approx(0.15, abs=0.03)


def test_few_rows_are_not_measured():
    X, y = classes(n=300)
    assert EnergyHasher(16, random_state=0).fit(X, y).codes_.mapped_share is None


def test_the_share_travels_with_model_and_codes(noisy, tmp_path):
    X, y = noisy
    hasher = EnergyHasher(32, encoder=PLAIN, random_state=0).fit(X, y)
    share = hasher.codes_.mapped_share
    hasher.save(tmp_path / "m.kin")
    kinhash.save_codes(hasher.codes_, tmp_path / "c.kin")
    loaded = kinhash.load(tmp_path / "m.kin")
    found = [
        hasher.encode(X[:3]),
        loaded.encode(X[:3]),
        loaded.learned_codes(y[:3], X[:3]),
        kinhash.load_codes(tmp_path / "c.kin"),
        hasher.codes_[:5],
        hasher.without_training().encode(X[:3]),
    ]
    assert {one.mapped_share for one in found} == {share}
    for wrong in (1.5, -0.1, "much", True):
        kinhash.save_codes(replace(hasher.codes_, mapped_share=wrong), tmp_path / "w.kin")
        with pytest.raises(DamagedFile):
            kinhash.load_codes(tmp_path / "w.kin")


@pytest.fixture(scope="module")
def two_kinds(noisy):
    """Learned and mapped codes of a model that says its mixture is unfair, and of one that is fair."""
    X, y = noisy
    hasher = EnergyHasher(32, encoder=PLAIN, random_state=0).fit(X, y)

    def of_share(share):
        return (
            replace(codes, mapped_share=share) for codes in (hasher.codes_[:50], hasher.encode(X[50:100]))
        )

    return {"unfair": tuple(of_share(UNFAIR_SHARE + 0.1)), "fair": tuple(of_share(UNFAIR_SHARE - 0.1))}


def kept_as(index, how, path):
    if how == "saved":
        index.save(path)
        return HammingIndex.load(path)
    return {"same": lambda: index, "pickled": lambda: pickle.loads(pickle.dumps(index))}.get(
        how, lambda: copy.deepcopy(index)
    )()


@pytest.mark.parametrize("how", ["same", "saved", "pickled", "copied"])
@pytest.mark.parametrize("first", [0, 1])
def test_an_unfair_mixture_is_told_of_once(two_kinds, how, first, tmp_path):
    one, other = (two_kinds["unfair"][place] for place in (first, 1 - first))
    index = HammingIndex.from_codes(one)
    assert said(lambda: index.add(one, ids=np.arange(100, 150))) == []
    index = kept_as(index, how, tmp_path / "i.kin")
    (told,) = said(lambda: index.add(other, ids=np.arange(200, 250)))
    assert "40%" in told
    assert "learned_codes(y, X)" in told
    index = kept_as(index, how, tmp_path / "i.kin")
    assert said(lambda: index.add(other, ids=np.arange(300, 350))) == []
    assert said(lambda: index.add(one, ids=np.arange(400, 450))) == []


def test_a_fair_mixture_is_not_told_of(two_kinds):
    learned, mapped = two_kinds["fair"]
    index = HammingIndex.from_codes(learned)
    assert said(lambda: index.add(mapped, ids=np.arange(100, 150))) == []
    unmeasured = replace(mapped, mapped_share=None)
    index = HammingIndex.from_codes(replace(learned, mapped_share=None))
    assert said(lambda: index.add(unmeasured, ids=np.arange(100, 150))) == []


def test_rows_that_are_replaced_by_mapped_ones_count_too(two_kinds):
    learned, mapped = two_kinds["unfair"]
    index = HammingIndex.from_codes(learned)
    assert len(said(lambda: index.upsert(mapped[:5], ids=np.arange(5)))) == 1
