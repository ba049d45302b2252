"""Similarities that a row can be expected to have: by enumeration, and for labels that are certain."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from kinhash.encoders.feature_transform import Preparation
from kinhash.encoders.label_models import LinearLabels
from kinhash.encoders.maps import FLOOR, ClassSimilarity, ExpectedMap, TagSimilarity
from kinhash.solvers.readout import LinearReadout
from kinhash.supervision import from_labels

seeds = st.integers(0, 9999)
CERTAIN = 2 * float(FLOOR)  # no tag is ever quite certain


def model(t, link="sigmoid"):
    rng = np.random.default_rng(0)
    weights, intercept = rng.normal(size=(3, t)), rng.normal(size=t)
    return LinearLabels(weights.astype(np.float32), intercept.astype(np.float32), link)


def between_classes(rng, k):
    matrix = rng.uniform(-1, 1, (k, k))
    matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 1.0)
    return matrix


def kinship_of_tags(left, right, graded):
    """Two tag sets, by definition."""
    if not left & right:
        return -1.0
    return len(left & right) / len(left | right) if graded else 1.0


def mean_over_draws(chances, patterns, graded):
    """Every tag by its own chance, and the mean of S over all draws."""
    expected = np.zeros((len(chances), len(patterns)))
    for draw in product([0, 1], repeat=chances.shape[1]):
        chance = np.prod(np.where(draw, chances, 1 - chances), axis=1)
        drawn = set(np.flatnonzero(draw))
        S = [kinship_of_tags(drawn, set(np.flatnonzero(pattern)), graded) for pattern in patterns]
        expected += chance[:, None] * np.array(S)
    return expected


# -- by enumeration ------------------------------------------------------------------------------------


@given(seed=seeds, t=st.integers(1, 5))
def test_any_tag_is_the_mean_over_all_draws_of_tags(seed, t):
    rng = np.random.default_rng(seed)
    chances = rng.uniform(0, 0.99, (2, t)).astype(np.float32)
    patterns = rng.integers(0, 2, (3, t)).astype(np.uint8)
    found = TagSimilarity(model(t), patterns).of(chances)
    np.testing.assert_allclose(found, mean_over_draws(chances, patterns, False), atol=1e-5)


@given(seed=seeds, t=st.integers(1, 6))
def test_graded_tags_are_exact_where_only_tags_of_the_anchor_can_occur(seed, t):
    """The union is then the anchor itself, so the ratio of expectations is the expected ratio."""
    rng = np.random.default_rng(seed)
    pattern = rng.integers(0, 2, t).astype(np.uint8)
    chances = (rng.uniform(0, 0.99, (2, t)) * pattern).astype(np.float32)
    found = TagSimilarity(model(t), pattern[None], graded=True).of(chances)
    np.testing.assert_allclose(found, mean_over_draws(chances, pattern[None], True), atol=1e-5)


@given(seed=seeds, t=st.integers(2, 6))
def test_graded_tags_come_close_to_the_mean_over_all_draws(seed, t):
    """A ratio of expectations differs from the expected ratio: by .15 at most, and by .05 on average."""
    rng = np.random.default_rng(seed)
    chances = rng.uniform(0, 0.99, (20, t)).astype(np.float32)
    patterns = np.eye(t, dtype=np.uint8)
    found = TagSimilarity(model(t), patterns, graded=True).of(chances)
    off = np.abs(found - mean_over_draws(chances, patterns, True))
    assert off.max() < 0.15
    assert off.mean() < 0.05


@given(seed=seeds, k=st.integers(2, 6))
def test_classes_are_the_mean_over_all_classes(seed, k):
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(k), 4).astype(np.float32)
    classes, between = rng.integers(0, k, 5), between_classes(rng, k)
    for matrix, S in ((None, 2 * np.eye(k) - 1), (between, between)):
        found = ClassSimilarity(model(k), classes, matrix).of(chances)
        expected = sum(chances[:, [c]] * S[c, classes] for c in range(k))
        np.testing.assert_allclose(found, expected, atol=1e-6)


def of_known_tags(similarity, tags):
    """Similarities (k, m) of rows whose tags are known, by a whole-number model that has them as scores."""
    m = similarity.n_anchors
    as_they_are = LinearReadout(np.eye(m), np.zeros(m))
    map_ = ExpectedMap(Preparation(np.zeros(3), np.full(3, 2.0)), similarity, as_they_are, np.zeros(m))
    whole = map_.whole()
    assert whole.n_tags == tags.shape[1]
    return whole.scores_of_tags(sp.csr_array(tags), m)


# -- labels that are certain ------------------------------------------------------------------------------


@given(seed=seeds, t=st.integers(1, 6), graded=st.booleans())
def test_certain_tags_have_the_similarities_of_the_supervision(seed, t, graded):
    rng = np.random.default_rng(seed)
    rows = [set(np.flatnonzero(one).tolist()) for one in rng.integers(0, 2, (6, t))] + [set(range(t))]
    supervision = from_labels(rows, kinship="graded" if graded else "any")
    groups = supervision.group_of_row
    expected = supervision.similarity(groups, groups)
    indicator = supervision.labels.indicator()
    similarity = TagSimilarity(model(t), indicator.toarray().astype(np.uint8), graded)
    np.testing.assert_allclose(of_known_tags(similarity, indicator), expected, atol=CERTAIN)
    found = similarity.of(indicator.toarray().astype(np.float32))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, atol=CERTAIN)


@given(seed=seeds, k=st.integers(2, 6), matrix=st.booleans())
def test_certain_classes_have_the_similarities_of_the_supervision(seed, k, matrix):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, 5)])
    between = between_classes(rng, k) if matrix else None
    supervision = from_labels(y, kinship="auto" if between is None else between)
    expected = supervision.similarity(y, y)
    similarity = ClassSimilarity(model(k), y, between)
    indicator = supervision.labels.indicator()
    np.testing.assert_allclose(similarity.of(indicator.toarray()), expected, atol=1e-12)


@pytest.mark.parametrize("graded", [False, True])
def test_an_anchor_without_tags_is_kin_to_nobody(graded):
    similarity = TagSimilarity(model(3), np.array([[1, 1, 1], [0, 0, 0]], np.uint8), graded)
    found = similarity.of(np.ones((1, 3), np.float32))
    assert found[0, 0] > 0.999
    assert found[0, 1] == -1.0
    assert of_known_tags(similarity, sp.csr_array(np.ones((1, 3))))[0, 1] == -1.0


# -- through features ---------------------------------------------------------------------------------------


KINDS = {
    "classes": lambda rng: ClassSimilarity(model(5, "softmax"), rng.integers(0, 5, 8)),
    "matrix": lambda rng: ClassSimilarity(
        model(5, "softmax"), rng.integers(0, 5, 8), between_classes(rng, 5)
    ),
    "any tag": lambda rng: TagSimilarity(model(5), rng.integers(0, 2, (8, 5)).astype(np.uint8)),
    "graded": lambda rng: TagSimilarity(model(5), rng.integers(0, 2, (8, 5)).astype(np.uint8), True),
}


@pytest.mark.parametrize("kind", list(KINDS))
@given(seed=seeds)
def test_whole_numbers_say_the_same(kind, seed):
    rng = np.random.default_rng(seed)
    similarity = KINDS[kind](rng)
    X = rng.normal(size=(6, 3))
    preparation = Preparation(np.zeros(3), np.full(3, 2.0))
    readout = LinearReadout(np.eye(8), np.zeros(8))
    map_ = ExpectedMap(preparation, similarity, readout, np.zeros(8))
    z = preparation(X)
    expected = similarity.of(similarity.model.probabilities(z))
    np.testing.assert_allclose(similarity.similarity(z), expected, atol=1e-6)
    np.testing.assert_allclose(map_.whole().scores(X), expected, atol=5e-3)
    assert (np.abs(expected) <= 1 + 1e-6).all()
