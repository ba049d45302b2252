"""From features to neighbors in one call."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_data import classes

from kinhash import BitLayout, EnergyHasher, HammingIndex
from kinhash.errors import InvalidInput


@pytest.fixture(scope="module")
def fitted():
    """A hasher whose last bits are said to be alike bits, and the index of its rows."""
    X, y = classes(n=120)
    hasher = EnergyHasher(16, random_state=0).fit(X, y)
    hasher.adopt(replace(hasher.fitted_, fields=BitLayout(6, 4)))
    return hasher, HammingIndex.from_codes(hasher.encode(X)), X


@pytest.mark.parametrize(("floats", "of"), [("alike", "alike"), ("kin", "kin"), ("both", None)])
def test_floats_are_margins_of_the_named_field(fitted, floats, of):
    hasher, index, X = fitted
    own = list(range(9))
    found = hasher.search(index, X[:9], 12, floats=floats, exclude=own)
    margins = hasher.decision_function(X[:9])
    expected = index.search(hasher.encode(X[:9]), 12, margins=margins, margins_of=of, exclude=own)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.distances, expected.distances)


def test_without_floats_codes_are_compared(fitted):
    hasher, index, X = fitted
    found = hasher.search(index, X[:9], 12, floats=None)
    np.testing.assert_array_equal(found.distances, index.search(hasher.encode(X[:9]), 12).distances)
    with pytest.raises(InvalidInput, match="floats"):
        hasher.search(index, X[:9], 12, floats="looks")


def test_a_hasher_without_alike_bits_compares_codes(fitted):
    hasher, _, X = fitted
    plain = EnergyHasher(16, random_state=0).adopt(replace(hasher.fitted_, fields=BitLayout()))
    index = HammingIndex.from_codes(hasher.encode(X).packed)
    plain.n_features_in_ = hasher.n_features_in_
    found = plain.search(index, X[:9], 12)
    assert found.distances.dtype == np.uint16
