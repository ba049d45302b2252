"""scikit-learn's own checks on every hasher, and life among its tools."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kinhash import EMBRE, EMKSH, EMLFH, EMSPLH, EMExpH, EnergyHasher
from kinhash.errors import InvalidInput
from kinhash.files import HASHERS
from some_rows import classes, distances

pytestmark = [
    pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning"),
    pytest.mark.usefixtures("quick_fits"),
]
X, Y = classes(n=120, p=6, k=4)
OURS = [
    *(kind(8) for kind in (EMKSH, EMLFH, EMBRE, EMExpH, EnergyHasher)),
    EMSPLH(1),
    EnergyHasher(8, energy="ksh"),
]
WHY = "rows, or anchors, are drawn by their weights: equal in expectation alone"
PARTS = {
    "check_fit_score_takes_y": "it calls partial_fit after fit, which is refused: it would forget the rows"
}
EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": WHY for kind in ("dense", "sparse")}


def expected_failures(estimator):
    return EXPECTED | (PARTS if hasattr(estimator, "partial_fit") else {})


@parametrize_with_checks(OURS, expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def rivals():
    """Every row of the table but our own methods, those of kinhash-bench too where it is installed."""
    own = {type(one).__name__ for one in OURS}
    return [HASHERS[name]().set_params(n_bits=8) for name in HASHERS if name not in own]


@pytest.mark.slow
@parametrize_with_checks(rivals())
def test_scikit_learns_checks_on_rivals(estimator, check):
    check(estimator)


def test_a_pipeline_searches_its_settings():
    pipeline = make_pipeline(
        StandardScaler(), EnergyHasher(n_bits=8, random_state=0), KNeighborsClassifier(3, metric="hamming")
    )
    search = GridSearchCV(
        pipeline, {"energyhasher__n_bits": [2, 16], "energyhasher__trust": [0.4, 1.0]}, cv=2
    ).fit(X, Y)
    assert search.best_score_ > 0.9
    assert search.best_params_["energyhasher__n_bits"] == 16
    scores = cross_val_score(EMKSH(8, random_state=0), X, Y, cv=3)  # the hasher's own score: mAP
    assert (scores > 0.7).all()


@pytest.mark.parametrize(("kind", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_output_as_frames(kind, frame):
    hasher = EnergyHasher(5, random_state=0).fit(X, Y)
    bits = hasher.transform(X)
    out = hasher.set_output(transform=kind).transform(X)
    assert isinstance(out, frame)
    names = [f"energyhasher{i}" for i in range(5)]
    assert list(out.columns) == hasher.get_feature_names_out().tolist() == names
    assert np.array_equal(out.to_numpy(), bits)


def test_column_names_are_remembered_and_checked():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    hasher = EnergyHasher(8, random_state=0).fit(frame, Y)
    assert hasher.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(InvalidInput, match="feature names"):
        hasher.encode(frame.rename(columns={"a": "z"}))
    with pytest.warns(UserWarning, match="feature names"):
        hasher.encode(X)


def test_explain_counts_the_differing_bits():
    hasher = EMKSH(8, random_state=0).fit(X, Y)
    told = hasher.explain(X[0], X[1])
    assert told.distance == distances(hasher.encode(X[:2]))[0, 1]
    assert np.array_equal(told.margins, hasher.decision_function(X)[:2])
    assert str(told).startswith(f"{told.distance} of 8 bits differ")
    assert hasher.explain(X[0], X[0]).distance == 0
    for left, right in ((X[:2], X[1]), (X[0], X[1, :3])):
        with pytest.raises(InvalidInput):
            hasher.explain(left, right)


def test_score_is_the_expected_mean_average_precision():
    """Each row asks the others, its own left out, and the mean is the score."""
    from kinhash.metrics import evaluate

    hasher = EMKSH(8, random_state=0).fit(X, Y)
    codes, each = hasher.encode(X), []
    for i in range(len(X)):
        others = np.delete(np.arange(len(X)), i)
        each.append(float(evaluate(codes[i], codes[others], Y[[i]], Y[others])))
    assert hasher.score(X, Y) == pytest.approx(np.mean(each))


def test_callbacks_of_newer_scikit_learn():
    pytest.importorskip("sklearn.callback")
    from sklearn.callback import ProgressBar

    for kind in (EMKSH, EnergyHasher):
        plain = kind(8, random_state=0)
        watched = clone(plain).set_callbacks(ProgressBar())
        assert np.array_equal(watched.fit(X, Y).codes_, plain.fit(X, Y).codes_)
