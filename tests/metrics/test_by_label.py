"""Scores of single labels are means over the queries that carry them, worst first."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash.cli.verdict import shortfalls, worst_labels
from kinhash.metrics import Comparison, scores_by_label
from kinhash.metrics.comparison import COSINE, LEARNED, MAPPED, Line
from kinhash.supervision import read_labels

SCORES = np.array([1.0, 0.2, np.nan, 0.6, 0.5])


def test_classes_come_worst_first_and_queries_without_kin_are_left_out():
    found = scores_by_label(SCORES, None, read_labels(["a", "b", "c", "b", None]))
    assert [one.label for one in found] == ["b", "a"]
    assert [one.queries for one in found] == [2, 1]
    assert found[0].score == pytest.approx(0.4)


def test_a_query_counts_for_each_of_its_tags():
    tags = read_labels([{"a", "b"}, {"b"}, {"c"}, {"a"}, set()])
    found = {one.label: one for one in scores_by_label(SCORES, 1 - SCORES, tags)}
    assert found.keys() == {"a", "b"}
    assert found["a"].score == pytest.approx(0.8)
    assert found["b"].other == pytest.approx(0.4)


def comparison(learned, mapped, by_label, **facts):
    lines = [
        Line(name, 8, {"mAP": np.full(5, score)})
        for name, score in ((LEARNED, learned), (MAPPED, mapped), (COSINE, 0.5))
    ]
    facts = {"labels_are": "classes", "labels": 3, "n_bits": 64, "classes_sharing_a_code": 0, **facts}
    return Comparison("mAP", "", tuple(lines), {**facts, "by_label": by_label})


def label(name, score, cosine):
    return {"label": name, "queries": 3, "score": score, "other": cosine}


GOOD = [label("a", 0.99, 0.9), label("b", 0.99, 0.9), label("c", 1.0, 0.9)]

CROWDED = {"labels": 300, "n_bits": 16, "classes_sharing_a_code": 7}


def test_nothing_is_said_where_nothing_falls_short():
    assert shortfalls(comparison(0.9, 0.9, GOOD)) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (comparison(0.5, 0.8, GOOD), "Search a database of mapped codes"),
        (comparison(0.9, 0.9, GOOD, **CROWDED), "16 bits hold 16 classes well, and there are 300"),
        (comparison(0.9, 0.9, GOOD, **CROWDED), "7 share a code. Try --bits 32"),
        (comparison(0.9, 0.9, [label("z", 0.2, 0.9), *GOOD]), "Float cosine finds 1 of 4 classes better"),
        (comparison(0.9, 0.9, [label("z", 0.2, 0.1), *GOOD]), "Worst classes: z 0.200 (cosine 0.100), a"),
    ],
)
def test_what_falls_short_is_said_with_what_to_do(given, words):
    assert words in " ".join(shortfalls(given))


def test_five_labels_are_named():
    many = [label(str(i), i / 10, None) for i in range(9)]
    assert worst_labels(many, "tags")[0].count(",") == 4
