"""Rows in a few bytes, searched by float queries: each against its definition, or against FAISS."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from rival_cases import classes, tags
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from kinhash.errors import InvalidInput, MissingExtra
from kinhash_bench.baselines.int8 import LDAInt8, PCAInt8, round_to_bytes
from kinhash_bench.baselines.opq import OPQ
from kinhash_bench.baselines.quantized import unit_around
from kinhash_bench.baselines.rabitq import PCARaBitQ
from kinhash_bench.protocols import evaluate
from kinhash_bench.tasks.methods import RANKINGS

X, Y = classes(n=600, p=12)
OLD, NEW = slice(500), slice(500, None)
ALL = ["OPQ", "PCAInt8", "LDAInt8", "PCARaBitQ"]


def fitted(name, **settings):
    if name == "OPQ":
        pytest.importorskip("faiss")
        settings = {"n_iter": 3, **settings}
    return RANKINGS[name]().set_params(**settings).fit(X[OLD], Y[OLD])


def unit(rows, ranking):
    return unit_around(rows, ranking.mean_)


@pytest.mark.parametrize("name", ALL)
def test_they_are_evaluated_like_codes_and_repeat_themselves(name):
    settings = {"n_iter": 3} if name == "OPQ" else {}
    settings |= {} if name == "LDAInt8" else {"random_state": 0}
    if name == "OPQ":
        pytest.importorskip("faiss")
    records = [evaluate(RANKINGS[name]().set_params(**settings), (X, Y), "paper") for _ in range(2)]
    assert float(records[0].mapped) == float(records[1].mapped) > 0.4
    assert records[0].bytes_per_item == (3 if name == "LDAInt8" else 8)  # four classes


@pytest.mark.parametrize("name", ["OPQ", "PCAInt8", "LDAInt8"])
def test_rows_rank_by_the_distance_of_the_query_to_what_is_kept(name):
    ranking = fitted(name, n_bytes=3)
    queries, database = ranking.prepare(X[NEW]), ranking.prepare(X[OLD])
    distance = ((queries.vectors[:, None] - database.stored) ** 2).sum(axis=2)
    scores = ranking.scores(queries, database)
    np.testing.assert_allclose(scores - scores[:, :1], distance[:, :1] - distance, atol=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_as_many_values_as_the_bytes_have(name):
    """What is kept takes no more different values than its bytes allow."""
    ranking = fitted(name, n_bytes=2)
    stored = ranking.prepare(X[OLD]).stored
    if name == "PCARaBitQ":
        assert stored.shape[1] == 8
        assert len(np.unique(np.abs(stored[:, 0]).round(5))) <= 256
    elif name == "OPQ":
        halves = np.split(stored, 2, axis=1)
        assert all(len(np.unique(half, axis=0)) <= 256 for half in halves)
    else:
        assert stored.shape[1] == 2
        assert all(len(np.unique(column)) <= 256 for column in stored.T)


def test_bytes_are_the_nearest_of_even_steps():
    rng = np.random.default_rng(0)
    values = rng.uniform(-3, 3, (200, 2)).astype(np.float32)
    low, high = np.float32([-2, 0]), np.float32([2, 1])
    found = round_to_bytes(values, low, high)
    for k in range(2):
        steps = np.linspace(low[k], high[k], 256)
        nearest = steps[np.abs(values[:, k, None] - steps).argmin(axis=1)]
        np.testing.assert_allclose(found[:, k], nearest, atol=1e-5)


def test_principal_components_are_numpys():
    ranking = fitted("PCAInt8", n_bytes=3)
    rows = unit(X[OLD], ranking)
    _, _, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    projected = (rows - rows.mean(axis=0)) @ axes[:3].T
    projected /= np.linalg.norm(projected, axis=1, keepdims=True)
    found = ranking.prepare(X[OLD]).vectors
    np.testing.assert_allclose(np.abs(found), np.abs(projected), atol=1e-4)


def test_discriminants_are_scikit_learns_at_unit_length():
    ranking = fitted("LDAInt8", shrinkage=0.1)
    rows = unit(X[OLD], ranking)
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1).fit(rows, Y[OLD])
    other = (rows - rows.mean(axis=0)) @ lda.scalings_[:, :3]
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    np.testing.assert_allclose(ranking.prepare(X[OLD]).vectors, other, atol=1e-3)


def test_the_estimate_of_rabitq_is_right_on_average():
    """Over rotations, ⟨x, q⟩/⟨x, o⟩ has the mean ⟨o, q⟩, and signs alone have not."""
    some = X[:40, :9]
    estimates, plain, truth = [], [], None
    for seed in range(400):
        ranking = PCARaBitQ(3, random_state=seed).fit(some)  # 9 components, all of them
        rows = ranking.prepare(some)
        truth = rows.vectors @ rows.vectors.T if truth is None else truth
        estimates.append(ranking.scores(rows, rows))
        plain.append(rows.vectors @ (np.where(rows.vectors > 0, 1, -1) / 3).T)
    error, spread = np.abs(np.mean(estimates, axis=0) - truth), np.std(estimates, axis=0) / np.sqrt(400)
    apart = ~np.eye(40, dtype=bool)
    assert (error < 5 * spread + 0.01)[apart].all()
    assert (np.abs(np.mean(plain, axis=0) - truth) > 5 * spread + 0.01)[apart].mean() > 0.3


def test_the_estimate_of_rabitq_is_that_of_faiss():
    faiss = pytest.importorskip("faiss")
    if not hasattr(faiss, "IndexRaBitQ"):
        pytest.skip("this FAISS has no RaBitQ")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 16)).astype(np.float32)
    ranking = PCARaBitQ(3, random_state=0).fit(rows)  # 16 signs
    queries, database = ranking.prepare(rows[:20]), ranking.prepare(rows)
    index = faiss.IndexRaBitQ(16, faiss.METRIC_L2)
    index.qb = 0  # queries are not rounded
    index.train(np.concatenate([database.vectors, -database.vectors]))  # around the origin
    index.add(database.vectors)
    distances, ids = index.search(queries.vectors, 300)
    theirs = np.empty_like(distances)
    np.put_along_axis(theirs, ids, distances, axis=1)
    ours = np.maximum(2 - 2 * ranking.scores(queries, database), 0)  # as they do
    np.testing.assert_allclose(ours, theirs, atol=0.02)


def test_opq_loses_less_than_a_quantizer_without_its_rotation():
    faiss = pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 8)) * np.repeat([1, 0.02], 4)  # all in the first half
    ranking = OPQ(2, n_iter=10, random_state=0).fit(rows)
    kept, units = ranking.prepare(rows), unit(rows, ranking)
    plain = faiss.ProductQuantizer(8, 2, 8)
    plain.cp.min_points_per_centroid = 1
    plain.train(units)
    without = ((plain.decode(plain.compute_codes(units)) - units) ** 2).sum()
    assert ((kept.stored - kept.vectors) ** 2).sum() < 0.8 * without


def test_what_cannot_be_is_refused(monkeypatch):
    with pytest.raises(InvalidInput, match="single byte"):
        LDAInt8().fit(*tags())
    with pytest.raises(InvalidInput, match="n_bytes"):
        PCAInt8(0).fit(X, Y)
    with pytest.raises(InvalidInput, match="n_bytes"):
        PCARaBitQ(1).fit(X, Y)
    if "faiss" in sys.modules:
        with pytest.raises(InvalidInput, match="100 rows"):
            OPQ().fit(X[:100])
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"kinhash-bench\[faiss\]"):
        OPQ().fit(X)
