"""EM-KSH and its siblings as users call them: what their codes promise, whatever the numbers are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import kinhash
from kinhash.errors import InvalidInput, KinhashWarning
from kinhash.paper import EMBRE, EMKSH, EMLFH, EMSPLH, EMExpH
from kinhash.testing import check_hasher

ALL = [EMKSH, EMLFH, EMBRE, EMExpH]


def classes(n=240, p=8, k=4, seed=0):
    """Rows around k centers, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y], y


def tags(n=240, p=8, t=6, seed=0):
    """Rows that are sums of their tags' directions, and their tag sets."""
    rng = np.random.default_rng(seed)
    y = [set(rng.choice(t, rng.integers(1, 3), replace=False).tolist()) for _ in range(n)]
    Y = np.array([[tag in row for tag in range(t)] for row in y], float)
    return Y @ rng.normal(size=(t, p)) * 3 + rng.normal(size=(n, p)), y


def pairs(n=240):
    X, y = classes(n)
    left, right = np.random.default_rng(1).integers(0, n, (2, 2000))
    keep = left != right
    left, right = left[keep], right[keep]
    return X, y, left, right, y[left] == y[right]


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("method", [*ALL, EMSPLH], ids=lambda m: m.__name__)
def test_every_method_keeps_the_contract(method):
    check_hasher(method(1 if method is EMSPLH else 6))


@pytest.mark.parametrize("method", ALL, ids=lambda m: m.__name__)
@pytest.mark.parametrize("data", [classes, tags], ids=["classes", "tags"])
def test_queries_find_rows_of_their_label(method, data):
    X, y = data(400)
    fitted = method(16, random_state=0).fit(X[:300], y[:300])
    chance = fitted.score(X[300:], y[300:]) - LSH_score(X, y)
    assert chance > -0.02
    codes = fitted.codes_
    assert np.all(codes.learned)
    labels = [frozenset(one) if isinstance(one, set) else one for one in y[:300]]
    own = {label: codes.packed[labels.index(label)].tobytes() for label in set(labels)}
    assert all(own[label] == code.tobytes() for label, code in zip(labels, codes.packed, strict=True))


def LSH_score(X, y):  # noqa: N802
    return kinhash.paper.LSH(16, random_state=0).fit(X[:300]).score(X[300:], y[300:])


@pytest.mark.parametrize("method", ALL, ids=lambda m: m.__name__)
def test_pairs_bring_similar_rows_together(method):
    X, _, left, right, same = pairs()
    fitted = method(8, random_state=0).fit_pairs(X, left, right, same)
    apart = np.bitwise_count(fitted.codes_.packed[left] ^ fitted.codes_.packed[right]).sum(axis=1)
    assert apart[same].mean() + 1 < apart[~same].mean()
    new, labels = classes(100)
    assert fitted.score(new, labels) > 0.6
    lonely = np.concatenate([X, X[:3] + 0.01])
    again = method(8, random_state=0).fit_pairs(lonely, left, right, same)
    assert again.codes_.learned.tolist() == [True] * 240 + [False] * 3
    assert np.array_equal(again.codes_[240:].packed, again.encode(lonely[240:]).packed)
    assert np.isnan(again.marginals_[240:]).all()


def test_similarities_sparse_and_dense_of_some_columns_and_of_all():
    X, y = classes(60)
    S = np.where(y[:, None] == y, 1.0, -1.0)
    whole = EMKSH(8, random_state=0).fit_similarity(X, S)
    assert np.array_equal(
        whole.codes_, EMKSH(8, random_state=0).fit_similarity(X, S.astype(np.float32)).codes_
    )
    some = EMKSH(8, random_state=0).fit_similarity(X, S[:, :20], anchors=np.arange(20))
    listed = EMKSH(8, random_state=0).fit_similarity(X, sp.csr_array(np.triu(S)))
    for fitted in (whole, some, listed):
        assert fitted.score(X, y) > 0.9


def test_graded_targets_are_what_bre_is_for():
    rng = np.random.default_rng(0)
    place = rng.uniform(0, 1, 150)
    X = np.c_[place, rng.normal(size=(150, 2)) * 0.01]
    S = 1 - 2 * np.abs(place[:, None] - place)
    fitted = EMBRE(24, random_state=0).fit_similarity(X, np.where(S == 0, 1e-9, S))
    i, j = np.triu_indices(150, 1)
    apart = np.bitwise_count(fitted.codes_.packed[i] ^ fitted.codes_.packed[j]).sum(axis=1)
    assert np.corrcoef(apart, -S[i, j])[0, 1] > 0.8


# -- facts of the method -----------------------------------------------------------------------------


@pytest.mark.parametrize("d", [8, 16])
def test_bre_with_two_targets_is_ksh(d):
    for data in (classes, tags):
        X, y = data()
        one, other = (method(d, random_state=0).fit(X, y) for method in (EMKSH, EMBRE))
        assert np.array_equal(one.codes_, other.codes_)
        assert np.array_equal(one.encode(X), other.encode(X))


