"""Heads: gradients by finite differences, losses by their definition, training that learns and repeats."""

from __future__ import annotations

import numpy as np
import pytest
from rival_cases import classes, signs, tags

from kinhash.errors import InvalidInput
from kinhash.metrics import evaluate
from kinhash_bench.baselines import BASELINES
from kinhash_bench.baselines.head import Batch
from kinhash_bench.baselines.head_losses import (
    CRHLoss,
    CroVCALoss,
    CSQLoss,
    DPNLoss,
    GreedyHashLoss,
    HashNetLoss,
    OrthoHashLoss,
)
from kinhash_bench.baselines.heads import hash_centers
from kinhash_bench.baselines.histograms import MutualInformation, TieAwarePrecision

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
HEADS = ["CRH", "CSQ", "CroVCA", "DPN", "GreedyHash", "HashNet", "MIHash", "OrthoHash", "TALR"]
B, D, C = 14, 6, 4
RNG = np.random.default_rng(0)
CODEWORDS = RNG.choice([-1.0, 1.0], (C, D))
ONE = np.eye(C)[np.arange(B) % C]
SEVERAL = (RNG.random((B, C)) < 0.4).astype(float)  # some rows have no label at all
LOSSES = {
    "CSQ": CSQLoss(CODEWORDS, 0.3),
    "DPN": DPNLoss(CODEWORDS),
    "OrthoHash": OrthoHashLoss(CODEWORDS),
    "HashNet": HashNetLoss(),
    "CRH": CRHLoss(CODEWORDS, C),
    "CroVCA": CroVCALoss(),
    "MIHash": MutualInformation(3),
    "TALR": TieAwarePrecision(D),
}


def slopes(value, at, step=1e-6):
    found = np.empty_like(at)
    for place in np.ndindex(at.shape):
        ends = []
        for sign in (1, -1):
            moved = at.copy()
            moved[place] += sign * step
            ends.append(value(moved))
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.parametrize("labels", [ONE, SEVERAL], ids=["classes", "tags"])
@pytest.mark.parametrize("name", list(LOSSES))
def test_gradients_are_the_slopes_of_the_loss(name, labels):
    loss, batch = LOSSES[name], Batch(labels, 0.3)
    scores = np.random.default_rng(1).normal(size=(B, D))
    value, gradient, _ = loss.gradient(scores, batch)
    assert np.isfinite(value)
    np.testing.assert_allclose(gradient, slopes(lambda s: loss.gradient(s, batch)[0], scores), atol=1e-6)
    assert np.abs(gradient).max() > 1e-4


def test_greedy_hash_passes_the_sign_and_trains_its_classifier():
    loss = GreedyHashLoss(C, D, np.random.default_rng(0))
    loss.classifier = loss.classifier.astype(np.float64)
    scores, batch = np.random.default_rng(1).normal(size=(B, D)), Batch(ONE)
    value, gradient, (own,) = loss.gradient(scores, batch)

    def with_classifier(V):
        loss.classifier = V
        return loss.gradient(scores, batch)[0]

    V = loss.classifier
    np.testing.assert_allclose(own, slopes(with_classifier, V.copy()), atol=1e-6)
    loss.classifier = V

    def relaxed(b):  # the same classifier on real numbers in place of bits
        logits = b @ V
        return float(np.log(np.exp(logits).sum(axis=1)).mean() - (logits * ONE).sum() / B)

    bits = np.where(scores > 0, 1.0, -1.0)
    cubes = slopes(lambda s: 0.1 * (np.abs(np.abs(s) - 1) ** 3).mean(), scores)
    np.testing.assert_allclose(gradient, slopes(relaxed, bits) + cubes, atol=1e-6)
    assert value == pytest.approx(relaxed(bits) + 0.1 * (np.abs(np.abs(scores) - 1) ** 3).mean())


def test_saturated_scores_give_average_precision_with_ties():
    """Of whole codes, one bin per distance: tie-aware precision up to its simplification, exact untied."""
    scores = 50 * np.random.default_rng(2).choice([-1.0, 1.0], (30, 8))
    y = np.arange(30) % 3
    value, _, _ = TieAwarePrecision(8).gradient(scores, Batch(np.eye(3)[y]))
    codes = np.packbits(scores > 0, axis=1)
    exact = np.mean(
        [evaluate(codes[i : i + 1], np.delete(codes, i, 0), y[i : i + 1], np.delete(y, i)) for i in range(30)]
    )
    assert 1 - value == pytest.approx(float(exact), abs=0.03)
    counts = np.array([[0.0, 1, 0, 1, 1]]), np.array([[1.0, 0, 1, 0, 0]])
    untied, *_ = TieAwarePrecision(4).of_counts(*counts)
    assert 1 - untied[0] == pytest.approx((1 / 2 + 2 / 4 + 3 / 5) / 3)


