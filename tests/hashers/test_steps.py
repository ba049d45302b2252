"""The steps of learning, each against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from small_data import classes, tags, training

from kinhash import EnergyHasher
from kinhash.encoders import features
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.feature_transform import prepare_rows
from kinhash.encoders.features import Plain, first_preparation, standardized_moments
from kinhash.encoders.label_models import LinearLabels
from kinhash.encoders.least_squares import ridge_weights
from kinhash.encoders.ridge import leave_one_out
from kinhash.energies.ksh import KSH
from kinhash.solvers.spectral import Spectral

OPTIONS = Plain()


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_predictions_are_those_of_fits_without_the_row(weighted):
    X, y = classes(n=40)
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.3, 2, 40) if weighted else None
    train = training(X, y, weights)
    targets = rng.normal(size=(5, 2))
    moments = standardized_moments(
        train, OPTIONS, first_preparation(train.rows, OPTIONS, rng), lambda part: targets[y[part]]
    )
    alpha, rows = 3.0, np.arange(40)
    found = leave_one_out(train, moments, alpha, ridge_weights(moments, alpha), targets, rows)
    z = prepare_rows(train.rows, moments.preparation)
    for i in range(0, 40, 4):
        others = np.delete(rows, i)
        kept = None if weights is None else weights[others]
        refitted = Ridge(alpha=alpha).fit(z[others], targets[y[others]], sample_weight=kept)
        np.testing.assert_allclose(found[i], refitted.predict(z[i : i + 1])[0], atol=2e-4)


def test_unknown_and_weightless_rows_are_left_out():
    X, y = classes(n=30)
    labels = [None if i < 5 else int(c) for i, c in enumerate(y)]
    assert training(X, y).known_weights is None
    assert training(X, labels).known_weights.tolist() == [0.0] * 5 + [1.0] * 25
    weights = np.arange(30.0)
    assert training(X, labels, weights).known_weights.tolist() == [0.0] * 5 + list(range(5, 30))
    some = training(X, labels, np.where(np.arange(30) == 7, 0.0, 1.0)).some_known_rows(
        np.random.default_rng(0), 100
    )
    assert some.tolist() == [5, 6, *range(8, 30)]
    few = training(X, labels).some_known_rows(np.random.default_rng(0), 10)
    assert len(few) == 10
    assert (np.diff(few) > 0).all()


def test_a_label_model_needs_no_more_than_its_share_of_rows(monkeypatch):
    monkeypatch.setattr(features, "LABEL_ROWS", 100)
    X, y = classes(n=300)
    few = EnergyHasher(8, encoder=ExpectedLabels(features="plain"), random_state=0).fit(X, y)
    monkeypatch.undo()
    assert len(few.codes_) == 300
    assert few.score(X, y) > 0.8 * EnergyHasher(
        8, encoder=ExpectedLabels(features="plain"), random_state=0
    ).fit(X, y).score(X, y)


def test_a_temperature_divides_log_odds():
    W, c = np.ones((2, 1), np.float32), np.zeros(1, np.float32)
    z = np.array([[1.0, 0.5]], np.float32)

    def odds(model):
        chance = model.probabilities(z).astype(float)
        return np.log(chance / (1 - chance))

    np.testing.assert_allclose(
        odds(LinearLabels(W, c).softened(2.0)), 0.5 * odds(LinearLabels(W, c)), rtol=1e-5
    )


def test_scores_of_rotated_codes_have_unit_size():
    X, y = tags()
    supervision = training(X, y).supervision
    solution = Spectral().solve(supervision, KSH(), 4, np.random.default_rng(0))
    S = supervision.similarity(solution.sample.groups, solution.sample.groups)
    turned = solution.rotated_for_itself(np.random.default_rng(1))
    assert np.sqrt((turned.readout.scores(S) ** 2).mean()) == pytest.approx(1.0)
