"""LSH: balanced bits, angles, and no labels."""

from __future__ import annotations

import numpy as np
import pytest
from rival_cases import classes
from sklearn.utils import get_tags

from kinhash.baselines import LSH


def test_bits_of_symmetric_data_are_balanced_even_far_from_the_origin():
    X = np.random.default_rng(0).normal(size=(4000, 10)) + 50
    fitted = LSH(64, random_state=0).fit(X)
    share = fitted.transform(X).mean(axis=0)
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
    fitted = LSH(16, random_state=3).fit(X)
    W = np.random.default_rng(3).standard_normal((8, 16))
    projected = (X - X.mean(axis=0)) @ W
    firm = np.abs(projected) > 2e-3
    assert np.array_equal(fitted.transform(X)[firm], projected[firm] > 0)


def test_labels_are_neither_needed_nor_read():
    X, y = classes()
    plain = LSH(16, random_state=0).fit(X)
    assert plain.model_id_ == LSH(16, random_state=0).fit(X, y).model_id_
    assert plain.model_id_ == LSH(16, random_state=0).fit(X, np.full(len(X), np.nan)).model_id_
    assert plain.model_id_ == LSH(16, random_state=0).fit_pairs(X, [0, 1], [2, 3], [1, -1]).model_id_
    assert not get_tags(plain).target_tags.required


def test_rows_of_weight_zero_do_not_count():
    X, _ = classes()
    weights = np.ones(len(X))
    weights[:20] = 0
    far = X.copy()
    far[:20] += 1000
    with_far = LSH(16, random_state=0).fit(far, sample_weight=weights)
    without = LSH(16, random_state=0).fit(X[20:])
    assert np.array_equal(with_far.encode(X), without.encode(X))


def test_it_has_no_map_to_choose():
    with pytest.raises(TypeError, match="map"):
        LSH(8, map="linear")
