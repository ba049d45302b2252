"""Kin bits and alike bits: how they are shared, what they are good for, and learned codes of labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

import kinhash
from kinhash import Codes, EnergyHasher, Fields, HammingIndex, metrics
from kinhash.codes import pack_bits
from kinhash.encoders.label_codes import _free_code
from kinhash.errors import InvalidInput
from kinhash.labels import read_labels

X, y = load_digits(return_X_y=True)
X = X.astype(np.float64)
N = 1000


@pytest.fixture(scope="module")
def fitted() -> EnergyHasher:
    return EnergyHasher(32, random_state=0).fit(X[:N], y[:N])


@pytest.fixture(scope="module")
def kinship() -> EnergyHasher:
    return EnergyHasher(32, alike=0, random_state=0).fit(X[:N], y[:N])


def scores(hasher):
    queries, database = hasher.encode(X[N:]), hasher.codes_
    near = metrics.near_kin(queries, database, y[N:], y[:N], X[N:], X[:N])
    return metrics.mean_average_precision(queries, database, y[N:], y[:N]), near


def test_the_nearest_kin_come_first_and_kinship_loses_little(fitted, kinship):
    (kin, near), (alone, blind) = scores(fitted), scores(kinship)
    assert fitted.codes_.fields.alike >= 8
    assert fitted.codes_.fields.kin_weight > 1
    assert kin > alone - 0.02
    assert near.value > 3 * blind.value
    assert blind.distinct < 100  # one answer for each class, and a few for rows in doubt
    assert near.distinct > 0.9 * len(X[N:])


def test_every_query_gets_its_own_answer_from_the_index(fitted):
    found = HammingIndex.from_codes(fitted.codes_).search(fitted.encode(X[N:]), k=10)
    assert len(np.unique(found.ids, axis=0)) > 0.9 * len(X[N:])
    assert (y[found.ids] == y[N:, None]).mean() > 0.9
    assert (np.diff(found.distances.astype(int), axis=1) >= 0).all()


def test_alike_bits_are_the_maps_and_kin_bits_the_labels(fitted):
    n_kin = fitted.codes_.fields.kin(32)
    learned, mapped = fitted.codes_.bits(), fitted.encode(X[:N]).bits()
    assert np.array_equal(learned[:, n_kin:], mapped[:, n_kin:])
    words = np.unique(np.column_stack([y[:N], learned[:, :n_kin]]), axis=0)
    assert len(words) == 10  # one for each class


@pytest.mark.parametrize(("alike", "kin_weight", "bits"), [(0.5, 3, 16), (0.25, "auto", 8), (0.0, "auto", 0)])
def test_shares_and_weights_can_be_fixed(alike, kin_weight, bits):
    hasher = EnergyHasher(32, alike=alike, kin_weight=kin_weight, random_state=0).fit(X[:N], y[:N])
    fields = hasher.codes_.fields
    assert fields.alike == bits
    if kin_weight != "auto":
        assert fields == Fields(16, 3)


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


def test_few_rows_pairs_and_tags_have_alike_bits_too():
    few = EnergyHasher(32, random_state=0).fit(X[:100], y[:100]).codes_
    assert few.fields.alike > 0
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 300, (2, 2000))
    apart = left != right
    left, right = left[apart], right[apart]
    pairs = EnergyHasher(16, random_state=0).fit_pairs(X[:300], left, right, y[left] == y[right])
    assert pairs.codes_.fields.alike == 4
    tags = EnergyHasher(32, random_state=0).fit(X[:300], [{int(c), -1 - int(c) % 2} for c in y[:300]])
    assert 0 <= tags.codes_.fields.alike < 32


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


def test_learned_codes_of_labels_are_those_of_the_fit(fitted, kinship, tmp_path):
    for hasher in (fitted, kinship):
        hasher.save(tmp_path / "m.kin")
        for one in (hasher, kinhash.load(tmp_path / "m.kin"), hasher.without_training()):
            again = one.learned_codes(y[:N], X[:N])
            assert np.array_equal(again.packed, hasher.codes_.packed)
            assert again.fields == hasher.codes_.fields
    assert np.array_equal(kinship.learned_codes(y[:N]).packed, kinship.codes_.packed)


def test_a_relabelled_row_moves_to_its_new_kin(fitted):
    row, wrong = X[N : N + 1], [(y[N] + 1) % 10]
    found = HammingIndex.from_codes(fitted.codes_).search(fitted.learned_codes(wrong, row), k=5)
    assert (y[found.ids] == wrong).all()


def test_learned_codes_of_tags_follow_the_solver(tmp_path):
    tags = [{f"d{c}", "even" if c % 2 == 0 else "odd"} for c in y[:400]]
    hasher = EnergyHasher(16, alike=0, encoder=kinhash.encoders.expected_labels.ExpectedLabels(recode=0))
    hasher.set_params(random_state=0).fit(X[:400], tags).save(tmp_path / "m.kin")
    assert np.array_equal(kinhash.load(tmp_path / "m.kin").learned_codes(tags).packed, hasher.codes_.packed)


@pytest.mark.parametrize("kind", ["classes", "tags"])
def test_labels_without_a_row_in_the_fit_have_no_learned_code(kind, tmp_path):
    given = y[:400] if kind == "classes" else [{int(c)} for c in y[:400]]
    every = read_labels(given)
    fitted = np.flatnonzero(y[:400] != 9)
    hasher = EnergyHasher(16, alike=0, random_state=0).fit(X[fitted], every[fitted])
    hasher.save(tmp_path / "m.kin")
    for one in (hasher, kinhash.load(tmp_path / "m.kin")):
        again = one.learned_codes(every[fitted])  # nine is among their names, and no row has it
        assert np.array_equal(again.packed, hasher.codes_.packed)
        with pytest.raises(InvalidInput, match="does not know 1 of the labels, 9 among them"):
            one.learned_codes(every)


def test_learned_codes_say_what_they_lack(fitted):
    cases = {"does not know": [11], "unknown": [None], "tags came": [{1}], "2 labels": [1, 2]}
    for says, wrong in cases.items():
        with pytest.raises(InvalidInput, match=says):
            fitted.learned_codes(wrong, X[:1])
    with pytest.raises(InvalidInput, match="alike bits"):
        fitted.learned_codes([1])


@pytest.mark.parametrize("alike", [0, 0.5])
def test_a_class_that_arrives_later_gets_a_code_of_its_own(alike, tmp_path):
    late = y[:N] == 9
    hasher = EnergyHasher(32, alike=alike, random_state=0).fit(X[:N][~late], y[:N][~late])
    before, mapped = hasher.codes_.packed.copy(), hasher.encode(X[:N])
    with pytest.raises(InvalidInput, match="add_classes"):
        hasher.learned_codes(y[:N], X[:N])
    hasher.add_classes(X[:N][y[:N] > 7], y[:N][y[:N] > 7])  # one of the two is known, and stays as it is
    hasher.save(tmp_path / "m.kin")
    for one in (hasher, kinhash.load(tmp_path / "m.kin")):
        codes = one.learned_codes(y[:N], X[:N])
        assert np.array_equal(codes.packed[~late], before)
        assert one.model_id_ == mapped.model_id
        assert np.array_equal(one.encode(X[:N]).packed, mapped.packed)
    kin = slice(32 - hasher.fitted_.fields.alike)
    own = np.unique(codes.bits()[late, kin], axis=0)
    assert len(own) == 1
    assert not (codes.bits()[~late, kin] == own).all(axis=1).any()
    usual = mapped.bits()[late, kin].mean(axis=0) > 0.5
    assert (own[0] != usual).sum() <= 1
    queries = hasher.encode(X[N:])
    plain = Codes.from_bits(np.where(late[:, None], mapped.bits(), codes.bits()), fields=codes.fields)
    without, with_own = (
        metrics.mean_average_precision(queries, found, y[N:], y[:N], return_details=True).per_query
        for found in (plain, codes)
    )
    assert with_own[y[N:] == 9].mean() > without[y[N:] == 9].mean()


def test_a_code_that_is_taken_is_left_by_the_least_certain_bit():
    shares = np.array([0.9, 0.2, 0.6, 1.0])
    usual = pack_bits(shares > 0.5)
    assert _free_code(shares, set()).tolist() == usual.tolist()
    assert _free_code(shares, {usual.tobytes()}).tolist() == pack_bits([1, 0, 0, 1]).tolist()
    beside = pack_bits((shares > 0.5) ^ np.eye(4, dtype=bool))
    taken = {usual.tobytes(), *(code.tobytes() for code in beside)}
    assert _free_code(shares, taken).tolist() == pack_bits([1, 1, 0, 1]).tolist()
    assert _free_code(np.array([0.7]), {b"\x80", b"\x00"}).tolist() == [0x80]


def test_what_cannot_get_codes_later(fitted):
    for wrong in ([{1}], [1, 2]):
        with pytest.raises(InvalidInput):
            fitted.add_classes(X[:1], wrong)
    pairs = EnergyHasher(8, random_state=0).fit_pairs(X[:20], [0, 1, 2], [3, 4, 5], [1, -1, 1])
    with pytest.raises(InvalidInput, match="fitted on classes"):
        pairs.add_classes(X[:1], [1])


def test_an_explanation_has_the_distance_of_a_search(fitted):
    index = HammingIndex.from_codes(fitted.encode(X[:N]))
    for row in (N, N + 1):
        found = index.search(fitted.encode(X[row : row + 1]), k=3)
        told = [fitted.explain(X[row], X[near]).distance for near in found.ids[0]]
        assert told == found.distances[0].tolist()


def test_learned_codes_say_that_labels_made_them(fitted):
    assert fitted.learned_codes(y[:3], X[:3]).learned
    assert fitted.codes_.learned
    assert not fitted.encode(X[:3]).learned