def test_mutual_information_is_that_of_the_histograms():
    kin, strangers = np.array([[3.0, 1, 0]]), np.array([[0.0, 2, 4]])
    value, *_ = MutualInformation(2).of_counts(kin, strangers)

    def entropy(p):
        p = p[p > 0] / p.sum()
        return -(p * np.log2(p)).sum()

    both = kin[0] + strangers[0]
    expected = entropy(both) - 0.4 * entropy(kin[0]) - 0.6 * entropy(strangers[0])
    assert -value[0] == pytest.approx(expected)
    apart, *_ = MutualInformation(2).of_counts(np.array([[5.0, 0, 0]]), np.array([[0.0, 0, 5]]))
    assert -apart[0] == pytest.approx(1.0)  # one bit: distance says it all


def test_a_distance_counts_towards_its_two_nearest_bins():
    loss = MutualInformation(2)
    seen = []
    loss.of_counts = lambda *counts: seen.append(counts) or (np.zeros(1), *(np.zeros_like(c) for c in counts))
    phi = np.array([[1.0, 1, 1, 1], [1, 1, 1, -1], [-1, -1, -1, -1]]) * 0.999999
    loss.gradient(2 * np.arctanh(phi), Batch(np.array([[1.0, 0], [1, 0], [0, 1]])))
    kin, strangers = seen[0]
    np.testing.assert_allclose(kin[0], [0.5, 0.5, 0], atol=1e-4)  # one bit of four: half a bin of two bits
    np.testing.assert_allclose(strangers[0], [0, 0, 1], atol=1e-4)


def test_hash_centers_are_far_apart_and_differ_by_seed():
    found = hash_centers(10, 16, np.random.default_rng(0))
    assert (found @ found.T == 16 * np.eye(10)).all()
    assert not np.array_equal(found, hash_centers(10, 16, np.random.default_rng(1)))
    assert len(np.unique(hash_centers(20, 16, np.random.default_rng(0)), axis=0)) == 20  # negatives, too
    assert hash_centers(40, 16, np.random.default_rng(0)).shape == (40, 16)
    assert hash_centers(5, 6, np.random.default_rng(0)).shape == (5, 6)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("make", [classes, tags])
def test_heads_learn(name, make):
    X, y = make(n=200)
    fitted = BASELINES[name](16, random_state=0).fit(X, y)
    losses = fitted.report_.facts["loss"]
    assert losses[-1] < losses[0]
    assert fitted.score(X, y) > (0.9 if make is classes else 0.75)
    assert fitted.report_.facts["features"] == "plain"
    assert "held_out_score" not in fitted.report_.facts  # too few rows to hold any out


def test_codewords_are_the_learned_codes():
    X, y = classes(n=200)
    fitted = BASELINES["CSQ"](16, random_state=0).fit(X, y)
    B = signs(fitted)
    assert len(np.unique(B, axis=0)) == 4
    one = np.stack([B[y == c][0] for c in range(4)])
    assert (one @ one.T == 16 * np.eye(4)).all()
    assert BASELINES["CSQ"](16, map="linear", random_state=0).fit(X, y).report_.facts.get("loss") is None


def test_what_is_open_is_chosen_on_held_out_rows():
    rng = np.random.default_rng(0)
    n = 300
    ring, angle = np.arange(n) % 3, rng.uniform(0, 2 * np.pi, n)
    X = np.c_[ring * np.cos(angle), ring * np.sin(angle), np.full(n, 3.0)] + 0.05 * rng.normal(size=(n, 3))
    chosen = BASELINES["OrthoHash"](8, random_state=0).fit(X, ring).report_.facts
    assert chosen["features"] == "rbf"
    assert chosen["held_out_score"] > 0.8
    given = BASELINES["OrthoHash"](8, features="plain", step=0.01, penalty=0.0, n_epochs=3, random_state=0)
    report = given.fit(X, ring).report_.facts
    assert (report["features"], report["step"], report["penalty"], report["n_epochs"]) == (
        "plain",
        0.01,
        0,
        3,
    )
    assert "held_out_score" not in report


def test_rows_of_weight_zero_are_never_drawn():
    X, y = classes(n=200)
    weights = np.ones(200)
    weights[:40] = 0
    far = X.copy()
    far[:40] += 1000
    y_far = y.copy()
    y_far[:40] = 0
    fitted = BASELINES["DPN"](16, random_state=0, features="plain").fit(far, y_far, sample_weight=weights)
    assert fitted.score(X[40:], y[40:]) > 0.9


@pytest.mark.parametrize("setting", [{"step": 0}, {"penalty": -1}, {"n_epochs": 0}, {"batch": 1}])
def test_settings_out_of_range_are_refused(setting):
    X, y = classes()
    with pytest.raises(InvalidInput, match=next(iter(setting))):
        BASELINES["TALR"](8, **setting).fit(X, y)
