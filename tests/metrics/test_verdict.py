"""The sentences say what the lines say, whichever way they fall."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kinhash.metrics.comparison import (
    CLASSIFIER,
    COSINE,
    JACCARD_CLASSIFIER,
    LEARNED,
    LSH,
    MAPPED,
    RANDOM,
    Comparison,
    Line,
    pooled,
)
from kinhash.metrics.label_model import Classifier, out_of_fold
from kinhash.metrics.verdict_text import looks_random, verdict
from kinhash.supervision import read_labels

NOISE = 0.01 * np.random.default_rng(0).normal(size=200)


def lines(**changes):
    """Good codes, level with a classifier; ``changes`` are measures of lines by a letter."""
    base = {"mAP": 0.9, "p10": 0.9, "near": 0.9}
    given = {
        "ours": {**base},
        "mapped": {**base, "later": 0.9},
        "cosine": {"mAP": 0.5, "p10": 0.6, "near": 0.9, "later": 0.5},
        "lsh": {"mAP": 0.4, "p10": 0.5, "near": 0.5, "later": 0.4},
        "classifier": {**base, "near": 0.1},
        "chance": {"mAP": 0.1, "p10": 0.1, "near": 0.0},
    }
    names = {
        "ours": LEARNED, "mapped": MAPPED, "cosine": COSINE, "lsh": LSH, "classifier": CLASSIFIER,
        "jaccard": JACCARD_CLASSIFIER, "chance": RANDOM,
    }  # fmt: skip
    for name, values in changes.items():
        given[name] = {**given.get(name, base), **values}
    sizes = {"cosine": 1024, "chance": 0, "classifier": 1, "jaccard": 2}
    made = []
    for number, (name, values) in enumerate(given.items()):
        noise = np.roll(NOISE, number) - NOISE.mean()  # lines differ by luck alone
        measures = {measure: value + noise for measure, value in values.items()}
        made.append(Line(names[name], sizes.get(name, 8), measures))
    facts = {
        "queries": 200,
        "bytes_per_item_before": 1024,
        "bytes_per_item_after": 8,
        "self_retrieval": 0.5,
        "self_retrieval_of": 9,
    }
    return Comparison("mAP", "", tuple(made), facts)


def test_codes_that_help_and_a_classifier_that_does_as_well():
    first, second, *others = verdict(lines())
    assert first == (
        "Verdict: 8 bytes per item instead of 1,024, and mAP 0.900 and p10 0.900, where float cosine has "
        "0.500 and 0.600 and random order 0.100."
    )
    assert "A classifier with 1 byte per item" in second
    assert "does as well here: mAP 0.900 against 0.900, p10 0.900 against 0.900" in second
    assert "it finds 10% of the ten nearest" in second
    assert others == [
        "A training row's own features, encoded as a new row, find that row first in 50% of 9 cases."
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ours": {"mAP": 0.3}}, "float cosine has mAP 0.500 against 0.300 (difference 0.200"),
        ({"ours": {"p10": 0.3}}, "float cosine has p10 0.600 against 0.300"),
        ({"mapped": {"later": 0.2}}, "float cosine has later 0.500 against 0.200"),
        ({"lsh": {"mAP": 0.95}}, "LSH has mAP 0.950 against 0.900"),
    ],
)
def test_a_search_without_labels_that_does_better_is_the_first_sentence(changes, words):
    first = verdict(lines(**changes))[0]
    assert first.startswith("Verdict: a search that reads no labels does better: ")
    assert words in first


def test_labels_that_bring_nothing_are_the_first_sentence():
    chance = {"mAP": 0.1, "p10": 0.1}
    guessed = lines(ours={"mAP": 0.3, "p10": 0.1}, cosine=chance, lsh=chance)  # a class guessed in one piece
    assert looks_random(guessed)
    first = verdict(guessed)[0]
    assert first.startswith("Verdict: labels bring nothing")
    assert "p10 is 0.100 by these codes, 0.100 by float cosine and 0.100 in random order" in first
    assert not looks_random(lines())


def cut(comparison, n):
    """The same with the first queries alone."""
    made = [
        replace(line, measures={name: values[:n] for name, values in line.measures.items()})
        for line in comparison.lines
    ]
    return replace(comparison, lines=tuple(made))


@pytest.mark.parametrize("ours", [0.505, 0.495])
def test_few_queries_decide_nothing_where_intervals_overlap(ours):
    close = lines(ours={"mAP": ours}, mapped={"later": 0.501})
    noise = 0.1 * np.random.default_rng(1).normal(size=200)
    for name in (LEARNED, COSINE):  # paired differences stay clear
        close.line(name).measures["mAP"] += noise
    assert close.ahead(*((LEARNED, COSINE) if ours > 0.5 else (COSINE, LEARNED)))
    first = verdict(cut(close, 30))[0]
    assert first.startswith("Verdict: not clearly better or worse than float cosine on 30 queries: mAP 0.")
    assert "not clearly" not in verdict(close)[0]
    assert "not clearly" not in verdict(cut(lines(), 30))[0]
    assert "on 1 query:" in verdict(cut(lines(), 1))[0]


def test_intervals_end_where_the_measure_does():
    influences = np.repeat([0.5, 1.45], [100, 100])  # as of ROC AUC, whose parts may be above 1
    line = Line("", 8, {"ROC AUC": influences, "Spearman": -influences})
    found = line.interval("ROC AUC")
    assert 0 < found.low < found.value < found.high <= 1 == line.as_dict()["high"]
    assert -1 == line.interval("Spearman").low < line.interval("Spearman").high < 0


@pytest.mark.parametrize(
    ("classifier", "words"),
    [
        ({"mAP": 0.8}, "does less well here"),
        ({"p10": 0.95}, "is ahead in p10"),
        ({"mAP": 0.8, "p10": 0.95}, "is ahead in p10 and behind in mAP"),
    ],
)
def test_a_classifier_is_compared_query_by_query(classifier, words):
    assert words in verdict(lines(classifier=classifier))[1]


def test_what_is_lost_is_said():
    tags = {"exact": 0.2, "Jaccard": 0.5}
    found = verdict(lines(ours={**tags, "near": 0.4}, cosine={**tags, "exact": 0.3}, jaccard=tags))
    assert found[2] == (
        "Lost against float cosine: exact match 0.200 against 0.300 and the ten nearest relevant rows among "
        "the first hundred 0.400 against 0.900."
    )
    assert "A classifier with 2 bytes per item" in found[1]


def test_queries_without_relevant_rows_leave_no_verdict():
    (said,) = verdict(lines(ours={"mAP": np.nan}))
    assert "nothing can be said" in said


def test_splits_are_pooled_query_by_query():
    both = pooled([lines(), lines(ours={"mAP": 0.7})])
    assert len(both.line(LEARNED).measures["mAP"]) == 400
    assert both.score(LEARNED) == pytest.approx(0.8)


def test_a_classifier_learns_and_never_judges_a_row_it_saw():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 5)) + 4 * np.eye(5)[y]
    labels = read_labels([int(k) if i % 9 else None for i, k in enumerate(y)])
    fitted = Classifier.fit(X, labels)(X)
    assert (fitted.argmax(axis=1) == y).mean() > 0.95
    noise = rng.normal(size=(200, 150))  # wide enough to remember every label
    seen, right = [], []
    for rows, chances in out_of_fold(noise, labels, 0):
        seen += rows.tolist()
        right += (chances.argmax(axis=1) == y[rows]).tolist()
    assert sorted(seen) == np.flatnonzero(labels.known).tolist()
    assert np.mean(right) < 0.5