@pytest.mark.parametrize("method", ALL, ids=lambda m: m.__name__)
def test_names_of_classes_do_not_matter(method):
    X, y = classes()
    one = method(8, random_state=0).fit(X, y)
    other = method(8, random_state=0).fit(X, np.array(["z", "k", "b", "q"])[y])
    assert np.array_equal(one.codes_, other.codes_)


def test_rows_may_come_in_any_order_with_the_same_anchors():
    X, y = tags()
    order = np.random.default_rng(0).permutation(240)
    anchors = np.arange(0, 240, 5)
    place = np.argsort(order)
    one = EMKSH(8, anchors=anchors, random_state=0).fit(X, y)
    other = EMKSH(8, anchors=place[anchors], random_state=0).fit(X[order], [y[k] for k in order])
    assert (one.codes_.packed[order] == other.codes_.packed).mean() > 0.99


def test_rows_of_weight_zero_do_not_count_and_labels_may_be_missing():
    X, y = classes()
    weights, unknown = np.ones(240), [None if k < 40 else y[k] for k in range(240)]
    weights[:40] = 0
    alone = EMKSH(8, random_state=0).fit(X[40:], y[40:])
    missing = EMKSH(8, random_state=0).fit(X, unknown)
    weighed = EMKSH(8, random_state=0).fit(X, y, sample_weight=weights)
    for fitted in (missing, weighed):
        assert (fitted.encode(X).bits() == alone.encode(X).bits()).mean() > 0.99
    assert np.array_equal(missing.codes_.learned, np.arange(240) >= 40)
    assert np.array_equal(missing.codes_[:40].packed, missing.encode(X[:40]).packed)


def test_marginals_are_what_was_rounded():
    X, y = tags()
    fitted = EMLFH(8, random_state=0).fit(X, y)
    phi = fitted.marginals_
    assert ((phi >= 0) & (phi <= 1)).all()
    assert np.array_equal(phi > phi.mean(axis=0, dtype=np.float64) + 1e-7, fitted.codes_.bits() > 0)
    with pytest.raises(AttributeError, match="right after fit"):
        _ = fitted.without_training().marginals_


def test_the_literal_algorithm_keeps_marginals_of_sampled_rows():
    X, y = classes()
    fitted = EMKSH(8, literal=True, n_anchors=50, random_state=0).fit(X, y)
    distinct = [len(np.unique(fitted.marginals_[y == k], axis=0)) for k in range(4)]
    assert sum(distinct) > 4  # sampled rows of a class differ, the others share
    assert fitted.score(X, y) > 0.5


def test_one_bit_of_splh():
    X, y = classes(k=2)
    fitted = EMSPLH(random_state=0).fit(X, y)
    assert (
        len({(int(label), int(bit)) for label, bit in zip(y, fitted.codes_.bits()[:, 0], strict=True)}) == 2
    )
    with pytest.warns(KinhashWarning, match="all 3 bits will be the same"):
        three = EMSPLH(3, random_state=0).fit(X, y)
    assert (three.codes_.bits() == three.codes_.bits()[:, :1]).all()
    X, _, left, right, same = pairs()
    assert EMSPLH(random_state=0).fit_pairs(X, left, right, same).codes_.n_bits == 1


def test_degenerate_input_is_defined():
    for method in ALL:
        X, y = classes(20, p=3)
        assert method(1, random_state=0).fit(X, y).codes_.n_bits == 1  # one bit has no range to stretch
        wide = method(32, n_anchors=5000, random_state=0).fit(X, y)  # fewer rows than bits and anchors
        assert np.isfinite(wide.decision_function(X)).all()
    with pytest.raises(InvalidInput, match="only one class"):
        EMKSH(4).fit(X, np.zeros(20))


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"clip": 2.6}, "clip"),
        ({"n_sweeps": 0}, "n_sweeps"),
        ({"n_anchors": 1}, "n_anchors"),
        ({"renormalize": "rows"}, "row"),
        ({"rounding": "meen"}, "mean"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": "best"}, "gcv"),
        ({"literal": "yes"}, "literal"),
        ({"anchors": [1, 1]}, "distinct"),
        ({"n_bits": 0}, "n_bits"),
    ],
)
def test_settings_are_checked(setting, says):
    X, y = classes(40)
    with pytest.raises(InvalidInput, match=says):
        EMKSH(**setting).fit(X, y)


def test_settings_change_the_codes_and_a_seed_fixes_them():
    X, y = tags()
    plain = EMKSH(16, n_anchors=60, random_state=0)
    codes = plain.fit(X, y).codes_
    assert np.array_equal(codes, clone(plain).set_params(n_jobs=1).fit(X, y).codes_)
    for setting in (
        {"n_sweeps": 1},
        {"renormalize": "symmetric"},
        {"rounding": "half"},
        {"clip": 1.0},
        {"random_state": 1},
    ):
        assert not np.array_equal(codes, clone(plain).set_params(**setting).fit(X, y).codes_), setting
    for setting in ({"alpha": 1e6}, {"standardize": False}):
        other = clone(plain).set_params(**setting).fit(X * [1, 1, 1, 1, 9, 9, 9, 9], y)
        assert other.model_id_ != plain.model_id_
