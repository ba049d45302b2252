"""S in groups against the matrix it stands for, and ridge maps against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from kinhash.errors import InvalidInput, KinhashWarning
from kinhash.paper import (
    LinearMap,
    NoSupervision,
    Training,
    choose_alpha,
    first_preparation,
    from_labels,
    from_pairs,
    from_similarity,
    prepare_rows,
    standardized_moments,
)
from kinhash.plugins import Rows, Stages


def tag_sets(rng, n, t=5):
    return [set(rng.choice(t, rng.integers(0, 3), replace=False).tolist()) for _ in range(n)]


def matrix_of(supervision, rows):
    group = supervision.group_of_row[rows]
    return supervision.similarity(group, group)


# -- similarity --------------------------------------------------------------------------------------


def test_classes_are_similar_to_themselves_alone():
    y = [2, 0, 2, None, 1]
    S = matrix_of(from_labels(y), [0, 1, 2, 4])
    assert S.tolist() == [[1, -1, 1, -1], [-1, 1, -1, -1], [1, -1, 1, -1], [-1, -1, -1, 1]]
    assert from_labels(y).group_of_row[3] == -1
    assert from_labels(y).group_weights().tolist() == [1, 1, 2]


@given(seed=st.integers(0, 999))
def test_tag_sets_are_groups_and_similar_where_they_share_a_tag(seed):
    y = tag_sets(np.random.default_rng(seed), 30)
    found = from_labels(y)
    for i, one in enumerate(y):
        for j, other in enumerate(y):
            assert (found.group_of_row[i] == found.group_of_row[j]) == (one == other)
    S = matrix_of(found, np.arange(30))
    assert ((S > 0) == [[bool(one & other) for other in y] for one in y]).all()
    assert sorted(found.group_of_row) == sorted(np.unique(found.group_of_row, return_inverse=True)[1])


@pytest.mark.parametrize("kind", ["classes", "tags", "pairs", "matrix"])
def test_the_product_is_that_of_the_matrix(kind):
    rng = np.random.default_rng(0)
    M = rng.uniform(0.1, 1, (30, 30)) * np.where(rng.random((30, 30)) < 0.5, 1, -1)
    M = np.triu(M, 1) + np.triu(M, 1).T
    np.fill_diagonal(M, 1)
    found = {
        "classes": lambda: from_labels(np.arange(30) % 4),
        "tags": lambda: from_labels(tag_sets(rng, 30)),
        "pairs": lambda: from_pairs([0, 1, 2, 2], [1, 2, 3, 4], [1, -1, 0.5, -0.2], 30),
        "matrix": lambda: from_similarity(M, None, 30, rng),
    }[kind]()
    everyone = np.arange(found.n_groups)
    values = rng.normal(size=(found.n_groups, 3))
    np.testing.assert_allclose(
        found.product(everyone[::2], everyone, values),
        found.similarity(everyone[::2], everyone) @ values,
        atol=1e-12,
    )


def test_pairs_list_what_is_known():
    found = from_pairs([0, 3, 1], [3, 0, 4], [1, 0.5, -1], 6)
    assert found.rows.tolist() == [0, 1, 3, 4]
    assert found.group_of_row.tolist() == [0, 1, -1, 2, 3, -1]
    S = found.among_groups().toarray()
    assert S.tolist() == [[0, 0, 0.75, 0], [0, 0, 0, -1], [0.75, 0, 0, 0], [0, -1, 0, 0]]
    np.testing.assert_array_equal(found.similarity(np.arange(4), np.arange(4)), S)


def test_a_whole_matrix_is_taken_as_it_is_and_one_with_gaps_as_pairs():
    rng = np.random.default_rng(0)
    whole = np.array([[9, 0.5, -1], [0.5, 9, 0.2], [-1, 0.2, 9]])
    np.fill_diagonal(whole, 0)
    found = from_similarity(whole, None, 3, rng)
    assert found.complete
    assert matrix_of(found, np.arange(3)).tolist() == [[1, 0.5, -1], [0.5, 1, 0.2], [-1, 0.2, 1]]
    whole[0, 2] = whole[2, 0] = 0
    assert not from_similarity(whole, None, 3, rng).complete
    listed = from_similarity(sp.csr_array(whole), None, 3, rng)
    assert listed.among_groups().toarray().tolist() == whole.tolist()
    some = from_similarity(whole[:, [1]], [1], 3, rng)
    assert some.complete
    assert some.similarity(np.arange(3), np.array([1])).ravel().tolist() == [0.5, 1, 0.2]


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([1, 1, 1], "only one class"),
        ([None, None], "All 2 labels are missing"),
        ([{1}, {1, 2}], "Every row carries tag 1"),
        ([set(), set()], "No row has a tag"),
        ([1], "only one sample"),
    ],
)
def test_labels_that_say_nothing_are_refused(y, says):
    with pytest.raises(InvalidInput, match=says):
        from_labels(y).check(None)


def test_continuous_labels_are_doubtful():
    with pytest.warns(KinhashWarning, match="No two rows share a class"):
        from_labels(np.arange(9) / 7).check(None)


# -- maps --------------------------------------------------------------------------------------------


def training_of(X, y=None, weights=None):
    supervision = NoSupervision(len(X)) if y is None else from_labels(y)
    return Training(Rows(X), supervision, weights, np.random.default_rng(0), Stages())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_map_is_ridge_with_an_intercept(weighted, standardize):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)) * [1, 10, 0.1, 1, 1, 1] + [0, 5, 0, 0, 1, 0]
    T = rng.normal(size=(400, 3)) + X[:, :3]
    w = rng.uniform(0.5, 2, 400) if weighted else None
    training = training_of(X, weights=w)
    moments = standardized_moments(
        training, first_preparation(training.rows, standardize), lambda p: T[p], standardize
    )
    z = prepare_rows(training.rows, moments.preparation)
    if standardize:
        np.testing.assert_allclose(np.average(z, axis=0, weights=w), 0, atol=1e-5)
        np.testing.assert_allclose(np.average(z**2, axis=0, weights=w), 1, atol=1e-4)
    ridge = Ridge(alpha=7.0).fit(z, T, sample_weight=w)
    found = LinearMap.fit(moments, 7.0, np.zeros(3))
    np.testing.assert_allclose(found.scores(X), ridge.predict(z), atol=2e-3)
    above = LinearMap.fit(moments, 7.0, moments.target_mean)  # a threshold at the mean leaves no intercept
    np.testing.assert_allclose(above.intercept, 0, atol=1e-6)


def test_constant_columns_say_nothing_and_huge_ones_do_not_overflow():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(200, 2)) * [1e-12, 1e12], np.full(200, 3.0)]
    training = training_of(X)
    moments = standardized_moments(training, first_preparation(training.rows), lambda p: X[p, :1] * 1e12)
    z = prepare_rows(training.rows, moments.preparation)
    assert np.isfinite(z).all()
    assert (moments.gram[2] == 0).all()
    found = LinearMap.fit(moments, 0.1, np.zeros(1))
    assert np.corrcoef(found.scores(X)[:, 0], X[:, 0])[0, 1] > 0.999


def test_rows_without_supervision_have_no_say():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    y = [None if k % 3 == 0 else k % 2 for k in range(60)]
    known = [k for k in range(60) if k % 3]
    some, alone = training_of(X, y), training_of(X[known], [y[k] for k in known])
    guess = first_preparation(some.rows)
    one = standardized_moments(some, guess, lambda p: T[p])
    other = standardized_moments(alone, guess, lambda p: T[known][p])
    np.testing.assert_allclose(one.gram, other.gram, atol=1e-3)
    np.testing.assert_allclose(one.cross, other.cross, atol=1e-4)


def test_penalties():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 80))
    signal = X[:, :1] * 2
    for noise, stronger in ((0.05, False), (20.0, True)):
        T = signal + noise * rng.normal(size=(120, 1))
        moments = standardized_moments(training_of(X), first_preparation(Rows(X)), lambda p, T=T: T[p])
        assert choose_alpha("auto", moments) == 120 / 80
        assert (choose_alpha("gcv", moments) > choose_alpha("auto", moments)) == stronger
        assert choose_alpha(3, moments) == 3.0
