"""Float scores and finished lists are judged by the same rules as codes."""

from __future__ import annotations

import metric_oracles as oracle
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from kinhash.errors import InvalidInput
from kinhash.metrics import (
    average_precision,
    average_precision_from_order,
    average_precision_from_scores,
    mean_average_precision,
    ndcg,
)


def distances(queries, codes):
    return (np.unpackbits(queries, axis=1)[:, None] != np.unpackbits(codes, axis=1)[None]).sum(axis=2)


@given(
    st.integers(0, 2**32),
    st.sampled_from(["expected", "index", "optimistic", "pessimistic"]),
    st.none() | st.integers(1, 40),
    st.booleans(),
    st.sampled_from([np.float32, np.float64, np.int16]),
)
def test_scores_equal_codes(seed, ties, top, exclude_self, dtype):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (30, 1)).astype(np.uint8)
    y = rng.integers(0, 3, 30).astype(object)
    y[rng.random(30) < 0.1] = None
    options = {"ties": ties, "top": top, "exclude_self": exclude_self}
    expected = average_precision(codes, codes, y, y, **options)
    scores = (-distances(codes, codes)).astype(dtype)
    np.testing.assert_allclose(average_precision_from_scores(scores, y, y, **options), expected, rtol=1e-12)
    listed = average_precision_from_scores(scores.tolist(), y, y, **options)
    np.testing.assert_allclose(listed, expected, rtol=1e-12)
    by_block = average_precision_from_scores(lambda rows: scores[rows], y, y, **options)
    np.testing.assert_allclose(by_block, expected, rtol=1e-12)
    if ties == "index":
        order = np.argsort(distances(codes, codes), axis=1, kind="stable")
        lists = average_precision_from_order(order, y, y, top=top, exclude_self=exclude_self)
        np.testing.assert_allclose(lists, expected, rtol=1e-12)


def test_short_lists_count_what_they_miss():
    kin = np.array([[1, 1, 0, 1], [0, 0, 0, 0]])
    order = np.array([[2, 0, -1], [1, 2, 3]])
    score = average_precision_from_order(order, kin)
    assert score[0] == pytest.approx(1 / 2 / 3)
    assert np.isnan(score[1])
    assert average_precision_from_order(order, kin, top=1)[0] == 0
    assert average_precision_from_order(order[:, 1:], kin, top=1)[0] == 1


@given(st.integers(0, 2**32))
def test_lists_by_definition(seed):
    rng = np.random.default_rng(seed)
    kin = rng.random((3, 9)) < 0.4
    order = rng.permuted(np.tile(np.arange(9), (3, 1)), axis=1)
    expected = [oracle.ap(k[o]) for k, o in zip(kin, order, strict=True)]
    np.testing.assert_allclose(average_precision_from_order(order, kin), expected, rtol=1e-13)


@given(st.integers(0, 2**32), st.sampled_from([None, 3, 10]))
def test_ndcg_equals_scikit_learn_which_averages_ties_too(seed, top):
    rng = np.random.default_rng(seed)
    codes, tags = rng.integers(0, 4, (30, 1)).astype(np.uint8), rng.random((30, 6)) < 0.4
    shared = tags[:5].astype(int) @ tags.T.astype(int)
    mine = ndcg(codes[:5], codes, tags[:5], tags, top=top, no_kin="zero")
    theirs = ndcg_score(shared, -distances(codes[:5], codes), k=top)
    assert mine.value == pytest.approx(theirs, abs=1e-12)
    assert ndcg(codes[:5], codes, shared, top=top, no_kin="zero").value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("order", "match"),
    [
        ([[0, 0]], "twice"),
        ([[0, 2]], "names row 2"),
        ([[0, -2]], "names row -2"),
        ([[0.0, 1.0]], "dtype"),
        ([0, 1], "shape"),
    ],
)
def test_bad_lists(order, match):
    with pytest.raises(InvalidInput, match=match):
        average_precision_from_order(order, [1], [1, 0])


@pytest.mark.parametrize(
    ("scores", "labels", "match"),
    [
        ([[1.0, np.nan]], ([1], [1, 0]), "NaN"),
        (lambda rows: np.zeros((1, 3)), ([1], [1, 0]), "shape"),
        (lambda rows: np.zeros((1, 3)), (lambda rows: np.zeros((1, 3)), None), "how many"),
        ([["a", "b"]], ([1], [1, 0]), "no number"),
        ([[1.0, 2.0]], ([1, 1], [1, 0]), "2 labels came with 1 queries"),
        ([[1.0, 2.0]], ([1], [1]), "1 labels came with 2 database rows"),
    ],
)
def test_bad_scores(scores, labels, match):
    scores = scores if callable(scores) else np.array(scores)
    with pytest.raises(InvalidInput, match=match):
        average_precision_from_scores(scores, *labels)


@pytest.mark.data
def test_cosine_on_real_gist(data_home):
    """The published sanity figure of the file, 0.183, within three standard errors over queries."""
    with np.load(data_home / "cifar10_gist512.npz") as stored:
        X = (stored["gist"] * stored["scale"] + stored["offset"]).astype(np.float32)
        y = stored["labels"]
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rows = np.random.default_rng(0).permutation(len(X))
    queries, rest = rows[:200], rows[200:]
    base = X[rest]
    scores = average_precision_from_scores(lambda q: X[queries[q]] @ base.T, y[queries], y[rest])
    assert abs(scores.mean() - 0.183) < 3 * scores.std() / np.sqrt(len(scores)) + 0.0005


@pytest.mark.data
def test_real_tags_of_nuswide(data_home):
    """Constant codes give each query just above the share of its kin, counted by a sparse product."""
    with np.load(data_home / "nuswide81_tags.npz") as stored:
        ones = np.ones(len(stored["indices"]), np.int32)
        tags = sp.csr_array((ones, stored["indices"], stored["indptr"]), shape=(269648, 81))
    queries = np.flatnonzero(np.diff(tags.indptr))[::1000]
    codes = np.zeros((tags.shape[0], 8), np.uint8)
    details = mean_average_precision(codes[queries], codes, tags[queries], tags)
    share = ((tags[queries] @ tags.T) > 0).sum(axis=1) / tags.shape[0]
    assert details.n_without_kin == 0
    assert (details.per_query > share).all()
    np.testing.assert_allclose(details.per_query, share, atol=1e-4)
    np.testing.assert_allclose(details.best, 1, rtol=1e-12)
