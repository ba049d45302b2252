"""Flipped labels come first, whoever judges; a row's own label never judges it."""

from __future__ import annotations

import numpy as np
import pytest
from page_reading import facts

import kinhash
from kinhash import Codes, EnergyHasher, HammingIndex
from kinhash.explorer.doubts import judge_labels
from kinhash.labels import read_labels


def flipped_data(n=600, n_flipped=30, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 8)) + 3 * np.eye(8)[y]
    wrong = rng.choice(n, n_flipped, replace=False)
    given = y.copy()
    given[wrong] = (y[wrong] + rng.integers(1, 3, n_flipped)) % 3
    return X, given, wrong, y


def share(doubts, wrong):
    return np.isin(doubts.ranked()[: len(wrong)], wrong).mean()


def test_flipped_labels_come_first_judge_labels():
    X, given, wrong, y = flipped_data()
    doubts = judge_labels(X, read_labels(given), 0)
    assert share(doubts, wrong) > 0.8
    assert (doubts.expected[wrong] == y[wrong]).mean() > 0.85
    assert doubts.can_judge
    assert (doubts.given[wrong] < doubts.chance[wrong]).mean() > 0.85
    assert doubts.chance.max() < 0.999  # one label in twenty is wrong, and a calibrated judge knows


def test_chances_are_those_of_rows_the_judge_did_not_see():
    """Of labels expected at about 70 %, about 70 % are given: wide rows that a model would remember."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1500)
    X = rng.normal(size=(1500, 150)) + 1.2 * np.eye(150)[y]
    doubts = judge_labels(X, read_labels(y), 0)
    first = np.maximum(doubts.given, doubts.chance)
    right = doubts.given > doubts.chance
    for low, high in ((0.4, 0.55), (0.55, 0.7), (0.7, 0.85)):
        some = (first >= low) & (first < high)
        assert some.sum() > 100
        assert right[some].mean() == pytest.approx(first[some].mean(), abs=0.08)


@pytest.mark.parametrize("kind", ["classes", "tags"])
def test_labels_that_mean_nothing_cannot_be_judged_and_the_page_says_so(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    given = rng.integers(0, 4, 400) if kind == "classes" else rng.random((400, 4)) < 0.3
    codes = Codes.from_bits(X > 0)
    page = kinhash.explore(codes, given, features=X)
    told = facts(page.html)["doubts"]
    assert "These labels cannot be judged" in told["how"]
    assert "rows" not in told
    assert page.summary["probably_mislabeled"] is None
    assert page.summary["labels_judged"] == told["how"]


def test_a_row_is_judged_by_models_that_did_not_see_it():
    """Noise has nothing to do with labels: a model that had seen a row would expect its label."""
    rng = np.random.default_rng(0)
    X, given = rng.normal(size=(120, 300)), rng.integers(0, 2, 120)
    doubts = judge_labels(X, read_labels(given), 0)
    assert 0.3 < (doubts.given > doubts.chance).mean() < 0.7


@pytest.mark.filterwarnings("ignore:.*constant on the training rows")
def test_codes_say_themselves_whether_labels_made_them():
    X, given, _, _ = flipped_data()
    hasher = EnergyHasher(64, random_state=0).fit(X, given)
    mapped = hasher.encode(X)
    assert kinhash.explore(hasher.codes_, given).summary["codes_made_from_labels"]
    assert not kinhash.explore(mapped, given).summary["codes_made_from_labels"]
    index = HammingIndex.from_codes(mapped)
    page = kinhash.explore(index, given, model=hasher, features=X)
    assert not page.summary["codes_made_from_labels"]  # the model gives the same codes


def test_without_features_no_row_is_called_mislabeled_and_the_page_says_what_to_pass():
    X, given, _, _ = flipped_data()
    page = kinhash.explore(Codes.from_bits(X > 1), given)
    told = facts(page.html)["doubts"]
    assert "rows" not in told
    assert "--features FILE" in told["how"]
    assert page.summary["probably_mislabeled"] is None
    assert page.summary["labels_judged"] == told["how"]


def test_missing_and_wrong_tags_are_told_apart():
    rng = np.random.default_rng(0)
    truth = rng.random((500, 3)) < 0.4
    X = rng.normal(size=(500, 6)) + 5 * truth @ np.eye(3, 6)
    given = truth.copy()
    given[:10, 0] = ~given[:10, 0]
    doubts = judge_labels(X, read_labels(given.astype(int)), 0)
    first = doubts.ranked()[:10]
    assert np.isin(first, np.arange(10)).mean() >= 0.8
    hit = first[first < 10]
    assert (doubts.expected[hit] == 0).all()
    assert np.array_equal(doubts.missing[hit], truth[hit, 0])


def test_a_rare_tag_is_no_wonder():
    """A tag of one row in fifty, unrelated to the features, is unlikely everywhere, doubted nowhere."""
    rng = np.random.default_rng(0)
    given = np.column_stack([rng.random(600) < 0.5, np.arange(600) % 50 == 0]).astype(int)
    X = rng.normal(size=(600, 4)) + 6 * given[:, :1]
    doubts = judge_labels(X, read_labels(given), 0)
    assert len(doubts.ranked()) <= 6


def test_a_label_of_very_few_rows_is_not_doubted():
    X, given, _, _ = flipped_data()
    names = np.array(["a", "b", "c"], object)[given]
    names[[3, 77]] = "rare"
    doubts = judge_labels(X, read_labels(names), 0)
    assert not np.isin([3, 77], doubts.ranked()).any()


def test_many_labels_are_judged_block_by_block(monkeypatch):
    X, given, wrong, _ = flipped_data()
    monkeypatch.setattr("kinhash.metrics.rivals.MOST_CHANCES", 100)
    doubts = judge_labels(X, read_labels(given), 0)
    assert not np.isnan(doubts.given).any()
    assert share(doubts, wrong) > 0.7


def test_rows_without_a_label_are_never_doubted():
    X, given, _, _ = flipped_data()
    labels = read_labels([None if k % 4 == 0 else int(c) for k, c in enumerate(given)])
    doubts = judge_labels(X, labels, 0)
    assert np.isnan(doubts.given[::4]).all()
    assert not (doubts.ranked() % 4 == 0).any()
