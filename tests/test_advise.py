"""Advice on data whose answer is known: labels that features explain, labels that mean nothing, tags."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import kinhash
from kinhash.advice import Advice, comparison
from kinhash.advice.comparison import _affordable
from kinhash.advice.recommend import shortest_enough
from kinhash.errors import InvalidInput, KinhashError, UnknownName
from kinhash.metrics import compare_labels, hold_out_rows
from kinhash.metrics.comparison import COSINE, ITQ, LEARNED, LSH, MAPPED, RANDOM
from kinhash.plot.advice_chart import GAP, apart
from kinhash.supervision import read_labels

OURS = "EnergyHasher"
FAST: dict[str, Any] = {"bits": (8, 16)}


def hidden_classes(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four classes that two weak columns decide, among ten that vary much and mean nothing."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    X = 4 * rng.normal(size=(n, 12))
    X[:, 0] = (y % 2) + 0.1 * rng.normal(size=n)
    X[:, 1] = (y // 2) + 0.1 * rng.normal(size=n)
    return X, y


@pytest.fixture(scope="module")
def good() -> Advice:
    return kinhash.advise(*hidden_classes(), **FAST)


@pytest.fixture(scope="module")
def random_labels() -> Advice:
    X, y = hidden_classes()
    return kinhash.advise(X[:, 2:], np.random.default_rng(1).permutation(y), **FAST)


# ---- answers that are known ------------------------------------------------------------------------


def test_labels_that_features_explain_need_few_bits(good: Advice) -> None:
    answer = good.recommendation
    assert (answer.method, answer.labels_help) == (OURS, True)
    assert answer.n_bits in (8, 16)
    one = good.at(8)
    assert one.score(LEARNED) > 0.9 > 0.5 > one.score(COSINE)
    assert one.score(RANDOM, "p10") == pytest.approx(0.25, abs=0.01)
    text = " ".join(str(good).split())
    for words in (
        "bits (",
        "Verdict: ",
        "A classifier with 1 byte per item",
        "find that row first in",
        "Protocol",
    ):
        assert words in text
    assert "nothing is lost" not in text


def test_random_labels_are_found_out(random_labels: Advice) -> None:
    answer = random_labels.recommendation
    assert (answer.method, answer.n_bits, answer.labels_help) == (None, None, False)
    assert "labels do not help" in answer.sentences[0]
    assert "The labels look random" in answer.warnings[0]
    assert "same order" in answer.warnings[0]


def test_labels_that_cosine_knows_already_bring_nothing() -> None:
    """Clusters far apart: codes without labels are perfect, so the advice is to do without."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    X = 10 * np.eye(4)[y] + 0.1 * rng.normal(size=(200, 4))
    answer = kinhash.advise(X, y, **FAST).recommendation
    assert answer.method in (ITQ, LSH)
    assert answer.labels_help is None
    assert "reads no labels" in answer.sentences[0]


def test_codes_worse_than_cosine_are_the_first_sentence() -> None:
    """Forty classes of five rows around centers of their own: two bits cannot hold them, cosine can."""
    rng = np.random.default_rng(0)
    y = np.arange(400) // 10
    X = rng.normal(size=(40, 30))[y] + 0.2 * rng.normal(size=(400, 30))
    answer = kinhash.advise(X, y, bits=(2,)).recommendation
    assert "float cosine has mAP 1.000 against" in " ".join(answer.sentences[:3])
    assert "reads no labels" in answer.sentences[0]


def test_tags(good: Advice) -> None:
    X, y = hidden_classes()
    tags = [{"even"} if k == 0 else {"odd", "high"} if k == 3 else {"high"} if k == 2 else {"odd"} for k in y]
    advice = kinhash.advise(X, tags, **FAST)
    assert (advice.measurement.kind, advice.measurement.labels) == ("tags", 3)
    assert advice.recommendation.method == OURS
    assert advice.at(16).score(LEARNED, "exact") > advice.at(16).score(ITQ, "exact") + 0.2
    assert "expected Jaccard" in str(advice)


