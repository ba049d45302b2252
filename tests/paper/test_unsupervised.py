"""ITQ, LSH and sign bits: what their bits mean, against the plain algorithms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import get_tags

from kinhash.errors import InvalidInput
from kinhash.paper import ITQ, LSH, SignBits, itq_rotation


def classes(n=120, p=8, k=4):
    """Rows around k centers, and their classes."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(n) % k)
    return rng.normal(size=(n, p)) + 2 * rng.normal(size=(k, p))[y], y


def never_rises(values, slack):
    values = np.asarray(values)
    return bool((np.diff(values) <= slack * np.abs(values).max()).all())


def plain_itq(V, R, rounds):
    """Gong and Lazebnik's loop, written down as they print it."""
    for _ in range(rounds):
        B = np.where(V @ R >= 0, 1.0, -1.0)
        left, _, right = np.linalg.svd(B.T @ V)
        R = right.T @ left.T
    return R


@given(n=st.integers(3, 40), r=st.integers(1, 6), more=st.integers(0, 3), seed=st.integers(0, 99))
def test_the_error_never_rises_and_the_rotation_stays_one(n, r, more, seed):
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(n, r)) * rng.uniform(0.1, 10, r)
    weights = rng.uniform(0.1, 3, n)
    R, errors = itq_rotation(V, r + more, rng, 20, weights)
    assert never_rises(errors, 1e-12)
    np.testing.assert_allclose(R @ R.T, np.eye(r), atol=1e-9)


def test_the_rotation_is_that_of_the_plain_loop():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(60, 4))
    left, _, right = np.linalg.svd(np.random.default_rng(5).standard_normal((4, 4)))
    found, _ = itq_rotation(V, 4, np.random.default_rng(5), 9)
    np.testing.assert_allclose(found, plain_itq(V, left @ right, 9), atol=1e-9)


def test_principal_directions_alone_carry_the_bits():
    """Bits are signs of an orthogonal turn of the top principal components of the centered columns."""
    X, _ = classes(p=8)
    X = X * np.array([9, 5, 3, 1, 1, 1, 1, 1.0])
    fitted = ITQ(3, random_state=0).fit(X)
    centered = X - X.mean(axis=0)
    top = np.linalg.svd(centered, full_matrices=False)[2][:3].T
    margins = fitted.decision_function(X)
    turn = np.linalg.lstsq(centered @ top, margins, rcond=None)[0]
    np.testing.assert_allclose(centered @ top @ turn, margins, atol=3e-3)
    np.testing.assert_allclose(turn.T @ turn, np.eye(3) * (turn**2).sum() / 3, atol=1e-3)


def test_the_report_has_the_errors():
    X, y = classes()
    fitted = ITQ(6, n_rounds=7, random_state=0).fit(X, y)
    errors = fitted.report_.facts["quantization_error"]
    assert len(errors) == 8  # before every round, and at the end
    assert never_rises(errors, 1e-9)
    assert errors[-1] < errors[0]


def test_rounds_are_checked():
    with pytest.raises(InvalidInput, match="n_rounds"):
        ITQ(8, n_rounds=0).fit(classes()[0])


# -- LSH -----------------------------------------------------------------------------------------


def test_bits_of_symmetric_data_are_balanced_even_far_from_the_origin():
    X = np.random.default_rng(0).normal(size=(4000, 10)) + 50
    share = LSH(64, random_state=0).fit(X).transform(X).mean(axis=0)
    assert np.abs(share - 0.5).max() < 0.04


def test_bits_differ_as_often_as_the_angle_says():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 5))
    X = np.concatenate([X, -X])  # the mean is zero, so angles are those at the origin
    bits = LSH(1024, random_state=0).fit(X).transform(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    angle = np.arccos(np.clip(unit @ unit.T, -1, 1)) / np.pi
    differ = (bits[:, None] != bits).mean(axis=2)
    assert np.abs(differ - angle).max() < 5 * 0.5 / np.sqrt(1024)


def test_codes_are_the_signs_of_centered_projections():
    X, _ = classes()
    W = np.random.default_rng(3).standard_normal((8, 16))
    projected = (X - X.mean(axis=0)) @ W
    firm = np.abs(projected) > 2e-3
    assert np.array_equal(LSH(16, random_state=3).fit(X).transform(X)[firm], projected[firm] > 0)


def test_labels_are_neither_needed_nor_read():
    X, y = classes()
    plain = LSH(16, random_state=0).fit(X)
    for labels in (y, np.full(len(X), np.nan)):
        assert plain.model_id_ == LSH(16, random_state=0).fit(X, labels).model_id_
    assert plain.model_id_ == LSH(16, random_state=0).fit_pairs(X, [0, 1], [2, 3], [1, -1]).model_id_
    assert not get_tags(plain).target_tags.required
    assert not plain.codes_.learned


def test_rows_of_weight_zero_do_not_count():
    X, _ = classes()
    weights = np.ones(len(X))
    weights[:20] = 0
    far = X.copy()
    far[:20] += 20
    with_far = LSH(16, random_state=0).fit(far, sample_weight=weights)
    without = LSH(16, random_state=0).fit(X[20:])
    assert np.array_equal(with_far.encode(X), without.encode(X))


# -- sign bits -----------------------------------------------------------------------------------


def test_every_column_has_its_bit():
    X, _ = classes()
    fitted = SignBits(8).fit(X)
    order = fitted.report_.facts["columns"]
    assert order.tolist() == np.argsort(-X.std(axis=0)).tolist()
    assert np.array_equal(fitted.transform(X), (X - X.mean(axis=0) > 0)[:, order])


def test_fewer_bits_take_the_widest_columns_and_more_go_round_again():
    X, _ = classes()
    every = SignBits(8).fit(X).transform(X)
    assert np.array_equal(SignBits(3).fit(X).transform(X), every[:, :3])
    assert np.array_equal(SignBits(12).fit(X).transform(X), np.concatenate([every, every[:, :4]], axis=1))
