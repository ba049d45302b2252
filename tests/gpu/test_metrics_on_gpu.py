"""Metrics counted on a card are those of the processor; without a device, by the kernel's twin in NumPy."""

import numpy as np
import pytest
from test_gpu_index import _has_card

import kinhash
from kinhash import BitLayout, Codes, gpu, metrics
from kinhash.gpu.numpy_reference import Twin

NONE = BitLayout()


@pytest.fixture(params=["twin", "card"])
def on_gpu(request, monkeypatch):
    if request.param == "twin":
        monkeypatch.setattr(gpu, "all_cards", lambda: (Twin(),))
    elif not _has_card():
        pytest.skip("needs CuPy and an NVIDIA card")
    return kinhash.on_gpu


def _codes(rng, n, n_bits=20, fields=NONE):
    return Codes.from_bits(rng.integers(0, 2, (n, n_bits)).astype(np.uint8), fields=fields)


def _labels(rng, n, kind):
    if kind == "classes":
        return rng.integers(0, 4, n)
    width = {"tags": 9, "many tags": 150}[kind]
    return (rng.random((n, width)) < 2 / width).astype(np.uint8)


@pytest.mark.parametrize("fields", [NONE, BitLayout(8, 4, 1), BitLayout(20, 1, 3)], ids=str)
@pytest.mark.parametrize("kind", ["classes", "tags", "many tags"])
def test_every_metric_is_that_of_the_processor(on_gpu, kind, fields):
    rng = np.random.default_rng(0)
    queries, database = _codes(rng, 30, fields=fields), _codes(rng, 211, fields=fields)
    sides = (queries, database, _labels(rng, 30, kind), _labels(rng, 211, kind))
    work = [
        lambda: metrics.average_precision(*sides),
        lambda: metrics.average_precision(*sides, top=17, ties="pessimistic"),
        lambda: metrics.average_precision(*sides, ties="index"),
        lambda: metrics.precision_at_k(*sides, k=5),
        lambda: metrics.ndcg(*sides),
        lambda: metrics.precision_recall_curve(*sides).precision,
        lambda: metrics.precision_within_radius(*sides, radius=2).value,
    ]
    expected = [one() for one in work]
    with on_gpu():
        counted = [one() for one in work]
    for one, other in zip(expected, counted, strict=True):
        np.testing.assert_array_equal(np.asarray(one, float), np.asarray(other, float))


def test_near_kin_and_given_relevance(on_gpu):
    rng = np.random.default_rng(1)
    database, y = _codes(rng, 150), rng.integers(0, 3, 150)
    X, relevance = rng.standard_normal((150, 5)), rng.integers(0, 2, (150, 150)).astype(bool)
    work = [
        lambda: metrics.near_kin(database, database, y, y, X, X, exclude_self=True).per_query,
        lambda: metrics.average_precision(database, database, relevance, exclude_self=True),
    ]
    expected = [one() for one in work]
    with on_gpu():
        counted = [one() for one in work]
    for one, other in zip(expected, counted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_card_is_used_only_inside(on_gpu, monkeypatch):
    if _has_card():
        pytest.skip("watches the twin")
    rng = np.random.default_rng(2)
    sides = (_codes(rng, 5), _codes(rng, 50), rng.integers(0, 2, 5), rng.integers(0, 2, 50))
    calls = []
    tally = Twin.tally
    monkeypatch.setattr(Twin, "tally", lambda *given: calls.append(1) or tally(*given))
    metrics.mean_average_precision(*sides)
    assert not calls
    with on_gpu():
        metrics.mean_average_precision(*sides)
    assert len(calls) == 1
    metrics.mean_average_precision(*sides)
    assert len(calls) == 1
