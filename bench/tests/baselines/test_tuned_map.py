"""map="tuned": ridge onto the rivals' codes, chosen on held-out rows."""

from __future__ import annotations

import numpy as np
import pytest
from rival_cases import classes, signs

import kinhash
from kinhash.testing import check_hasher
from kinhash_bench.baselines import BASELINES
from kinhash_bench.baselines import tuned_penalty as tuned

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


def rings(n):
    rng = np.random.default_rng(0)
    ring, angle = np.arange(n) % 3, rng.uniform(0, 2 * np.pi, n)
    return np.c_[ring * np.cos(angle), ring * np.sin(angle), np.full(n, 3.0)] + 0.05 * rng.normal(
        size=(n, 3)
    ), ring


def test_it_keeps_the_contract_and_the_codes(tmp_path):
    check_hasher(BASELINES["COSDISH"](8, map="tuned"))
    X, y = classes(n=300)
    fitted = BASELINES["COSDISH"](8, map="tuned", random_state=0).fit(X, y)
    assert np.array_equal(fitted.codes_, BASELINES["COSDISH"](8, random_state=0).fit(X, y).codes_)
    fitted.save(tmp_path / "model.kin")
    assert np.array_equal(kinhash.load(tmp_path / "model.kin").encode(X), fitted.encode(X))


def test_features_are_chosen():
    X, y = rings(400)
    assert BASELINES["SDH"](8, map="tuned", random_state=0).fit(X, y).report_.facts["features"] in (
        "rbf",
        "both",
    )
    X, y = classes(n=400)
    report = BASELINES["SDH"](8, map="tuned", random_state=0).fit(X, y).report_.facts
    assert report["penalty"] in tuned.PENALTIES
    assert report["held_out_score"] > 0.8


def test_a_penalty_is_chosen_that_noise_needs():
    """Nearly as many columns as rows, and little in them: the weakest penalties learn the noise."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 5
    X = rng.normal(size=(300, 200)) + 0.25 * rng.normal(size=(5, 200))[y]
    chosen = BASELINES["RandomCodewords"](16, map="tuned", random_state=0).fit(X, y)
    assert chosen.report_.facts["penalty"] >= 10


def test_the_path_is_ridge_with_an_intercept():
    from sklearn.linear_model import Ridge

    from kinhash.paper import Training, from_labels
    from kinhash.plugins import Rows, Stages
    from kinhash_bench.baselines.features import PLAIN, labeled_set

    X, y = classes(n=120)
    weights = np.random.default_rng(0).uniform(0.5, 2, 120)
    training = Training(Rows(X), from_labels(y, 120), weights, np.random.default_rng(0), Stages())
    rows = labeled_set(training, PLAIN, training.rng)
    targets = np.random.default_rng(1).choice([-1.0, 1.0], (120, 5))
    for penalty, found in tuned._ridge_path(rows, targets):
        ridge = Ridge(alpha=penalty).fit(rows.features, targets, sample_weight=weights)
        np.testing.assert_allclose(found[:-1], ridge.coef_.T, atol=2e-3)
        np.testing.assert_allclose(found[-1], ridge.intercept_, atol=2e-3)


def test_few_rows_or_pairs_take_a_plain_ridge():
    X, y = classes(n=100)
    report = BASELINES["COSDISH"](8, map="tuned", random_state=0).fit(X, y).report_.facts
    assert (report["features"], report["penalty"]) == ("plain", tuned.UNTUNED)
    assert "held_out_score" not in report
    paired = BASELINES["COSDISH"](8, map="tuned", random_state=0).fit_pairs(
        X, [0, 1, 2], [3, 4, 5], [1, -1, 1]
    )
    assert signs(paired).shape == (100, 8)
