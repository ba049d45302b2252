"""Sign bits: each column against its mean, the widest columns first."""

from __future__ import annotations

import numpy as np
from rival_cases import classes

from kinhash.baselines import SignBits


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
