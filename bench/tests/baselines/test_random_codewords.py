"""Random codewords: a function of the labels, and rows that share tags share bits."""

from __future__ import annotations

import numpy as np
import pytest
from rival_cases import classes, signs, tags

from kinhash_bench.baselines import RandomCodewords

pytestmark = pytest.mark.filterwarnings("ignore:.*constant on the training rows")  # a few classes


@pytest.mark.parametrize("data", [classes, tags])
def test_codes_are_signs_of_random_sums_of_labels(data):
    X, y = data()
    Y = y if y.ndim == 2 else (y[:, None] == np.arange(4)).astype(int)
    fitted = RandomCodewords(32, random_state=5).fit(X, y)
    expected = np.sign(Y @ np.random.default_rng(5).standard_normal((Y.shape[1], 32)))
    assert np.array_equal(signs(fitted), expected)


def test_rows_with_more_tags_in_common_are_nearer():
    X, Y = tags(n=200)
    B = signs(RandomCodewords(512, random_state=0).fit(X, Y))
    cosine = (Y @ Y.T) / np.sqrt(Y.sum(axis=1)[:, None] * Y.sum(axis=1))
    assert np.corrcoef(cosine.ravel(), (B @ B.T).ravel())[0, 1] > 0.9


def test_it_finds_classes_that_ridge_can_tell_apart():
    X, y = classes()
    assert RandomCodewords(64, random_state=0).fit(X, y).score(X, y) > 0.8
