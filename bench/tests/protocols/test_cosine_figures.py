"""Ranking by cosine: the evaluator is right, and it gives the published figures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from kinhash.errors import InvalidInput
from kinhash.labels import read_labels
from kinhash_bench.datasets import DATASETS, Dataset, load
from kinhash_bench.protocols import cosine_ranking

PUBLISHED = [name for name in DATASETS if DATASETS[name].facts.figures.cosine is not None]
LARGE = {
    "cifar10_gist512",
    "cifar10_efficientnet_lite0_pca256",
    "coco20770_gist512",
    "coco117266_efficientnet_lite0_pca128",
    "mirflickr25k_usertags",
    "mulan_delicious",
}


def dataset(X, y):
    return Dataset("own", X, read_labels(y), "", "", "", "")


@pytest.mark.parametrize("standardize", [True, False])
def test_it_is_average_precision_of_cosines(standardize):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5)) + 1
    tags = [set(rng.choice(6, rng.integers(0, 3), replace=False).tolist()) for _ in range(60)]
    found = cosine_ranking(dataset(X, tags), standardize=standardize)
    Z = (X - X.mean(axis=0)) / X.std(axis=0) if standardize else X
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    scores, shares = [], []
    for i in range(60):
        others = [j for j in range(60) if j != i]
        kin = np.array([bool(tags[i] & tags[j]) for j in others])
        if tags[i]:
            shares.append(kin.mean())
        if kin.any():
            scores.append(average_precision_score(kin, Z[others] @ Z[i]))
    assert found.n_queries == len(shares)
    assert found.mean_average_precision == pytest.approx(np.mean(scores), abs=1e-6)
    assert found.standard_error == pytest.approx(np.std(scores, ddof=1) / np.sqrt(len(scores)), abs=1e-6)
    assert found.chance == pytest.approx(np.mean(shares), abs=1e-12)


def test_equal_cosines_count_with_the_mean_over_their_orders():
    X = np.ones((4, 2))  # every row is as near as any other
    y = ["a", "b", "a", "b"]
    # The one kin of a row is at place 1, 2 or 3 of the others, each as likely.
    found = cosine_ranking(dataset(X, y), standardize=False)
    assert found.mean_average_precision == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, abs=1e-12)


def test_rows_of_unknown_label_are_in_no_ranking():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), np.array(list("abc") * 10, object)
    y[[0, 7, 29]] = None
    known = np.flatnonzero([label is not None for label in y])
    assert cosine_ranking(dataset(X, y), standardize=False) == cosine_ranking(
        dataset(X[known], y[known]), standardize=False
    )


def test_tags_without_features_have_a_chance_only():
    found = cosine_ranking(dataset(None, ["a", "a", "b", "b"]))
    assert found.mean_average_precision is None
    assert found.chance == pytest.approx(1 / 3)


def test_labels_are_needed():
    with pytest.raises(InvalidInput, match="no labels"):
        cosine_ranking(Dataset("own", np.eye(3), None, "", "", "", ""))


@pytest.mark.data
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in PUBLISHED]
)
def test_published_figures_within_three_standard_errors(data_home, name):
    figures = DATASETS[name].facts.figures
    loaded = load(name, data_home)
    found = cosine_ranking(loaded)
    # Published with three decimals, from 1,000 random queries of their own.
    assert abs(found.mean_average_precision - figures.cosine) <= 3 * found.standard_error + 0.0005
    assert abs(found.chance - figures.chance) <= 3 * found.chance_error + 0.0005
    if figures.plain_cosine is not None:
        plain = cosine_ranking(loaded, standardize=False)
        assert abs(plain.mean_average_precision - figures.plain_cosine) <= 3 * plain.standard_error + 0.0005
