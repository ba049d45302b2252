"""Equal rows are merged before a fit: a weight of k is the row k times, in whatever order rows come."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from small_data import classes, tags

from kinhash import EMKSH, EnergyHasher
from kinhash._internal.rows import Rows
from kinhash._internal.stages import Stages
from kinhash.hashers import equal_rows
from kinhash.hashers.equal_rows import merge_equal_rows, names_rows
from kinhash.supervision import Supervision, Training, from_labels, from_pairs

X, Y = classes(n=60)
TWICE = np.r_[np.arange(60), 3, 3, 7]  # row 3 three times, row 7 twice


def given(X, y, weights=None, looks=None):
    supervision = y if isinstance(y, Supervision) else from_labels(y)
    return Training(Rows(X), supervision, weights, np.random.default_rng(0), Stages(), 1, looks)


def test_different_rows_stay_as_they_are():
    training = given(X, Y)
    assert merge_equal_rows(training, None) == (training, None)


def test_equal_rows_become_one_with_their_weight():
    merged, place = merge_equal_rows(given(X[TWICE], Y[TWICE]), None)
    assert len(merged.rows) == merged.supervision.n_rows == 60
    np.testing.assert_array_equal(merged.rows.read(place), X[TWICE])
    np.testing.assert_array_equal(merged.supervision.group_of_row[place], Y[TWICE])
    counts = np.bincount(place)
    np.testing.assert_allclose(merged.weights, counts / counts.mean())


def test_rows_of_different_labels_are_not_equal():
    y = Y[TWICE].copy()
    y[-1] = (y[-1] + 1) % 3
    assert len(merge_equal_rows(given(X[TWICE], y), None)[0].rows) == 61
    unknown = [*Y[TWICE[:-1]].tolist(), None]
    merged, place = merge_equal_rows(given(X[TWICE], unknown), None)
    assert len(merged.rows) == 61
    assert merged.supervision.group_of_row[place[-1]] == -1


def test_rows_that_look_different_are_not_equal():
    looks = np.random.default_rng(0).normal(size=(63, 3))
    assert merge_equal_rows(given(X[TWICE], Y[TWICE], looks=Rows(looks)), None)[1] is None
    merged, place = merge_equal_rows(given(X[TWICE], Y[TWICE], looks=Rows(looks[TWICE % 60])), None)
    np.testing.assert_array_equal(merged.looks.read(place), looks[TWICE % 60])


@pytest.mark.parametrize("store", [sp.csr_array, np.float32, np.asfortranarray])
def test_order_and_kind_of_storage_do_not_matter(store):
    X32 = np.where(np.abs(X) < 0.5, 0.0, X).astype(np.float32).astype(float)
    order = np.random.default_rng(1).permutation(len(TWICE))
    one = merge_equal_rows(given(X32[TWICE], Y[TWICE]), None)[0]
    other = merge_equal_rows(given(store(X32[TWICE[order]]), Y[TWICE[order]]), None)[0]
    np.testing.assert_array_equal(one.rows.read(slice(None)), other.rows.read(slice(None)))
    np.testing.assert_array_equal(one.weights, other.weights)


def test_zero_and_negative_zero_are_equal():
    x = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 3.0]])
    for stored in (x, sp.csr_array((x.ravel(), [0, 1, 0, 1, 0, 1], [0, 2, 4, 6]), shape=(3, 2))):
        assert len(merge_equal_rows(given(stored, [0, 0, 1]), None)[0].rows) == 2


def test_equal_sums_leave_the_given_order_and_no_weights():
    rows = np.r_[5:60, :5]
    merged, place = merge_equal_rows(given(X[np.r_[rows, rows]], Y[np.r_[rows, rows]]), None)
    assert merged.weights is None
    np.testing.assert_array_equal(merged.rows.read(slice(None)), X[rows])
    np.testing.assert_array_equal(place, np.r_[:60, :60])


def test_classes_of_weight_zero_are_left_out():
    y = Y % 3
    weights = np.where(y == 1, 0.0, 1.0)
    merged, place = merge_equal_rows(given(X, y, weights), weights)
    assert merged.supervision.labels.names.tolist() == [0, 2]
    assert (place[y == 1] == -1).all()
    between = np.array([[1, 0.5, -0.2], [0.5, 1, 0.1], [-0.2, 0.1, 1]])
    merged = merge_equal_rows(given(X, from_labels(y, kinship=between), weights), weights)[0]
    np.testing.assert_array_equal(merged.supervision.between, [[1, -0.2], [-0.2, 1]])


@pytest.mark.parametrize("hasher", [EMKSH(8, random_state=0), EnergyHasher(8, random_state=0)], ids=repr)
def test_every_given_row_has_a_code(hasher):
    y = [None, *Y[TWICE][1:].tolist()]
    weights = np.ones(63)
    weights[[10, 11, 60]] = 0  # row 60 is row 3 again, which counts
    hasher.fit(X[TWICE], y, weights)
    assert len(hasher.codes_) == len(hasher.marginals_) == hasher.report_.n_rows == 63
    mapped = hasher.encode(X[TWICE])
    for row in (0, 10, 11):
        assert np.array_equal(hasher.codes_[row], mapped[row])
        assert np.isnan(hasher.marginals_[row]).all()
    assert np.array_equal(hasher.codes_[3], hasher.codes_[61])


def test_tags_by_name_and_by_column():
    _, sets = tags(n=60)
    rows = np.random.default_rng(1).permutation(TWICE)
    names = sorted(set().union(*sets))
    indicator = np.array([[name in row for name in names] for row in sets], int)
    found = []
    for y in (sets, indicator.tolist()):
        fits = [EnergyHasher(8, random_state=0).fit(X[r], [y[i] for i in r]) for r in (TWICE, rows)]
        assert fits[0].model_id_ == fits[1].model_id_
        found.append(fits[0].encode(X))
    assert np.array_equal(*found)


def test_row_numbers_refer_to_the_rows_as_given():
    assert names_rows(EMKSH(8, anchors=[0, 62]))
    assert not names_rows(EMKSH(8))
    EMKSH(8, anchors=[0, 1, 2, 61, 62], random_state=0).fit(X[TWICE], Y[TWICE])


def test_pairs_are_between_given_rows():
    pairs = from_pairs([0, 1, 60], [3, 2, 5], [1, 1, -1], 63)
    training = given(X[TWICE], pairs)
    assert merge_equal_rows(training, None) == (training, None)


def test_rows_with_equal_hashes_are_compared(monkeypatch):
    true = equal_rows._keys
    seeds = []

    def first_all_equal(training, seed):
        seeds.append(seed)
        return true(training, seed) * np.uint64(seed > 0)

    monkeypatch.setattr(equal_rows, "_keys", first_all_equal)
    merged, _ = merge_equal_rows(given(X[TWICE], Y[TWICE]), None)
    assert seeds == [0, 1]
    assert len(merged.rows) == 60


def test_a_memory_map_is_not_copied(tmp_path):
    np.save(tmp_path / "x.npy", X[TWICE])
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    merged, _ = merge_equal_rows(given(mapped, Y[TWICE]), None)
    assert merged.rows.X.X is mapped


def test_all_rows_equal_are_left_alone():
    from kinhash.baselines import BASELINES

    with pytest.warns(UserWarning, match="distinguished|constant"):
        assert len(BASELINES["ITQ"](4, random_state=0).fit(np.ones((20, 4))).codes_) == 20


def test_rows_made_to_collide_end_a_fit():
    """Sums of digits can be made equal for every seed; the bytes decide then."""
    odd = -(1 + 2.0**-21)
    X = np.array([[1.0, 1.0], [odd, odd]] * 30 + [[0.0, 3.0], [3.0, 0.0]] * 5)
    y = np.array([0] * 60 + [1] * 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hasher = EnergyHasher(4, alike=0, random_state=0).fit(X, y)
    assert len(hasher.codes_) == 70