def test_a_large_gap_between_labeled_and_later_rows_is_said() -> None:
    """Features that show the class of half the rows only."""
    X, y = hidden_classes()
    blurred = np.random.default_rng(3).random(len(X)) < 0.5
    X[blurred, :2] = 0.5 + 0.5 * np.random.default_rng(4).normal(size=(blurred.sum(), 2))
    warnings = kinhash.advise(X, y, **FAST).recommendation.warnings
    assert any("Rows that come later, without labels, are found less well" in warning for warning in warnings)


def test_small_classes_are_said() -> None:
    X, y = hidden_classes()
    names = np.where(np.arange(len(y)) < 24, 100 + np.arange(len(y)) // 3, y)
    (warning,) = (w for w in kinhash.advise(X, names, **FAST).recommendation.warnings if "fewer than 10" in w)
    assert warning.startswith("8 of 12 classes have fewer than 10 rows (100 (3), 101 (3), 102 (3), ...)")


# ---- how it is measured ----------------------------------------------------------------------------


def test_every_split_is_that_of_fit_with_its_seed(good: Advice) -> None:
    """What `kinhash fit --seed 0` and `--seed 1` would print, pooled."""
    X, y = hidden_classes()
    labels, found = read_labels(y), []
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        train, queries = hold_out_rows(labels, 1000, 0.1, rng)
        hasher = kinhash.EnergyHasher(8, random_state=seed).fit(X[train], labels[train])
        found.append(compare_labels(hasher, X, labels, train, queries, rng))
    for name, measure in ((LEARNED, "mAP"), (LEARNED, "p10"), (MAPPED, "later"), (COSINE, "near")):
        expected = np.concatenate([one.line(name).measures[measure] for one in found])
        np.testing.assert_array_equal(good.at(8).line(name).measures[measure], expected)
    assert good.measurement.queries == 80


def test_the_same_seed_gives_the_same_answer(good: Advice) -> None:
    again = kinhash.advise(*hidden_classes(), **FAST)
    first, second = good.as_dict(), again.as_dict()
    assert first.pop("seconds") != second.pop("seconds")
    assert first == second


def test_the_container_does_not_matter(good: Advice) -> None:
    X, y = hidden_classes()
    sparse = kinhash.advise(sp.csr_array(X), y.astype(str), **FAST)
    assert sparse.at(8).score(LEARNED) == good.at(8).score(LEARNED)


def test_unknown_rows_are_left_out() -> None:
    X, y = hidden_classes()
    names = np.array([f"class {k}" for k in y], object)
    names[:40] = None
    X[:40] = 1e6
    advice = kinhash.advise(X, names, **FAST)
    assert (advice.measurement.rows, advice.measurement.rows_used) == (360, 360)
    assert advice.recommendation.method == OURS


def test_of_many_rows_a_part_is_used_and_said(good: Advice) -> None:
    X, y = hidden_classes()
    advice = kinhash.advise(X, y, bits=(8,), n_rows=200, n_splits=1)
    assert (advice.measurement.rows_used, advice.measurement.queries) == (200, 20)
    assert "200 of 400 rows, drawn evenly over the labels" in str(advice)
    facts = replace(good.measurement, rows=10_000)
    assert "400 of 10,000 rows, drawn evenly over the labels" in str(facts)


def test_progress_runs_forward() -> None:
    seen: list[tuple[float, str]] = []
    X, y = hidden_classes()
    kinhash.advise(X, y, **FAST, progress=lambda share, what: seen.append((share, what)))
    shares = [share for share, _ in seen]
    assert shares == sorted(shares)
    assert 0 == shares[0] < shares[-1] < 1
    assert seen[-1][1] == "2. 16 bits"


def test_wide_data_with_many_labels_uses_fewer_rows() -> None:
    labels = read_labels(np.arange(100_000) % 1000)
    assert _affordable(labels, 200) == 5_000
    assert _affordable(labels, 100_000) == 2_000


# ---- the rule for the length -----------------------------------------------------------------------


def test_the_shortest_length_whose_whole_interval_is_within_the_tolerance() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(500)
    scores = {8: base - 0.10, 16: base - 0.015 + 0.001 * rng.normal(size=500), 32: base, 64: base - 0.001}
    assert shortest_enough(scores, 0.02) == 16
    assert shortest_enough(scores, 0.01) == 32
    assert shortest_enough(scores, 0.2) == 8


def test_few_queries_make_the_answer_careful() -> None:
    """Equal means, but so few and uneven queries that a loss cannot be excluded."""
    scores = {8: np.array([0.1, 0.9, 0.5]), 16: np.array([0.9, 0.1, 0.51])}
    assert shortest_enough(scores, 0.02) == 16


# ---- picture, JSON ---------------------------------------------------------------------------------


def test_json_has_one_form(good: Advice, random_labels: Advice) -> None:
    for advice in (good, random_labels):
        facts = json.loads(json.dumps(advice.as_dict()))
        assert set(facts) == {"recommendation", "comparisons", "measurement", "seconds"}
        assert set(facts["recommendation"]) == {"method", "n_bits", "labels_help", "sentences", "warnings"}
        assert set(facts["comparisons"]) == {"8", "16"}
        for line in facts["comparisons"]["8"]["lines"]:
            assert 0 <= line["low"] <= line["score"] <= line["high"] <= 1
            assert {"p10", "near"} <= set(line)
        assert facts["measurement"]["protocol"].startswith("All 400 rows")


def test_the_picture_is_a_png_of_its_own(good: Advice, random_labels: Advice, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    good.draw(tmp_path / "a.png")
    random_labels.draw(tmp_path / "b.png")
    first, second = ((tmp_path / name).read_bytes() for name in ("a.png", "b.png"))
    assert first.startswith(b"\x89PNG")
    assert first != second
    good.draw(tmp_path / "b.png")
    assert (tmp_path / "b.png").read_bytes() == first


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_names_in_the_picture_keep_apart_and_near_their_lines(values: list[float]) -> None:
    places = np.array(apart(sorted(values)))
    assert (np.diff(places) >= GAP - 1e-9).all()
    assert np.abs(places - np.sort(values)).max() <= GAP * len(values)
    assert places.mean() == pytest.approx(np.mean(values))


def test_itq_is_left_out_of_very_wide_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MOST_ITQ_COLUMNS", 11)
    advice = kinhash.advise(*hidden_classes(), **FAST)
    assert ITQ not in advice.at(8)
    assert "ITQ was left out" in advice.recommendation.warnings[0]
    with pytest.raises(UnknownName, match="no length called '9'"):
        advice.at(9)


# ---- what cannot be used ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bits": ()}, "one or more lengths"),
        ({"bits": 8}, "one or more lengths"),
        ({"bits": (8, 0)}, "n_bits is 0"),
        ({"bits": (8, 2000)}, "n_bits is 2000"),
        ({"tolerance": -1}, "tolerance"),
        ({"n_rows": 10}, "n_rows is 10"),
        ({"n_splits": 0}, "n_splits is 0"),
        ({"random_state": None}, "random_state is None"),
        ({"y": None}, "No labels"),
        ({"y": np.zeros(400)}, "only one class"),
        ({"y": np.arange(7)}, "400 rows and the labels have 7"),
        ({"X": np.full((400, 3), np.nan)}, "NaN: the first in row 0, column 0"),
        ({"X": np.zeros(400)}, r"\(400,\)"),
    ],
)
def test_bad_input_is_refused_before_any_work(
    change: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*args: Any) -> None:
        raise AssertionError("nothing should have been fitted")

    monkeypatch.setattr(comparison, "_fitted", work)
    X, y = hidden_classes()
    with pytest.raises(KinhashError, match=says):
        kinhash.advise(**{"X": X, "y": y, **change})


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([None] * 370 + [0, 1, 2] * 10, "30 rows have a known label"),
        ([{k} for k in range(400)], "None of the 40 rows held out has a relevant row"),
    ],
)
def test_labels_that_allow_no_measurement(y: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        kinhash.advise(hidden_classes()[0], y)


def test_the_name_stays_a_function() -> None:
    """A module called ``advise`` would take the place of the function once it is imported."""
    assert callable(kinhash.advise)
    assert callable(kinhash.advise)
