"""Classes by the hundred: each has a code, warnings count those that share one, few rows each are enough."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from kinhash import EnergyHasher
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.errors import KinhashWarning
from kinhash.hashers.fit_warnings import classes_sharing_codes, shared_codes_warning
from kinhash.metrics import mean_average_precision, precision_at_k
from kinhash.supervision import from_labels


def clouds(sizes, p=24, noise=0.7, seed=0):
    """Rows around a center for each class, and three new ones of each."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(len(sizes), p))
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    asked = np.repeat(np.arange(len(sizes)), 3)
    return *((centers[of] + noise * rng.normal(size=(len(of), p))) for of in (y, asked)), y, asked


def test_two_rows_of_each_of_many_classes_are_enough():
    X, Q, y, asked = clouds(np.full(400, 2))
    fitted = EnergyHasher(64, random_state=0).fit(X, y)
    nearest = np.array([y[np.argmin(((X - q) ** 2).sum(axis=1))] for q in Q])
    n_kin = fitted.codes_.fields.kin(64)
    assert len(np.unique(fitted.codes_.bits()[:, :n_kin], axis=0)) == 400
    found = float(precision_at_k(fitted.encode(Q), fitted.codes_, asked, y, k=1))
    assert found > (nearest == asked).mean() - 0.04


def test_rare_classes_are_found_as_well_as_by_the_nearest_row():
    sizes = np.maximum(2, 300 / np.arange(1, 301)).astype(int)
    X, Q, y, asked = clouds(sizes, noise=0.4)
    plain = ExpectedLabels(features="plain", penalty=1.0, temperature=0.5)
    fitted = EnergyHasher(32, encoder=plain, random_state=0).fit(X, y)
    rare = sizes[asked] <= 6
    nearest = np.array([y[np.argmin(((X - q) ** 2).sum(axis=1))] for q in Q])
    found = mean_average_precision(fitted.encode(Q), fitted.codes_, asked, y).per_query
    assert found[rare].mean() > (nearest == asked)[rare].mean() - 0.05


def test_classes_that_share_a_code_are_counted_and_warned_of():
    X, _, y, _ = clouds(np.full(20, 4))
    with pytest.warns(KinhashWarning, match="of 20 classes share their code") as caught:
        fitted = EnergyHasher(3, random_state=0).fit(X, y)
    assert fitted.report_.unique_codes == len(np.unique(fitted.codes_.packed, axis=0)) <= 8
    assert "Use n_bits=24" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", KinhashWarning)
        assert EnergyHasher(24, random_state=0).fit(X, y).report_.classes_sharing_a_code == 0
    assert shared_codes_warning(2, 20, 24, 8).endswith(
        "Fit with alike=0, so that all bits tell classes apart."
    )
    assert shared_codes_warning(2, 20, 24).endswith("Use more bits.")
    assert shared_codes_warning(2, 20, 8, 2).endswith("Use n_bits=24.")
    assert "alike=0" not in shared_codes_warning(2, 20, 24, 8, tree=True)


def test_sharing_is_counted_by_class():
    X, _, y, _ = clouds(np.full(6, 3))
    fitted = EnergyHasher(16, random_state=0).fit(X, y).fitted_
    assert classes_sharing_codes(fitted, from_labels(y)) == 0
    scores = np.abs(fitted.scores[[0, 1, 1, 3, 1, 5]])
    scores *= np.where(fitted.scores[[0, 1, 1, 3, 1, 5]] > 0, 1, -1) * np.arange(1, 7)[:, None]
    shared = replace(fitted, scores=scores)  # other scores, the same bits
    assert classes_sharing_codes(shared, from_labels(y)) == 3
    some = [None if c == 4 else int(c) for c in y]
    assert classes_sharing_codes(replace(shared, scores=scores[[0, 1, 2, 3, 5]]), from_labels(some)) == 2
    assert classes_sharing_codes(shared, from_labels([{str(c)} for c in y])) == 0
    assert classes_sharing_codes(replace(fitted, scores=None), from_labels(y)) == 0


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize(("matrix", "temperature"), [(False, 0.25), (True, 2.0)])
def test_a_matrix_between_many_classes_is_read_without_codewords(matrix, temperature):
    rng = np.random.default_rng(0)
    y = np.arange(240) % 60  # 16 bits give codewords to more than 49
    X = rng.normal(size=(60, 12))[y] + 0.1 * rng.normal(size=(240, 12))
    branch = np.arange(60) // 6
    between = np.where(branch[:, None] == branch, 0.5, -1.0)
    np.fill_diagonal(between, 1.0)
    hasher = EnergyHasher(16, kinship=between if matrix else "auto", alike=0, random_state=0).fit(X, y)
    assert hasher.report_.facts["temperature"] == temperature
