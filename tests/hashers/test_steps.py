"""The steps of learning, each against its definition."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from kinhash.learning import choosing, labelled
from kinhash.learning.choosing_features import unrounded_value
from kinhash.learning.expected import SpectralCoder, split_rows, temper
from kinhash.learning.features import FeatureOptions, first_preparation, known_weights, standardised_moments
from kinhash.learning.label_learners import LabelledSet, anchor_average_precision
from kinhash.learning.spectral_ridge import leave_one_out, some_known_rows
from sklearn.linear_model import Ridge
from small_data import classes, tags, training

from kinhash import EnergyHasher
from kinhash.encoders.label_models import LinearLabels
from kinhash.encoders.least_squares import ridge_weights
from kinhash.encoders.prepared import prepare_rows
from kinhash.energies.ksh import KSH
from kinhash.hashers.energy import DEFAULT_MIX, OPEN_SET_MIX, share_bits
from kinhash.solvers.sample import draw_sample

OPTIONS = FeatureOptions()


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_predictions_are_those_of_fits_without_the_row(weighted):
    X, y = classes(n=40)
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.3, 2, 40) if weighted else None
    train = training(X, y, weights)
    targets = rng.normal(size=(5, 2))
    moments = standardised_moments(
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
    assert known_weights(training(X, y)) is None
    assert known_weights(training(X, labels)).tolist() == [0.0] * 5 + [1.0] * 25
    weights = np.arange(30.0)
    assert known_weights(training(X, labels, weights)).tolist() == [0.0] * 5 + list(range(5, 30))
    some = some_known_rows(
        training(X, labels, np.where(np.arange(30) == 7, 0.0, 1.0)), np.random.default_rng(0), 100
    )
    assert some.tolist() == [5, 6, *range(8, 30)]
    few = some_known_rows(training(X, labels), np.random.default_rng(0), 10)
    assert len(few) == 10
    assert (np.diff(few) > 0).all()


@given(seed=st.integers(0, 999))
def test_average_precision_among_weighted_anchors(seed):
    """An anchor of weight w is w rows, with all of them at its rank."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, 6)
    scores, kin = rng.permutation(6)[None].astype(float), rng.integers(0, 2, (1, 6)).astype(bool)
    found = anchor_average_precision(scores, kin, counts.astype(float))
    if not kin.any():
        assert found == 0.0
        return
    order = np.argsort(-scores[0])
    hits = 0.0
    total = 0.0
    seen = 0
    for place in order:
        seen += counts[place]
        hits += counts[place] * kin[0, place]
        total += counts[place] * kin[0, place] * hits / seen
    assert found == pytest.approx(total / hits)


def test_held_out_rows_are_apart_from_the_rest():
    """Row numbers, places and features belong together, and rows of weight zero are left out."""
    X, y = classes(n=160)
    rows = np.arange(1000, 1160)
    weights = np.where(np.arange(160) < 10, 0.0, 1.0)
    labels = sp.csr_array(np.eye(int(y.max()) + 1, dtype=np.int8)[y])
    moments = SimpleNamespace(preparation=SimpleNamespace(rbf=None))
    full = LabelledSet(rows, X.astype(np.float32), labels, weights, moments, True)  # type: ignore[arg-type]
    split = split_rows(full, np.random.default_rng(0))
    assert len(split.held) == 30
    assert len(split.part) == 120
    assert not set(split.part) & set(split.held)
    assert min(split.part.min(), split.held.min()) >= 1010
    np.testing.assert_array_equal(rows[split.places], split.part)
    np.testing.assert_array_equal(split.part_features, X[split.part - 1000].astype(np.float32))
    np.testing.assert_array_equal(split.held_features, X[split.held - 1000].astype(np.float32))


def test_rows_to_judge_by_do_not_know_that_they_are_centres():
    X, y = classes(n=300)
    some = training(X, y)
    options = FeatureOptions("rbf", n_centers=300)
    full = labelled.labelled_set(some, options, np.random.default_rng(0))
    split = split_rows(full, np.random.default_rng(1))
    place = {row: i for i, row in enumerate(full.rows)}
    raw = full.moments.preparation.rbf(X)  # every row is a centre
    for row, features in zip(split.held, split.held_features, strict=True):
        itself = raw[row] > 1 - 1e-5
        assert itself.sum() == 1
        np.testing.assert_array_equal(features[itself], 0.0)
        np.testing.assert_array_equal(features[~itself], full.features[place[row]][~itself])
    np.testing.assert_array_equal(split.part_features, full.features[split.places])


