"""Toplines: float rankings that stand in the same table as codes."""

from __future__ import annotations

import numpy as np
import pytest
from rival_cases import classes, tags
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from kinhash import metrics
from kinhash.errors import InvalidInput
from kinhash_bench.baselines.toplines import ClassScores, PredictedClass
from kinhash_bench.protocols import Cosine, evaluate

X, Y = classes(n=300)


@pytest.mark.parametrize("make", [ClassScores, PredictedClass, Cosine])
def test_they_are_evaluated_like_codes(make):
    record = evaluate(make(), (X, Y), "paper")
    assert 0.5 < float(record.mapped) <= 1
    if make is not Cosine:
        assert float(record.learned) >= float(record.mapped) - 0.02


def test_a_predicted_class_ranks_that_class_first():
    ranking = PredictedClass().fit(X[:200], Y[:200])
    queries, database = ranking.prepare(X[200:]), ranking.prepare_learned()
    scores = ranking.scores(queries, database)
    assert np.array_equal(scores == 1, queries[:, None] == Y[:200])
    right = queries == Y[200:]
    found = metrics.evaluate(scores, None, Y[200:], Y[:200]).per_query
    assert (found[right] == 1).all()
    assert (found[~right] < 0.6).all()


def test_class_scores_rank_by_the_probability_of_the_class():
    classifier = LogisticRegression(max_iter=500)
    ranking = ClassScores(classifier).fit(X[:200], Y[:200])
    expected = classifier.fit(X[:200], Y[:200]).predict_proba(X[200:])[:, Y[:200]]
    np.testing.assert_allclose(
        ranking.scores(ranking.prepare(X[200:]), ranking.prepare_learned()), expected, atol=1e-5
    )
    default = ClassScores().fit(X[:200], Y[:200])
    assert default.classifier is None
    assert default.prepare(X[200:]).shape == (100, 4)


def test_tags_need_scores():
    features, labels = tags()
    with pytest.raises(InvalidInput, match="ClassScores"):
        PredictedClass().fit(features, labels)
    ranking = ClassScores(OneVsRestClassifier(LogisticRegression())).fit(features, labels)
    scores = ranking.scores(ranking.prepare(features), ranking.prepare_learned())
    assert np.nanmean(metrics.evaluate(scores, None, labels, labels).per_query) > 0.8
