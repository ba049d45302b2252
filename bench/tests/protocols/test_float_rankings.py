"""Float rankings under the same protocols: cosine, and the topline of a classifier."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from protocol_methods import blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier

from kinhash.errors import InvalidInput
from kinhash_bench.datasets import load
from kinhash_bench.protocols import PROTOCOLS, Cosine, LabelScores, evaluate


def unit(Z):
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def precision_of_order(kin, scores):
    """Average precision of one order. Rows that tie below have equal labels: all orders give the same."""
    places = np.flatnonzero(kin[np.argsort(-scores, kind="stable")]) + 1
    return (np.arange(1, len(places) + 1) / places).mean()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_cosine_is_cosine(standardize, sparse):
    X, y = blobs()
    record = evaluate(Cosine(standardize), (sp.csr_array(X) if sparse else X, y))
    part = PROTOCOLS["paper"].partition(len(y))
    Z = X.astype(float)
    if standardize:
        Z = (Z - Z[part.train].mean(axis=0)) / Z[part.train].std(axis=0)
    scores = unit(Z[part.query]) @ unit(Z[part.train]).T
    wanted = [
        average_precision_score(y[part.train] == y[q], row) for q, row in zip(part.query, scores, strict=True)
    ]
    np.testing.assert_allclose(record.mapped.per_query, wanted, atol=1e-3)  # float32 may swap near ties
    assert record.mapped.value == pytest.approx(np.mean(wanted), abs=1e-4)
    assert record.learned is None
    assert record.n_bits is None
    assert record.bytes_per_item == 4 * X.shape[1]
    assert record.parameters == {"standardize": standardize}
    assert "24 bytes, float" in str(record)


def test_cosine_of_pairs():
    X, y = blobs(n=200)
    record = evaluate(Cosine(), (X, y), "pairs")
    rows = PROTOCOLS["pairs"].partition(len(y)).query
    scores, kin = unit(X[rows]) @ unit(X[rows]).T, y[rows][:, None] == y[rows][None, :]
    upper = np.triu_indices(len(rows), 1)
    assert record.mapped.value == pytest.approx(roc_auc_score(kin[upper], scores[upper]), abs=1e-4)


def test_rows_of_zeros_have_no_direction():
    X, y = blobs(n=50)
    X[:10] = 0
    assert np.isfinite(evaluate(Cosine(), (X, y)).mapped.value)


def test_a_classifier_ranks_rows_by_their_class():
    X, y = blobs()
    record = evaluate(LabelScores(LogisticRegression(max_iter=500)), (X, y))
    part = PROTOCOLS["paper"].partition(len(y))
    model = LogisticRegression(max_iter=500).fit(X[part.train], y[part.train])
    p, kin = model.predict_proba(X[part.query]), y[part.query][:, None] == y[part.train][None, :]
    of_class = p[:, np.searchsorted(model.classes_, y[part.train])]
    wanted = [precision_of_order(*rows) for rows in zip(kin, of_class, strict=True)]
    assert record.learned.value == pytest.approx(np.mean(wanted), abs=1e-6)
    mapped = p @ model.predict_proba(X[part.train]).T
    wanted = [average_precision_score(*rows) for rows in zip(kin, mapped, strict=True)]
    assert record.mapped.value == pytest.approx(np.mean(wanted), abs=1e-4)
    assert "LogisticRegression" in record.parameters["classifier"]


def test_a_classifier_ranks_rows_by_their_tags():
    rng = np.random.default_rng(0)
    Y = (rng.random((300, 4)) < 0.4).astype(int)
    X = Y @ rng.normal(size=(4, 6)) + rng.normal(size=(300, 6))
    classifier = OneVsRestClassifier(LogisticRegression())
    record = evaluate(LabelScores(classifier), (X, Y))
    part = PROTOCOLS["paper"].partition(300)
    p = classifier.fit(X[part.train], Y[part.train]).predict_proba(X[part.query])
    database = Y[part.train]
    chance = 1 - np.prod(1 - p[:, None, :] * database[None, :, :], axis=2)
    kin = Y[part.query] @ database.T > 0
    some = kin.any(axis=1)
    wanted = [precision_of_order(*rows) for rows in zip(kin[some], chance[some], strict=True)]
    assert record.learned.value == pytest.approx(np.mean(wanted), abs=1e-5)
    assert record.learned.n_without_kin == int((~some).sum()) > 0


def test_label_scores_need_labels_and_probabilities_for_each():
    X, y = blobs()
    y = y.astype(object)
    y[::3] = None
    with pytest.raises(InvalidInput, match="unknown labels"):
        evaluate(LabelScores(LogisticRegression()), (X, y))
    Y = np.random.default_rng(0).integers(0, 2, (100, 3))
    with pytest.raises(InvalidInput, match="OneVsRestClassifier"):
        evaluate(LabelScores(DecisionTreeClassifier()), (X[:100], Y))


@pytest.mark.data
@pytest.mark.slow
def test_the_feature_cosine_of_a_real_set(data_home):
    """Published: .422 for cosine of the plain columns, 1,000 other queries against all other rows."""
    record = evaluate(Cosine(), load("cifar10_efficientnet_lite0_pca256", data_home))
    error = record.mapped.per_query.std() / np.sqrt(1000)
    assert abs(record.mapped.value - 0.422) < 3 * error + 0.0005