def test_features_are_judged_by_kin_who_share_any_number_of_tags():
    rng = np.random.default_rng(0)
    kind = np.arange(300) % 3
    X = rng.normal(size=(300, 4)) + 4 * np.eye(3, 4)[kind]
    Y = np.repeat(np.eye(3, dtype=np.int8), 256, axis=1)[kind]  # 256 shared tags are 0 in eight bits
    some, settings = training(X, Y), EnergyHasher(8)._settings()
    sample = draw_sample(some.supervision, 100, np.random.default_rng(0))
    similarity = some.supervision.similarity(sample.groups, sample.groups)
    coder = SpectralCoder(KSH(), sample, similarity, 8, "mean")
    full = labelled.labelled_set(some, FeatureOptions(), np.random.default_rng(0))
    patterns = labelled.label_patterns(some.supervision.labels, sample, some.supervision.group_of_row)
    value = unrounded_value(
        some,
        sample,
        patterns,
        coder.embedding(0.0).of,
        full,
        labelled.learner_for(settings),
        np.random.default_rng(0),
    )
    assert 1.8 < value <= 2  # kin come first among the anchors, and among the rows


def test_both_kinds_of_features_are_judged_on_the_same_rows(monkeypatch):
    X, y = classes(n=400)
    seen = []
    original = choosing.splits_of
    monkeypatch.setattr(choosing, "splits_of", lambda *given: seen.append(original(*given)) or seen[-1])
    EnergyHasher(8, random_state=0).fit(X, y)
    plain, rbf = ([split.held.tolist() for split in splits] for splits in seen[:2])
    assert plain == rbf


def test_a_label_model_needs_no_more_than_its_share_of_rows(monkeypatch):
    monkeypatch.setattr(labelled, "LABEL_ROWS", 100)
    X, y = classes(n=300)
    few = EnergyHasher(8, features="plain", random_state=0).fit(X, y)
    monkeypatch.undo()
    assert len(few.codes_) == 300
    assert few.score(X, y) > 0.8 * EnergyHasher(8, features="plain", random_state=0).fit(X, y).score(X, y)


def test_tempering_divides_log_odds_and_leaves_other_models_alone():
    W, c = np.ones((2, 1), np.float32), np.zeros(1, np.float32)
    z = np.array([[1.0, 0.5]], np.float32)

    def odds(model):
        chance = model.probabilities(z).astype(float)
        return np.log(chance / (1 - chance))

    np.testing.assert_allclose(
        odds(temper(LinearLabels(W, c), 0.5)), 0.5 * odds(LinearLabels(W, c)), rtol=1e-5
    )
    ridge = LinearLabels(W, c, link="cut")
    assert temper(ridge, 0.5) is ridge


def test_rare_anchors_weigh_more_with_rarity_and_scores_have_unit_size():
    X, y = tags()
    train = training(X, y)
    sample = draw_sample(train.supervision, 100, np.random.default_rng(0))
    S = train.supervision.similarity(sample.groups, sample.groups)
    coder = SpectralCoder(KSH(), sample, S, 4, "mean")
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(coder.embedding(0.0).matrix.shape[1], 4)))[
        0
    ]
    readout = coder.readout(0.0, rotation)
    assert np.sqrt((readout.scores(S) ** 2).mean()) == pytest.approx(1.0)
    assert coder.embedding(0.0) is coder.embedding(0.0)
    assert not np.allclose(coder.embedding(0.0).constant, coder.embedding(0.5).constant)


@given(n_bits=st.integers(1, 1024))
def test_shares_of_bits_add_up(n_bits):
    for mix in (DEFAULT_MIX, OPEN_SET_MIX):
        shared = share_bits(n_bits, mix)
        assert sum(count for _, count in shared) == n_bits
        assert all(count > 0 for _, count in shared)
        assert shared[0][0] == mix[0][0]
