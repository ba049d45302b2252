"""Figures of the page against the public metrics and plain counting."""

from __future__ import annotations

import numpy as np
import pytest
from page_reading import facts

import kinhash
from kinhash import Codes, EnergyHasher, HammingIndex
from kinhash.metrics import evaluate


def made(n=150, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    centers = rng.integers(0, 2, (4, 24))
    bits = centers[y] ^ (rng.random((n, 24)) < 0.2)
    return Codes.from_bits(bits), y


def quality(codes, y, **more):
    return facts(kinhash.explore(codes, y, **more).html)["quality"]


def test_figures_are_those_of_the_metrics():
    codes, y = made()
    figures = quality(codes, y)
    assert figures["map"] == pytest.approx(float(evaluate(codes, codes, y, y, exclude_self=True)))
    for rank, share in figures["precision"]:
        assert share == pytest.approx(
            float(evaluate(codes, codes, y, y, measures=f"precision@{rank}", exclude_self=True))
        )
    distances = np.array([[codes[i].distances(codes[j])[0] for j in range(150)] for i in range(150)])
    kin, other = y[:, None] == y[None], ~np.eye(150, dtype=bool)
    for name, pairs in (("kin_at", kin & other), ("strangers_at", ~kin)):
        assert figures[name] == np.bincount(distances[pairs], minlength=len(figures[name])).tolist()
    scores = [score for *_, score, _ in figures["labels"]]
    assert scores == sorted(scores)


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_mapped_queries_search_the_stored_codes_beside_cosine_and_a_classifier():
    _, y = made()
    X = np.random.default_rng(0).normal(size=(150, 5)) + 3 * np.eye(5)[y]
    hasher = EnergyHasher(16, random_state=0).fit(X, y)
    codes, mapped = hasher.codes_, hasher.encode(X)
    figures = quality(codes, y, model=hasher, features=X)
    assert figures["mapped"]
    assert figures["map"] == pytest.approx(float(evaluate(mapped, codes, y, y, exclude_self=True)))
    ours, *others = figures["answers"]
    expected = float(evaluate(mapped, codes, y, y, measures="precision@10", exclude_self=True))
    assert any(value == pytest.approx(expected) for value in ours["figures"].values())
    assert 20 in [line["bytes"] for line in others]  # float cosine
    assert all(line["figures"].keys() <= ours["figures"].keys() | {"look-alikes"} for line in others)
    assert 0 < figures["self_retrieval"] <= 1
    assert len(quality(codes, y)["answers"]) == 2


def test_rows_of_unknown_label_have_no_say():
    codes, y = made()
    some = np.arange(150) % 5 > 0
    labels = [int(k) if known else None for k, known in zip(y, some, strict=True)]
    figures = quality(codes, labels)
    alone = quality(codes[np.flatnonzero(some)], y[some])
    assert figures["map"] == pytest.approx(alone["map"])
    assert figures["queries"] == some.sum()


def test_confusion_counts_the_first_ten():
    codes, y = made()
    found = HammingIndex.from_codes(codes).search(codes, 10, exclude=np.arange(150))
    expected = np.zeros((4, 4))
    for own, ids in zip(y, found.ids, strict=True):
        for row in ids:
            expected[own, y[row]] += 1
    expected /= expected.sum(axis=1, keepdims=True)
    figures = quality(codes, y)
    assert np.allclose(figures["confusion"]["table"], expected, atol=1e-4)


def test_bits_say_what_they_separate():
    y = np.repeat([0, 1, 2, 3], 25)
    bits = np.column_stack([y < 2, y % 2, np.ones(100)]).astype(int)
    figures = facts(kinhash.explore(Codes.from_bits(bits), y).html)["bitFigures"]
    assert figures["information"] == pytest.approx([1, 1, 0], abs=1e-3)
    assert figures["share"] == [[1, 1, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1]]
    assert figures["dead"] == [2]
    assert "information" not in facts(kinhash.explore(Codes.from_bits(bits)).html)["bitFigures"]
