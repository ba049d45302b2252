"""Label models, and maps that are stored and read again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVR
from sklearn.tree import DecisionTreeRegressor

from kinhash import EnergyHasher
from kinhash._internal.rows import Rows
from kinhash._internal.stages import Stages
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.feature_transform import Preparation, UnitRBF
from kinhash.encoders.features import LabeledSet, Plain, labeled_set
from kinhash.encoders.label_models import ClassifierLabels, Coefficients, LinearLabels, fit_logistic
from kinhash.encoders.maps import ClassSimilarity, ExpectedMap, LinearMap, StackedMap, TagSimilarity
from kinhash.encoders.regressor import RegressorMap
from kinhash.energies.lfh import LFH
from kinhash.errors import InvalidInput, KinhashWarning, NotEnoughMemory
from kinhash.models import WholeMap
from kinhash.solvers.readout import LinearReadout, PolishReadout, SolveReadout, VaryingReadout
from kinhash.solvers.sample import Targets
from kinhash.supervision import Training, from_labels

seeds = st.integers(0, 9999)


# -- logistic ------------------------------------------------------------------------------------------


def labeled(seed=0, n=200, p=4, correlated=False):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    if correlated:
        Z = Z @ np.triu(np.ones((p, p))) + 0.05 * rng.normal(size=(n, p))
    Z = ((Z - Z.mean(axis=0)) / Z.std(axis=0)).astype(np.float32)
    Y = (Z @ rng.normal(size=(p, 3)) + rng.logistic(size=(n, 3)) + [0, -1, -3] > 0).astype(np.float32)
    return Z, Y


def labeled_rows(Z, Y, weights=None, exclusive=False):
    """Rows that are prepared already, as a set with labels."""
    as_they_are = Preparation(np.zeros(Z.shape[1]), np.ones(Z.shape[1]))
    return LabeledSet(np.arange(len(Z)), as_they_are, Z, sp.csr_array(Y), weights, exclusive, 1)


def fit(Z, Y, penalty, weights=None, exclusive=False, **limits):
    found = fit_logistic(labeled_rows(Z, Y, weights, exclusive), penalty, **limits)
    return found.weights, found.intercept


@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_is_scikit_learns(penalty, correlated, weighted):
    Z, Y = labeled(correlated=correlated)
    w = np.random.default_rng(1).uniform(0.2, 2, len(Z)) if weighted else None
    W, c = fit(Z, Y, penalty, w, max_steps=200, tolerance=1e-6)
    for t in range(3):
        theirs = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=2000).fit(Z, Y[:, t], sample_weight=w)
        np.testing.assert_allclose(W[:, t], theirs.coef_[0], atol=5e-3)
        np.testing.assert_allclose(c[t], theirs.intercept_[0], atol=5e-3)


@pytest.mark.parametrize("penalty", [1.0, 30.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_that_exclude_each_other_are_scikit_learns_softmax(penalty, weighted):
    Z, _ = labeled(correlated=True)
    y = (Z @ np.random.default_rng(2).normal(size=(Z.shape[1], 4))).argmax(axis=1)
    w = np.random.default_rng(1).uniform(0.2, 2, len(Z)) if weighted else None
    onehot = np.eye(4, dtype=np.float32)[y]
    W, c = fit(Z, onehot, penalty, w, exclusive=True, max_steps=300, tolerance=1e-6)
    theirs = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=3000).fit(Z, y, sample_weight=w)
    ours = LinearLabels(W, c, link="softmax").probabilities(Z)
    np.testing.assert_allclose(ours, theirs.predict_proba(Z), atol=5e-3)


def test_the_default_number_of_steps_comes_close():
    Z, Y = labeled(correlated=True)
    near, sure = fit(Z, Y, 1.0), fit(Z, Y, 1.0, max_steps=300, tolerance=1e-7)
    chances = [1 / (1 + np.exp(-(Z @ W + c))) for W, c in (near, sure)]
    assert np.abs(chances[0] - chances[1]).max() < 0.02


def test_labels_that_never_or_always_occur_stay_finite():
    Z, Y = labeled()
    Y[:, 0], Y[:, 1] = 0, 1
    W, c = fit(Z, Y, 1.0, max_steps=100)
    chances = 1 / (1 + np.exp(-(Z @ W + c)))
    assert np.isfinite(chances).all()
    assert chances[:, 0].max() < 0.1
    assert chances[:, 1].min() > 0.9


def test_a_start_is_used_and_blocks_do_not_matter(monkeypatch):
    Z, Y = labeled()
    done = fit(Z, Y, 1.0, max_steps=100, tolerance=1e-6)
    again = fit(Z, Y, 1.0, start=Coefficients(*done), max_steps=0)
    np.testing.assert_allclose(again[0], done[0], atol=1e-5)
    for module in ("label_models", "features"):
        monkeypatch.setattr(f"kinhash.encoders.{module}.BLOCK", 64)
    other = fit(Z, Y, 1.0, max_steps=100, tolerance=1e-6)
    np.testing.assert_allclose(other[0], done[0], atol=1e-3)


def test_a_rough_gram_matrix_slows_a_fit_and_leads_to_the_same_answer(monkeypatch):
    Z, Y = labeled(correlated=True)
    exact = fit(Z, Y, 1.0, max_steps=200, tolerance=1e-6)
    monkeypatch.setattr("kinhash.encoders.features.GRAM_ROWS", 20)
    rough = fit(Z, Y, 1.0, max_steps=200, tolerance=1e-6)
    for one, other in zip(exact, rough, strict=True):
        np.testing.assert_allclose(one, other, atol=5e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_over_labeled_rows_by_definition(weighted):
    Z, Y = labeled()
    w = np.random.default_rng(1).uniform(0.2, 2, len(Z)) if weighted else np.ones(len(Z))
    rows = labeled_rows(Z, Y, w if weighted else None)
    W = np.diag(w)
    assert rows.total_weight == pytest.approx(w.sum())
    np.testing.assert_allclose(rows.label_means, w @ Y / w.sum(), rtol=1e-6)
    np.testing.assert_allclose(rows.cross, Z.T @ W @ Y, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(rows.gram, Z.T @ W @ Z, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_a_labeled_set_are_prepared_as_the_map_will_prepare_them(standardize, weighted):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 4)) * [1, 3, 0.1, 0] + 5, rng.integers(0, 3, 300)
    w = rng.uniform(0.5, 2, 300) if weighted else None
    training = Training(Rows(X), from_labels(y), w, rng, Stages(None, None, False), 1)
    found = labeled_set(training, Plain(standardize=standardize), rng, np.arange(0, 300, 2))
    part = X[::2]
    mean = np.average(part, axis=0, weights=None if w is None else w[::2])
    np.testing.assert_allclose(found.preparation.mean, mean, rtol=1e-5)
    np.testing.assert_allclose(found.features[:, :3], found.preparation(part)[:, :3], atol=1e-4)
    assert (found.features[:, 3] == 0).all()  # a column that does not vary
    assert np.array_equal(found.labels.toarray().argmax(axis=1), y[::2])
    if standardize:
        spread = np.sqrt(np.average((part - mean) ** 2, axis=0, weights=None if w is None else w[::2]))
        np.testing.assert_allclose(found.preparation.scale[:3], spread[:3], rtol=1e-4)


@given(seed=seeds, temperature=st.sampled_from([0.5, 1.0, 3.0]), link=st.sampled_from(["sigmoid", "softmax"]))
def test_a_temperature_divides_the_scores_of_a_logistic_model(seed, temperature, link):
    rng = np.random.default_rng(seed)
    z, W = rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=(3, 4)).astype(np.float32)
    c = rng.normal(size=4).astype(np.float32)
    raw = (z @ W + c) / temperature
    odds = np.exp(raw)
    expected = odds / odds.sum(axis=1, keepdims=True) if link == "softmax" else odds / (1 + odds)
    found = LinearLabels(W, c, link).softened(temperature).probabilities(z)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_classifiers_are_not_softened():
    Z, Y = labeled()
    theirs = ClassifierLabels.fit(LogisticRegression(), Z, Y[:, 0].astype(int), 2)
    assert theirs.softened(2.0) is theirs


# -- label models ----------------------------------------------------------------------------------------


def test_linear_labels():
    z = np.array([[1.0, 2.0]], np.float32)
    W, c = np.array([[1.0, -3.0], [0.5, 0.0]], np.float32), np.array([0.0, 1.0], np.float32)
    np.testing.assert_allclose(
        LinearLabels(W, c).probabilities(z), 1 / (1 + np.exp([[-2.0, 2.0]])), rtol=1e-6
    )


def test_any_classifier_speaks_in_our_labels():
    Z, Y = labeled()
    classes = Y[:, 0].astype(int) + 2  # classes 2 and 3 of five
    found = ClassifierLabels.fit(LogisticRegression(), Z, classes, 5).probabilities(Z)
    assert found.shape == (len(Z), 5)
    assert (found[:, [0, 1, 4]] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("classifier", [LogisticRegression(), RandomForestClassifier(5, random_state=0)])
def test_any_classifier_takes_tags(classifier):
    """One model per tag where the classifier knows only one, and none for a tag that never varies."""
    Z, Y = labeled()
    tags = np.column_stack([Y, np.zeros(len(Z)), np.ones(len(Z))])
    found = ClassifierLabels.fit(classifier, Z, tags, 5).probabilities(Z)
    assert found.shape == (len(Z), 5)
    for t in range(3):
        alone = clone(classifier).fit(Z, Y[:, t]).predict_proba(Z)[:, 1]
        if isinstance(classifier, LogisticRegression):
            np.testing.assert_allclose(found[:, t], alone, atol=1e-4)
        else:  # a forest grows its trees for all tags together
            assert np.corrcoef(found[:, t], alone)[0, 1] > 0.6
    assert (found[:, 3] == 0).all()


# -- maps -----------------------------------------------------------------------------------------------


PLAIN = Preparation(np.zeros(3), np.ones(3))
X = np.random.default_rng(0).normal(size=(6, 3))


def linear_map(d, seed=0, preparation=PLAIN):
    rng = np.random.default_rng(seed)
    q = len(preparation.mean)
    return LinearMap(
        preparation, rng.normal(size=(q, d)).astype(np.float32), rng.normal(size=d).astype(np.float32)
    )


LABELS = LinearLabels(
    np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32), np.zeros(4, np.float32)
)
CLASSES = replace(LABELS, link="softmax")


def expected_map(readout, expected=None):
    if expected is None:
        expected = ClassSimilarity(CLASSES, np.arange(4))
    return ExpectedMap(PLAIN, expected, readout, np.zeros(2))


def stored_maps():
    rng = np.random.default_rng(2)
    matrix, constant, gram = rng.normal(size=(4, 2)), rng.normal(size=2), np.eye(2) * 3
    targets = Targets("balanced", np.full(4, 0.25), rng.normal(size=4), -0.2)
    varying = VaryingReadout(LFH(0.5), targets, rng.uniform(-1, 1, (4, 2)), np.ones(4), 1.5, "row", 2.0)
    patterns = rng.integers(0, 2, (4, 4)).astype(np.uint8)
    between = 2 * 0.5 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4))) - 1
    rbf = Preparation(np.zeros(5), np.full(5, 0.5), UnitRBF.of(rng.normal(size=(5, 3)), 0.4))
    return {
        "linear": linear_map(2),
        "rbf": linear_map(2, preparation=rbf),
        "expected, linear readout": expected_map(LinearReadout(matrix, constant, 1.0)),
        "expected, matrix of classes": expected_map(
            LinearReadout(matrix, constant), ClassSimilarity(CLASSES, np.array([2, 0, 3, 1]), between)
        ),
        "expected, any tag": expected_map(LinearReadout(matrix, constant), TagSimilarity(LABELS, patterns)),
        "expected, graded tags": expected_map(
            LinearReadout(matrix, constant), TagSimilarity(LABELS, patterns, graded=True)
        ),
        "expected, solve readout": expected_map(
            SolveReadout(matrix, constant, -np.ones((2, 2)) + np.eye(2), 2.0, "row")
        ),
        "expected, polish readout": expected_map(PolishReadout(matrix, constant, gram, 0.5)),
        "expected, varying readout": expected_map(varying),
        "stacked": StackedMap(
            (linear_map(2), expected_map(LinearReadout(matrix, constant)), linear_map(12, 5))
        ),
    }


@pytest.mark.parametrize("name", sorted(stored_maps()))
def test_rounded_maps_are_stored_and_score_exactly_as_before(name):
    found = stored_maps()[name]
    with pytest.raises(InvalidInput, match="cannot be written"):
        found.arrays()
    before = found.whole()
    if name == "expected, varying readout":  # a system for every row
        assert before is found
        return
    after = WholeMap.from_arrays(before.arrays())
    assert (after.n_bits, after.n_features) == (found.n_bits, found.n_features)
    assert np.array_equal(after.scores(X), before.scores(X))
    assert all(isinstance(array, np.ndarray) for array in before.arrays().values())
    size = np.abs(found.scores(X)).max()
    np.testing.assert_allclose(before.scores(X), found.scores(X), atol=5e-3 * size)


def test_stacked_maps_stand_side_by_side():
    parts = tuple(linear_map(d, seed) for seed, d in enumerate((2, 1, 3)))
    both = StackedMap(parts)
    assert both.n_bits == 6
    assert np.array_equal(both.scores(X), np.concatenate([part.scores(X) for part in parts], axis=1))


@pytest.mark.parametrize(
    "regressor", [Ridge(), KNeighborsRegressor(3), DecisionTreeRegressor(), LinearSVR(max_iter=20_000)]
)
@pytest.mark.parametrize("d", [1, 3])
def test_any_regressor_is_a_map(regressor, d):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(60, 3)).astype(np.float32)
    T = np.tanh(Z @ rng.normal(size=(3, d)))
    fitted = RegressorMap.fit(regressor, PLAIN, Z, T)
    scores = fitted.scores(Z.astype(np.float64))
    assert scores.shape == (60, d)
    assert ((scores > 0) == (T > 0)).mean() > 0.8
    with pytest.raises(InvalidInput, match="joblib"):
        fitted.arrays()


def test_expected_supervision_with_a_classifier_is_not_stored():
    Z, Y = labeled(p=3)
    model = ClassifierLabels.fit(LogisticRegression(), Z, Y[:, 0].astype(int), 4)
    unstored = expected_map(LinearReadout(np.ones((4, 2)), np.zeros(2)), ClassSimilarity(model, np.arange(4)))
    with pytest.raises(InvalidInput, match="cannot be written"):
        unstored.arrays()


def test_a_label_model_too_wide_for_the_memory_is_refused_before_the_work(monkeypatch):
    monkeypatch.setattr("kinhash._internal.blocks.available_memory", lambda: 10**6)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 40)), rng.integers(0, 3, 300)
    hasher = EnergyHasher(8, encoder=ExpectedLabels(features="both", penalty=1.0, temperature=1.0), alike=0)
    with pytest.raises(NotEnoughMemory, match=r"300 rows, 340 columns and 3 labels.*fewer columns"):
        hasher.fit(X, y)


def test_similarities_that_say_nothing_are_told_of():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = 1e5 + 3 * np.eye(3)[y] + rng.normal(size=(300, 3))
    hasher = EnergyHasher(8, encoder=ExpectedLabels(features="both"), alike=0, random_state=0)
    with pytest.warns(KinhashWarning, match=r"say nothing here: X varies by .*plain features"):
        hasher.fit(X, y)
