"""Empty sides, codes and labels that do not belong together: defined, or one clear error."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.errors import CodesMismatch, InvalidInput, KinhashWarning, UnknownName
from kinhash.metrics import (
    average_precision,
    mean_average_precision,
    ndcg,
    precision_at_k,
    precision_recall_curve,
    precision_within_radius,
    recall_at_k,
)

CODES = np.zeros((4, 1), np.uint8)
NOTHING = np.zeros((0, 1), np.uint8)
Y = [0, 0, 1, 1]
ALL = [
    average_precision,
    mean_average_precision,
    lambda *a, **k: precision_at_k(*a, k=2, **k),
    lambda *a, **k: recall_at_k(*a, k=2, **k),
    lambda *a, **k: precision_within_radius(*a, radius=2, **k),
    precision_recall_curve,
    ndcg,
]


@pytest.mark.parametrize("metric", ALL)
def test_what_does_not_belong_together(metric):
    with pytest.raises(CodesMismatch, match="8 bits were compared with codes of 16"):
        metric(CODES, np.zeros((4, 2), np.uint8), Y, Y)
    with pytest.raises(CodesMismatch, match="model"):
        metric(Codes(CODES, 8, model_id="a" * 20), Codes(CODES, 8, model_id="b" * 20), Y, Y)
    with pytest.raises(InvalidInput, match="3 labels came with 4 queries"):
        metric(CODES, CODES, Y[:3], Y)
    with pytest.raises(InvalidInput, match="5 labels came with 4 database rows"):
        metric(CODES, CODES, Y, [*Y, 1])
    with pytest.raises(InvalidInput, match="classes and the other has tags"):
        metric(CODES, CODES, Y, [{1}, {2}, {3}, set()])
    with pytest.raises(InvalidInput, match="packed rows"):
        metric(CODES.astype(float), CODES, Y, Y)
    with pytest.raises(CodesMismatch, match="8 bits, not 3"):
        metric(Codes(CODES, 8), CODES, Y, Y, n_bits=3)
    with pytest.raises(InvalidInput, match="exclude_self"):
        metric(CODES[:2], CODES, Y[:2], Y, exclude_self=True)


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    ("relevance", "match"),
    [
        (Y, "shape"),
        (np.zeros((4, 3)), "shape"),
        (np.full((4, 4), 0.5), "not grades"),
        (np.full((4, 4), -1), "not grades"),
        (np.full((4, 4), np.nan), "not grades"),
        (np.full((4, 4), 256), "not grades"),
        (np.full((4, 4), "kin"), "not grades"),
        (lambda rows: np.zeros((len(rows), 3)), "block of shape"),
    ],
)
def test_relevance_that_is_none(metric, relevance, match):
    with pytest.raises(InvalidInput, match=match):
        metric(CODES, CODES, relevance)


def test_unknown_words():
    with pytest.raises(UnknownName, match="expected"):
        mean_average_precision(CODES, CODES, Y, Y, ties="expcted")
    with pytest.raises(UnknownName, match="skip, zero"):
        mean_average_precision(CODES, CODES, Y, Y, no_kin="drop")
    with pytest.raises(UnknownName, match="linear"):
        ndcg(CODES, CODES, Y, Y, gain="linar")
    for top in (0, -3, 2.0, True):
        with pytest.raises(InvalidInput, match="top is"):
            mean_average_precision(CODES, CODES, Y, Y, top=top)
        with pytest.raises(InvalidInput, match="k is"):
            recall_at_k(CODES, CODES, Y, Y, k=top)


@pytest.mark.parametrize("ties", ["expected", "index", "optimistic", "pessimistic"])
def test_empty_sides(ties):
    assert average_precision(NOTHING, CODES, [], Y, ties=ties).shape == (0,)
    assert np.isnan(average_precision(CODES, NOTHING, Y, [], ties=ties)).all()
    for a, b, y, z in ((NOTHING, CODES, [], Y), (CODES, NOTHING, Y, []), (NOTHING, NOTHING, [], [])):
        with pytest.warns(KinhashWarning, match="No query has a similar row"):
            details = mean_average_precision(a, b, y, z, ties=ties)
        assert np.isnan(details.value)
        assert details.n_without_kin == len(a)
    assert mean_average_precision(CODES, NOTHING, Y, [], ties=ties, no_kin="zero") == 0
    assert np.isnan(average_precision(CODES, NOTHING, np.zeros((4, 0)), ties=ties)).all()
    assert np.isnan(average_precision(CODES, CODES, np.zeros((4, 4)), ties=ties)).all()


@pytest.mark.parametrize("metric", ALL[1:])
def test_only_unknown_labels(metric):
    from warnings import catch_warnings, simplefilter

    with catch_warnings():
        simplefilter("ignore", KinhashWarning)
        one = metric(CODES, CODES, [None] * 4, Y)
        other = metric(CODES, CODES, Y, [None] * 4)
    for score in (one, other):
        assert np.isnan(getattr(score, "value", score.precision if hasattr(score, "precision") else 0)).all()


def test_a_database_of_one_row():
    assert average_precision(CODES[:1], CODES[:1], [1], [1])[0] == 1
    assert np.isnan(average_precision(CODES[:1], CODES[:1], [1], [1], exclude_self=True)[0])


def test_metrics_do_not_import_scikit_learn():
    code = "import kinhash.metrics, sys; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
