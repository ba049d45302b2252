"""Label models, expected similarities, and maps that are stored and read again."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVR
from sklearn.tree import DecisionTreeRegressor

from kinhash.encoders import map_from_arrays
from kinhash.encoders.expected import (
    ExpectedMap,
    LabelSimilarity,
    RegressedSimilarity,
    expected_similarity,
)
from kinhash.encoders.label_models import ClassifierLabels, LinearLabels
from kinhash.encoders.linear import LinearMap
from kinhash.encoders.logistic import GramBasis, LabelledRows, fit_logistic
from kinhash.encoders.preparation import RBF, Preparation
from kinhash.encoders.regressor import RegressorMap
from kinhash.encoders.stacked import StackedMap
from kinhash.energies.lfh import LFH
from kinhash.errors import InvalidInput
from kinhash.solvers.readout import LinearReadout, PolishReadout, SolveReadout, VaryingReadout
from kinhash.solvers.targets import Targets

seeds = st.integers(0, 9999)


# -- expected similarity ------------------------------------------------------------------------------


@given(seed=seeds, t=st.integers(1, 5))
def test_expected_similarity_is_the_mean_over_all_draws_of_tags(seed, t):
    """METHODS 3.3 m: draw every tag by its own chance, and average S over the draws."""
    rng = np.random.default_rng(seed)
    chances = rng.uniform(0, 0.99, (2, t)).astype(np.float32)
    patterns = rng.integers(0, 2, (3, t)).astype(np.uint8)
    expected = np.zeros((2, 3))
    for draw in product([0, 1], repeat=t):
        draw = np.array(draw)
        chance = np.prod(np.where(draw, chances, 1 - chances), axis=1)
        kin = (patterns @ draw) > 0
        expected += chance[:, None] * np.where(kin, 1.0, -1.0)
    np.testing.assert_allclose(expected_similarity(chances, patterns, False), expected, atol=1e-5)


def test_for_classes_it_is_twice_the_chance_less_one():
    chances = np.array([[0.2, 0.5, 0.3]], np.float32)
    found = expected_similarity(chances, np.eye(3, dtype=np.uint8), True)
    np.testing.assert_allclose(found, [[-0.6, 0.0, -0.4]], atol=1e-6)


def test_certain_tags_keep_it_finite():
    sure = np.ones((1, 3), np.float32)
    found = expected_similarity(sure, np.array([[1, 1, 1], [0, 0, 0]], np.uint8), False)
    assert np.isfinite(found).all()
    assert found[0, 0] > 0.999
    assert found[0, 1] == -1.0  # an anchor without tags is kin to nobody


# -- logistic ------------------------------------------------------------------------------------------


def labelled(seed=0, n=200, p=4, correlated=False):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    if correlated:
        Z = Z @ np.triu(np.ones((p, p))) + 0.05 * rng.normal(size=(n, p))
    Z = ((Z - Z.mean(axis=0)) / Z.std(axis=0)).astype(np.float32)
    Y = (Z @ rng.normal(size=(p, 3)) + rng.logistic(size=(n, 3)) + [0, -1, -3] > 0).astype(np.float32)
    return Z, Y


def fit(Z, Y, penalty, weights=None, block=64, **limits):
    blocks = [slice(a, min(a + block, len(Z))) for a in range(0, len(Z), block)]

    def read(part):
        return Z[part], Y[part], None if weights is None else weights[part].astype(np.float32)

    w = np.ones(len(Z)) if weights is None else weights
    gram = ((Z * w[:, None]).T @ Z).astype(np.float64)
    rows = LabelledRows(blocks, read, 1)
    return fit_logistic(rows, GramBasis.of(gram), (w @ Y) / w.sum(), float(w.sum()), penalty, **limits)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_is_scikit_learns(penalty, correlated, weighted):
    Z, Y = labelled(correlated=correlated)
    w = np.random.default_rng(1).uniform(0.2, 2, len(Z)) if weighted else None
    W, c = fit(Z, Y, penalty, w, max_steps=200, tolerance=1e-6)
    for t in range(3):
        theirs = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=2000).fit(Z, Y[:, t], sample_weight=w)
        np.testing.assert_allclose(W[:, t], theirs.coef_[0], atol=5e-3)
        np.testing.assert_allclose(c[t], theirs.intercept_[0], atol=5e-3)


@pytest.mark.parametrize("penalty", [1.0, 30.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_that_exclude_each_other_are_scikit_learns_softmax(penalty, weighted):
    Z, _ = labelled(correlated=True)
    y = (Z @ np.random.default_rng(2).normal(size=(Z.shape[1], 4))).argmax(axis=1)
    w = np.random.default_rng(1).uniform(0.2, 2, len(Z)) if weighted else None
    onehot = np.eye(4, dtype=np.float32)[y]
    W, c = fit(Z, onehot, penalty, w, exclusive=True, max_steps=300, tolerance=1e-6)
    theirs = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=3000).fit(Z, y, sample_weight=w)
    ours = LinearLabels(W, c, link="softmax").probabilities(Z)
    np.testing.assert_allclose(ours, theirs.predict_proba(Z), atol=5e-3)


def test_the_default_number_of_steps_comes_close():
    Z, Y = labelled(correlated=True)
    near, sure = fit(Z, Y, 1.0), fit(Z, Y, 1.0, max_steps=300, tolerance=1e-7)
    chances = [1 / (1 + np.exp(-(Z @ W + c))) for W, c in (near, sure)]
    assert np.abs(chances[0] - chances[1]).max() < 0.02


def test_labels_that_never_or_always_occur_stay_finite():
    Z, Y = labelled()
    Y[:, 0], Y[:, 1] = 0, 1
    W, c = fit(Z, Y, 1.0, max_steps=100)
    chances = 1 / (1 + np.exp(-(Z @ W + c)))
    assert np.isfinite(chances).all()
    assert chances[:, 0].max() < 0.1
    assert chances[:, 1].min() > 0.9


def test_a_start_is_used_and_blocks_do_not_matter():
    Z, Y = labelled()
    done = fit(Z, Y, 1.0, max_steps=100, tolerance=1e-6)
    again = fit(Z, Y, 1.0, start=done, max_steps=0)
    np.testing.assert_allclose(again[0], done[0], atol=1e-5)
    other = fit(Z, Y, 1.0, block=200, max_steps=100, tolerance=1e-6)
    np.testing.assert_allclose(other[0], done[0], atol=1e-3)


# -- label models ----------------------------------------------------------------------------------------


def test_linear_labels():
    z = np.array([[1.0, 2.0]], np.float32)
    W, c = np.array([[1.0, -3.0], [0.5, 0.0]], np.float32), np.array([0.0, 1.0], np.float32)
    np.testing.assert_allclose(
        LinearLabels(W, c).probabilities(z), 1 / (1 + np.exp([[-2.0, 2.0]])), rtol=1e-6
    )
    assert LinearLabels(W, c, link="cut").probabilities(z).tolist() == [[1.0, 0.0]]
    same = LinearLabels.from_arrays(LinearLabels(W, c, "cut").arrays())
    assert same.link == "cut"


def test_any_classifier_speaks_in_our_labels():
    Z, Y = labelled()
    classes = Y[:, 0].astype(int) + 2  # classes 2 and 3 of five
    found = ClassifierLabels.fit(LogisticRegression(), Z, classes, 5).probabilities(Z)
    assert found.shape == (len(Z), 5)
    assert (found[:, [0, 1, 4]] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("classifier", [LogisticRegression(), RandomForestClassifier(5, random_state=0)])
def test_any_classifier_takes_tags(classifier):
    """One model per tag where the classifier knows only one, and none for a tag that never varies."""
    Z, Y = labelled()
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


def expected_map(readout, expected=None):
    rng = np.random.default_rng(1)
    if expected is None:
        labels = LinearLabels(rng.normal(size=(3, 4)).astype(np.float32), np.zeros(4, np.float32))
        expected = LabelSimilarity(labels, np.eye(4, dtype=np.uint8), True)
    return ExpectedMap(PLAIN, expected, readout, np.zeros(2))


def stored_maps():
    rng = np.random.default_rng(2)
    matrix, constant, gram = rng.normal(size=(4, 2)), rng.normal(size=2), np.eye(2) * 3
    regressed = RegressedSimilarity(rng.normal(size=(3, 4)).astype(np.float32), np.zeros(4, np.float32))
    targets = Targets("balanced", np.full(4, 0.25), rng.normal(size=4), -0.2)
    varying = VaryingReadout(LFH(0.5), targets, rng.uniform(-1, 1, (4, 2)), np.ones(4), 1.5, "row", 2.0)
    rbf = Preparation(np.zeros(5), np.ones(5), RBF.of(rng.normal(size=(5, 3)), 0.4))
    return {
        "linear": linear_map(2),
        "rbf": linear_map(2, preparation=rbf),
        "expected, linear readout": expected_map(LinearReadout(matrix, constant, 1.0)),
        "expected, solve readout": expected_map(
            SolveReadout(matrix, constant, -np.ones((2, 2)) + np.eye(2), 2.0, "row")
        ),
        "expected, polish readout": expected_map(PolishReadout(matrix, constant, gram, 0.5)),
        "expected, varying readout": expected_map(varying),
        "regressed similarities": expected_map(LinearReadout(matrix, constant), regressed),
        "stacked": StackedMap(
            (linear_map(2), expected_map(LinearReadout(matrix, constant)), linear_map(12, 5))
        ),
    }


@pytest.mark.parametrize("name", sorted(stored_maps()))
def test_stored_maps_score_exactly_as_before(name):
    before = stored_maps()[name]
    after = map_from_arrays(before.kind, before.arrays())
    assert after.n_bits == before.n_bits
    assert np.array_equal(after.scores(X), before.scores(X))
    assert all(isinstance(array, np.ndarray) for array in before.arrays().values())


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
    with pytest.raises(InvalidInput, match="never stored"):
        map_from_arrays("regressor", {})


def test_expected_supervision_with_a_classifier_is_not_stored():
    Z, Y = labelled(p=3)
    model = ClassifierLabels.fit(LogisticRegression(), Z, Y[:, 0].astype(int), 4)
    unstored = expected_map(
        LinearReadout(np.ones((4, 2)), np.zeros(2)), LabelSimilarity(model, np.eye(4, dtype=np.uint8), True)
    )
    with pytest.raises(InvalidInput, match="cannot be written"):
        unstored.arrays()
