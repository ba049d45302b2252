"""A label byte and a product quantizer: rankings that are checked against their definition."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from rival_cases import classes, tags
from sklearn.linear_model import LogisticRegression

from kinhash import metrics
from kinhash.errors import InvalidInput, MissingExtra
from kinhash_bench.baselines.label_byte import LabelByte, LabelBytePQ
from kinhash_bench.protocols import evaluate
from kinhash_bench.protocols.near_kin import near_kin_from_scores

X, Y = classes(n=600)
NEW, OLD = slice(500, None), slice(500)


def test_a_label_byte_ranks_by_the_probability_of_the_class():
    ranking = LabelByte(LogisticRegression(max_iter=500)).fit(X[OLD], Y[OLD])
    chances = LogisticRegression(max_iter=500).fit(X[OLD], Y[OLD]).predict_proba(X[NEW])
    queries = ranking.prepare(X[NEW])
    np.testing.assert_allclose(
        ranking.scores(queries, ranking.prepare_learned()), chances[:, Y[OLD]], atol=1e-5
    )
    guessed = chances.argmax(axis=1)
    np.testing.assert_allclose(ranking.scores(queries, queries), chances[:, guessed], atol=1e-5)
    assert ranking.bytes_per_item == 1


@pytest.mark.parametrize("n_bytes", [4, 6])  # three parts of the columns, and five
@pytest.mark.parametrize("which", ["learned", "mapped"])
def test_class_first_then_the_distance_to_what_the_quantizer_keeps(which, n_bytes):
    pytest.importorskip("faiss")
    ranking = LabelBytePQ(n_bytes, random_state=0).fit(X[OLD], Y[OLD])
    queries = ranking.prepare(X[NEW])
    database = ranking.prepare_learned() if which == "learned" else ranking.prepare(X[OLD])
    byte = LabelByte().fit(X[OLD], Y[OLD])
    same = byte.prepare_learned() if which == "learned" else byte.prepare(X[OLD])
    by_class = byte.scores(byte.prepare(X[NEW]), same)
    unit = X - X[OLD].mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    kept = database.stored @ ranking.rotation_.T  # back among the columns; rotations keep distances
    outside = database.stored - kept @ ranking.rotation_
    scores = ranking.scores(queries, database)
    for i in range(len(queries.classes)):
        distance = ((unit[NEW][i] - kept) ** 2).sum(axis=1) + (outside**2).sum(axis=1)
        order = np.argsort(-scores[i])
        assert (np.diff(by_class[i, order]) <= 0).all()
        level = np.diff(by_class[i, order]) == 0
        assert (np.diff(distance[order])[level] > -1e-5).all()
    codes = ranking.quantizer_.compute_codes(ranking._vectors(X[OLD]))
    assert codes.shape == (500, n_bytes - 1)
    assert ranking.bytes_per_item == n_bytes


def test_bytes_beside_the_label_find_the_nearest_kin():
    pytest.importorskip("faiss")
    sides = Y[NEW], Y[OLD], X[NEW], X[OLD]
    found = {}
    for ranking in (LabelByte(), LabelBytePQ(8, random_state=0)):
        ranking.fit(X[OLD], Y[OLD])
        scores = ranking.scores(ranking.prepare(X[NEW]), ranking.prepare_learned())
        kin = np.nanmean(metrics.evaluate(scores, None, Y[NEW], Y[OLD]).per_query)
        found[type(ranking)] = kin, near_kin_from_scores(scores, *sides)
    (kin, alone), (same, beside) = found.values()
    assert same == pytest.approx(kin)
    assert beside.value > alone.value + 0.2
    assert alone.distinct <= 4 < beside.distinct


def test_they_are_evaluated_like_codes():
    pytest.importorskip("faiss")
    record = evaluate(LabelBytePQ(random_state=0), (X, Y), "paper")
    assert record.bytes_per_item == 8
    assert float(record.learned) >= float(record.mapped) > 0.5
    assert record.near_kin["learned"].value > 0.2
    assert float(evaluate(LabelByte(), (X, Y), "paper").learned) == pytest.approx(float(record.learned))


def test_tags_few_rows_and_few_bytes_are_refused():
    pytest.importorskip("faiss")
    for ranking in (LabelByte(), LabelBytePQ()):
        with pytest.raises(InvalidInput, match="single byte"):
            ranking.fit(*tags())
    with pytest.raises(InvalidInput, match="100 rows"):
        LabelBytePQ().fit(X[:100], Y[:100])
    with pytest.raises(InvalidInput, match="n_bytes"):
        LabelBytePQ(1).fit(X, Y)


def test_without_faiss_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"kinhash-bench\[faiss\]"):
        LabelBytePQ().fit(X, Y)
