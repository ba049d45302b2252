"""Weights count relative to each other, and features that tell nothing apart are said to."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from kinhash import EMKSH, EnergyHasher
from kinhash.baselines import ITQ
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.features import Plain
from kinhash.encoders.ridge import Ridge
from kinhash.errors import InvalidInput, KinhashWarning
from kinhash.hashers import model_file

rng = np.random.default_rng(0)
Y = np.arange(300) % 3
X = rng.normal(size=(300, 6)) + 3 * np.eye(6)[Y]
WEIGHTS = rng.integers(1, 5, 300).astype(float)


@pytest.mark.parametrize(
    ("hasher", "x"),
    [
        (EnergyHasher(16, alike=0, random_state=0), np.ones((300, 6))),
        (EMKSH(16, random_state=0), np.full((300, 6), 7.0)),
        (ITQ(4, random_state=0), np.ones((300, 6))),
        (EnergyHasher(16, alike=0, encoder=Ridge(features="rbf"), random_state=0), X + 1e9),
        (EnergyHasher(16, alike=0, encoder=Ridge(features="rbf"), random_state=0), X + 1e6),
    ],
)
@pytest.mark.filterwarnings("ignore:.*bits are constant", "ignore:Features hardly predict")
def test_features_that_tell_nothing_apart_are_said_to(hasher: EnergyHasher, x: np.ndarray) -> None:
    with pytest.warns(KinhashWarning, match="cannot be distinguished") as said:
        hasher.fit(x, Y)
    apart = [str(one.message) for one in said if "cannot be distinguished" in str(one.message)]
    assert ("constant" in apart[-1]) == bool((x == x[0]).all())


def test_one_sided_classes_are_no_reason_to_warn() -> None:
    y = np.where(np.arange(300) < 297, 0, 1)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*cannot be distinguished")
        warnings.filterwarnings("ignore", message=".*bits are constant")
        warnings.filterwarnings("ignore", message="Features hardly predict")
        EnergyHasher(8, alike=0, random_state=0).fit(X, y)


HASHERS = {
    "default": EnergyHasher(16, alike=0, random_state=0),
    "ridge": EnergyHasher(16, alike=0, encoder="ridge", solver="spectral", random_state=0),
    "EMKSH": EMKSH(16, random_state=0),
    "ITQ": ITQ(4, random_state=0),
}
for name, n_bits in {"SDH": 4, "CCAITQ": 2}.items():
    if name in model_file.HASHERS:  # where kinhash-bench is installed
        HASHERS[name] = model_file.HASHERS[name](n_bits, random_state=0)
FACTORS = [1e-8, 1e-4, 1e4, 1e300, 1e-300]


@pytest.mark.parametrize("name", HASHERS)
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.filterwarnings("ignore:1 of 4 bits are constant")
def test_a_common_factor_of_the_weights_changes_nothing(name: str, factor: float) -> None:
    hasher = HASHERS[name]
    plain = hasher.fit(X, Y, WEIGHTS).encode(X).packed
    learned = hasher.codes_.packed
    hasher.fit(X, Y, WEIGHTS * factor)
    np.testing.assert_array_equal(hasher.encode(X).packed, plain)
    np.testing.assert_array_equal(hasher.codes_.packed, learned)


@pytest.mark.parametrize("factor", FACTORS)
def test_equal_weights_are_no_weights(factor: float) -> None:
    hasher = HASHERS["default"]
    plain = hasher.fit(X, Y).model_id_
    assert hasher.fit(X, Y, np.full(300, factor)).model_id_ == plain


@pytest.mark.parametrize("factor", FACTORS)
def test_blocks_share_one_unit_of_weight(factor: float) -> None:
    """A heavy second block stays heavy, whatever the unit, and blocks without weights count 1 a row."""
    ids = []
    for scale in (1.0, factor):
        hasher = EnergyHasher(16, alike=0, encoder="ridge", solver="coordinate", random_state=0)
        hasher.partial_fit(X[:150], Y[:150], WEIGHTS[:150] * scale)
        hasher.partial_fit(X[150:], Y[150:], 50 * WEIGHTS[150:] * scale)
        ids.append(hasher.encode(X).packed)
    np.testing.assert_array_equal(*ids)


def test_weights_that_say_nothing_are_refused() -> None:
    for bad in ([0.0] * 300, [-1.0] * 300, [np.nan] * 300):
        with pytest.raises(InvalidInput, match="sample_weight"):
            HASHERS["default"].fit(X, Y, bad)


@pytest.mark.parametrize(
    "hasher",
    [
        EMKSH(16, standardize=False, alpha="gcv", random_state=0),
        EnergyHasher(
            16,
            alike=0,
            encoder=ExpectedLabels(features=Plain(standardize=False), penalty=1e-12),
            random_state=0,
        ),
    ],
    ids=["ridge", "expected"],
)
def test_small_columns_count_as_they_are_without_standardizing(hasher: EnergyHasher) -> None:
    """Columns of deviation 1e-6 still tell classes apart; what truly is constant stays silent."""
    plain = hasher.fit(X, Y).score(X, Y)
    assert plain > 0.85
    assert hasher.fit(X * 1e-6, Y).score(X * 1e-6, Y) > plain - 0.1  # penalties weigh more on small columns
    constant = np.column_stack([X, np.full(300, 0.1), np.full(300, 1e-9)])
    assert hasher.fit(constant, Y).score(constant, Y) == pytest.approx(plain, abs=0.01)
