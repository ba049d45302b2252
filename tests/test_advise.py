"""Advice on data whose answer is known: labels that features explain, labels that mean nothing, tags."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import kinhash
from kinhash.advice import Advice, _measure, _speed
from kinhash.advice._advice import COSINE, OURS, RIVALS
from kinhash.advice._advise import _rows_for
from kinhash.advice._measure import Scores
from kinhash.advice._recommend import _Case, _looks, shortest_enough
from kinhash.codes import Codes
from kinhash.errors import InvalidInput, KinhashError, KinhashWarning, UnknownName
from kinhash.evaluation import NearestKin
from kinhash.evaluation.hold_out import folds, stratified_rows
from kinhash.labels import read_labels
from kinhash.metrics import NearKin, bootstrap_interval, near_kin
from kinhash.plot._advice import GAP, apart

FAST: dict[str, Any] = {"bits": (8, 16), "n_folds": 3, "timings": False}


def hidden_classes(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
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


def test_the_nearest_kin_are_those_of_the_folds(good: Advice) -> None:
    """Every fold fitted again by hand: what the metrics say of its codes is what the advice says."""
    X, y = hidden_classes()
    rows = stratified_rows(read_labels(y), len(y), np.random.default_rng(0))
    X, y = X[rows], y[rows]
    for n_bits in (8, 16):
        found = []
        for number, split in enumerate(folds(len(y), 3)[: good.measurement.folds]):
            seed = int(np.random.SeedSequence([0, number]).generate_state(1)[0])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", KinhashWarning)
                hasher = kinhash.EnergyHasher(n_bits, random_state=seed).fit(X[split.train], y[split.train])
            codes = hasher.encode(X[split.held_out]), hasher.codes_
            sides = [part[rows] for part in (y, X) for rows in (split.held_out, split.train)]
            near = near_kin(*codes, *sides)
            found.append((hasher.codes_.fields.kin(n_bits), near.value, near.recall))
        kin_bits, values, recalls = zip(*found, strict=True)
        looks = good.figure(OURS, n_bits).looks
        assert looks is not None
        assert looks.kin_bits == (min(kin_bits), max(kin_bits))
        assert (looks.near_kin, looks.nearest_kin_among_100) == pytest.approx(
            (np.mean(values), np.mean(recalls))
        )
    assert good.figure("ITQ", 8).looks is None


def test_one_sentence_says_who_knows_classes_and_what_is_found() -> None:
    def said(kin_bits: dict[int, tuple[int, int]], shares: dict[int, float], enough: int) -> str:
        scores = Scores(12, kin_at_random=[0.05, 0.07])
        for n_bits, both in kin_bits.items():
            near = [NearKin(0.1, shares[n_bits], 5, 9, np.zeros(9))] * 2
            scores.looks[OURS, n_bits] = list(zip(both, near, strict=True))
        return _looks(_Case(scores, tuple(kin_bits), 0.02), enough, "classes")

    assert said({64: (16, 16)}, {64: 0.58}, 64) == (
        "Of 64 bits, 16 know your classes; with the other 48, 58 % of the ten nearest kin are among the "
        "first hundred answers (kin in random order: 6 %)."
    )
    lengths = {8: (8, 8), 64: (16, 24), 256: (24, 24)}
    longer = said(lengths, {8: 0.07, 64: 0.5, 256: 0.53}, 8)
    assert longer.startswith(
        "All 8 bits know your classes, none what a row looks like: 7 % of the ten nearest"
    )
    assert longer.endswith("take 64 bits: it is 50 %.")  # 256 bits find about as much
    assert "take" not in said(lengths, {8: 0.45, 64: 0.5, 256: 0.53}, 8)
    assert "16 to 24 know your classes; with the others, 50 %" in said(lengths, {8: 0, 64: 0.5, 256: 0}, 64)


def test_kin_in_random_order_find_what_a_shuffle_finds(good: Advice) -> None:
    """Codes of the true class leave all kin level: their expected share is the figure."""
    y = np.arange(900) % 3
    codes = Codes(np.packbits(np.eye(3, dtype=np.uint8)[y], axis=1), 3)
    X = np.random.default_rng(0).normal(size=(900, 4))
    asked = slice(0, 30)
    for own in (None, np.arange(30)):
        near = NearestKin.of(y[asked], y, X[asked], X, own=own)
        assert near.kin_at_random(y[asked], y) == pytest.approx(near.score_codes(codes[asked], codes).recall)
    looks = good.figure(OURS, 8).looks
    assert looks is not None
    assert looks.kin_at_random == 1.0  # forty kin of a query fit into a hundred answers


def test_labels_that_features_explain_need_few_bits(good: Advice) -> None:
    answer = good.recommendation
    assert (answer.method, answer.n_bits, answer.labels_help) == (OURS, 8, True)
    mine, cosine = good.figure(OURS, 8), good.figure(COSINE)
    assert mine.mapped.low > 0.9 > 0.5 > cosine.mapped.high
    assert mine.learned is not None
    assert mine.learned.value >= mine.mapped.value - 0.02
    assert answer.losses["to_float_cosine"].high < 0
    assert answer.losses["to_best"].high <= 0.02
    assert answer.warnings == ()
    text = str(good)
    for words in (
        "Use 8 bits (1 byte per item)",
        "Use EnergyHasher",
        "Labels help",
        "kin_weight",
        "8 bits suffice",
    ):
        assert words in text.replace("\n  ", " ")


def test_random_labels_are_found_out(random_labels: Advice) -> None:
    answer = random_labels.recommendation
    assert (answer.method, answer.n_bits, answer.labels_help) == (None, None, False)
    assert "labels do not help" in answer.sentences[0]
    assert "The labels look random" in answer.warnings[0]
    assert "same order" in answer.warnings[0]
    assert abs(random_labels.figure(OURS, 16).mapped.value - random_labels.chance.value) < 0.03


def test_labels_that_cosine_knows_already_bring_nothing() -> None:
    """Clusters far apart: codes without labels are perfect, so the advice is to do without."""
    rng = np.random.default_rng(0)
    y = np.arange(160) % 4
    X = 10 * np.eye(4)[y] + 0.1 * rng.normal(size=(160, 4))
    answer = kinhash.advise(X, y, **FAST).recommendation
    assert answer.method in RIVALS
    assert answer.labels_help is None
    assert "needs no labels" in answer.sentences[1]
    assert "neither gain nor loss" in answer.sentences[2]


def test_tags(good: Advice) -> None:
    X, y = hidden_classes()
    tags = [{"even"} if k == 0 else {"odd", "high"} if k == 3 else {"high"} if k == 2 else {"odd"} for k in y]
    advice = kinhash.advise(X, tags, **FAST)
    assert advice.measurement.kind == "tags"
    assert advice.measurement.labels == 3
    assert advice.recommendation.method == OURS
    assert advice.figure(OURS, 16).mapped.value > advice.figure("ITQ", 16).mapped.value + 0.2
    assert advice.chance.value > good.chance.value
    assert "at least one shared tag" in str(advice)


def test_a_large_gap_between_learned_and_mapped_is_said() -> None:
    """Features that show the class of half the rows only."""
    X, y = hidden_classes()
    blurred = np.random.default_rng(3).random(len(X)) < 0.5
    X[blurred, :2] = 0.5 + 0.5 * np.random.default_rng(4).normal(size=(blurred.sum(), 2))
    warnings = kinhash.advise(X, y, **FAST).recommendation.warnings
    assert any("Learned codes are" in warning and "rows that come later" in warning for warning in warnings)


def test_small_classes_are_said() -> None:
    X, y = hidden_classes()
    names = np.where(np.arange(len(y)) < 24, 100 + np.arange(len(y)) // 3, y)
    (warning,) = (w for w in kinhash.advise(X, names, **FAST).recommendation.warnings if "fewer than 10" in w)
    assert warning.startswith("8 of 12 classes have fewer than 10 rows (100 (3), 101 (3), 102 (3), ...)")


# ---- how it is measured ----------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_metrics_on_rows_kept_out() -> None:
    """Fit again by hand on the same rows: queries and database were not seen, learned ones were."""
    from kinhash.metrics import average_precision

    X, y = hidden_classes()
    X[:, :2] += 0.3 * np.random.default_rng(5).normal(size=(len(X), 2))
    advice = kinhash.advise(X, y, bits=[8], n_folds=2, timings=False, precision=0)
    rows = stratified_rows(read_labels(y), len(X), np.random.default_rng(0))
    mapped, learned = [], []
    for number, fold in enumerate(folds(len(X), 2)):
        assert not set(rows[fold.train]) & set(rows[fold.held_out])
        seed = int(np.random.SeedSequence([0, number]).generate_state(1)[0])
        train, out = rows[fold.train], rows[fold.held_out]
        hasher = kinhash.EnergyHasher(8, random_state=seed).fit(X[train], y[train])
        new = hasher.encode(X[out])
        mapped.append(average_precision(new, new, y[out], y[out], exclude_self=True))
        learned.append(average_precision(new, hasher.codes_, y[out], y[train]))
    figure = advice.figure(OURS, 8)
    assert figure.mapped.value == pytest.approx(np.concatenate(mapped).mean(), abs=1e-12)
    assert figure.learned is not None
    assert figure.learned.value == pytest.approx(np.concatenate(learned).mean(), abs=1e-12)
    assert advice.measurement.queries == len(X)


def test_chance_is_the_mean_over_all_orders(good: Advice) -> None:
    """Held against shuffled rankings."""
    rng, kin = np.random.default_rng(0), np.array([1] * 19 + [0] * 60)
    places = [np.flatnonzero(rng.permutation(kin)) + 1 for _ in range(4000)]
    shuffled = np.mean([np.mean(np.arange(1, 20) / place) for place in places])
    assert good.chance.value == pytest.approx(shuffled, abs=0.005)


def test_the_same_seed_gives_the_same_answer(good: Advice) -> None:
    again = kinhash.advise(*hidden_classes(), **FAST)
    first, second = good.as_dict(), again.as_dict()
    assert first.pop("seconds") != second.pop("seconds")
    assert first == second
    other = kinhash.advise(*hidden_classes(), **FAST, random_state=1)
    assert other.figure("LSH", 8).mapped != good.figure("LSH", 8).mapped


def test_the_container_does_not_matter(good: Advice) -> None:
    X, y = hidden_classes()
    sparse = kinhash.advise(sp.csr_array(X), y.astype(str), **FAST)
    assert sparse.figure(OURS, 8).mapped == good.figure(OURS, 8).mapped


def test_folds_stop_when_intervals_are_narrow() -> None:
    X, y = hidden_classes()
    few = kinhash.advise(X, y, bits=[8], n_folds=4, precision=0.5, timings=False)
    assert (few.measurement.folds, few.measurement.queries) == (2, 120)
    assert "2 of 4 folds (our intervals are within ±0.5)" in str(few.measurement)
    X[:, :2] += 0.3 * np.random.default_rng(5).normal(size=(len(X), 2))  # no query is perfect any more
    every = kinhash.advise(X, y, bits=[8], n_folds=4, precision=0, timings=False)
    assert (every.measurement.folds, every.measurement.queries) == (4, 240)


def test_unknown_rows_are_left_out() -> None:
    X, y = hidden_classes()
    names = np.array([f"class {k}" for k in y], object)
    names[:40] = None
    X[:40] = 1e6
    advice = kinhash.advise(X, names, **FAST)
    assert (advice.measurement.rows, advice.measurement.rows_used) == (200, 200)
    assert advice.recommendation.method == OURS


def test_progress_runs_forward() -> None:
    seen: list[tuple[float, str]] = []
    X, y = hidden_classes()
    kinhash.advise(X, y, **FAST, progress=lambda share, what: seen.append((share, what)))
    shares = [share for share, _ in seen]
    assert shares == sorted(shares)
    assert 0 == shares[0] < shares[-1] <= 1
    assert seen[0][1] == "1. float cosine"
    assert seen[-1][1].endswith("EnergyHasher, 16 bits")


# ---- rows ------------------------------------------------------------------------------------------


def test_wide_data_with_many_labels_uses_fewer_rows() -> None:
    labels = read_labels(np.arange(100_000) % 1000)
    assert _rows_for(labels, 10, 12_000) == 12_000
    assert _rows_for(labels, 200, 12_000) == 5_000
    assert _rows_for(labels, 100_000, 12_000) == 2_000
    assert _rows_for(read_labels([0, 1] * 30), 10, 12_000) == 60


# ---- the rule for the length -----------------------------------------------------------------------


def test_the_shortest_length_whose_whole_interval_is_within_the_tolerance() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(500)
    scores = {8: base - 0.10, 16: base - 0.015 + 0.001 * rng.normal(size=500), 32: base, 64: base - 0.001}
    assert shortest_enough(scores, 0.02)[:2] == (32, 16)
    assert shortest_enough(scores, 0.01)[:2] == (32, 32)
    assert shortest_enough(scores, 0.2)[:2] == (32, 8)
    loss = shortest_enough(scores, 0.02).loss
    assert loss == bootstrap_interval(scores[32] - scores[16], n_resamples=1000)


def test_few_queries_make_the_answer_careful() -> None:
    """Equal means, but so few and uneven queries that a loss cannot be excluded."""
    scores = {8: np.array([0.1, 0.9, 0.5]), 16: np.array([0.9, 0.1, 0.51])}
    assert shortest_enough(scores, 0.02).enough == 16


# ---- times, picture, JSON --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def timed() -> Advice:
    patch = pytest.MonkeyPatch()
    patch.setattr(_speed, "GROWN_ROWS", 20_000)
    patch.setattr(_speed, "FLOAT_BYTES", 1 << 20)
    advice = kinhash.advise(*hidden_classes(), bits=(8, 32), n_folds=2)
    patch.undo()
    return advice


def test_times_are_there_and_said(timed: Advice) -> None:
    for figure in timed.figures:
        assert (figure.search is not None) == (figure.method in (OURS, COSINE))
        assert (figure.encode_seconds_per_1000 is None) == (figure.method == COSINE)
        if figure.search is not None:
            assert figure.search.seconds > 0
            assert 0 < figure.search.million <= figure.search.hundred_million
    short = timed.figure(OURS, 8).search
    assert short is not None
    assert short.hundred_million == short.million  # 256 codes are all there can be
    assert "Extrapolated to a hundred million rows" in str(timed)


@pytest.mark.parametrize("n_bits", [3, 8, 13])
def test_grown_codes_are_codes_near_the_given_ones(n_bits: int) -> None:
    rng = np.random.default_rng(0)
    fields = kinhash.Fields(alike=2, kin_weight=4)
    codes = Codes(np.packbits(np.ones((4, n_bits), np.uint8), axis=1), n_bits, fields=fields)
    grown = _speed._grow(codes, 5000, rng)  # Codes refuses bits in the padding
    assert grown.fields == fields
    assert len(grown) == 5000
    ones = np.unpackbits(grown.packed, axis=1)[:, :n_bits].mean()
    assert ones == pytest.approx(7 / 8, abs=0.01)


def test_json_has_one_form(timed: Advice, random_labels: Advice) -> None:
    for advice in (timed, random_labels):
        facts = json.loads(json.dumps(advice.as_dict()))
        assert set(facts) == {"recommendation", "figures", "chance", "measurement", "seconds"}
        assert set(facts["recommendation"]) == {
            "method", "n_bits", "n_bits_learned", "labels_help", "losses", "sentences", "warnings",
        }  # fmt: skip
        assert set(facts["chance"]) == {"value", "low", "high", "level", "n_queries"}
        for figure in facts["figures"]:
            assert set(figure) == {
                "method", "n_bits", "bytes_per_item", "mapped", "learned", "search",
                "encode_seconds_per_1000", "looks",
            }  # fmt: skip
            assert 0 <= figure["mapped"]["low"] <= figure["mapped"]["value"] <= figure["mapped"]["high"] <= 1
        assert facts["measurement"]["protocol"].startswith("Protocol: all 240 rows")


def test_the_picture_is_a_png_of_its_own(timed: Advice, random_labels: Advice, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    timed.draw(tmp_path / "a.png")
    random_labels.draw(tmp_path / "b.png")
    first, second = ((tmp_path / name).read_bytes() for name in ("a.png", "b.png"))
    assert first.startswith(b"\x89PNG")
    assert first != second
    timed.draw(tmp_path / "b.png")
    assert (tmp_path / "b.png").read_bytes() == first


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_names_in_the_picture_keep_apart_and_near_their_lines(values: list[float]) -> None:
    places = np.array(apart(sorted(values)))
    assert (np.diff(places) >= GAP - 1e-9).all()
    assert np.abs(places - np.sort(values)).max() <= GAP * len(values)
    assert places.mean() == pytest.approx(np.mean(values))


def test_itq_is_left_out_of_very_wide_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from kinhash.advice import _recommend

    for module in (_measure, _recommend):
        monkeypatch.setattr(module, "MOST_ITQ_COLUMNS", 11)
    advice = kinhash.advise(*hidden_classes(), **FAST)
    with pytest.raises(UnknownName, match="no figure called 'ITQ 8'"):
        advice.figure("ITQ", 8)
    assert "ITQ was left out" in advice.recommendation.warnings[0]
    assert "– " in str(advice)


def test_a_part_of_the_rows_is_said_to_be_one(good: Advice) -> None:
    facts = replace(good.measurement, rows=10_000)
    assert "240 of 10,000 rows, drawn evenly over the labels" in str(facts)


# ---- what cannot be used ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bits": ()}, "one or more lengths"),
        ({"bits": 8}, "one or more lengths"),
        ({"bits": (8, 0)}, "n_bits is 0"),
        ({"bits": (8, 2000)}, "n_bits is 2000"),
        ({"tolerance": -1}, "tolerance"),
        ({"precision": np.nan}, "precision"),
        ({"n_rows": 10}, "n_rows is 10"),
        ({"n_folds": 1}, "n_folds is 1"),
        ({"random_state": None}, "random_state is None"),
        ({"y": None}, "No labels"),
        ({"y": np.zeros(240)}, "only one class"),
        ({"y": np.arange(7)}, "240 rows and the labels have 7"),
        ({"X": np.full((240, 3), np.nan)}, "NaN: the first in row 0, column 0"),
        ({"X": np.zeros(240)}, r"\(240,\)"),
    ],
)
def test_bad_input_is_refused_before_any_work(
    change: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*args: Any) -> None:
        raise AssertionError("nothing should have been fitted")

    monkeypatch.setattr(_measure, "_fitted", work)
    X, y = hidden_classes()
    with pytest.raises(KinhashError, match=says):
        kinhash.advise(**{"X": X, "y": y, **change})


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([None] * 210 + [0, 1, 2] * 10, "30 rows have a known label"),
        (np.arange(240) // 2, "no two are kin"),
    ],
)
def test_labels_that_allow_no_measurement(y: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        kinhash.advise(hidden_classes()[0], y)


def test_the_name_stays_a_function() -> None:
    """A module called ``advise`` would take the place of the function once it is imported."""
    assert callable(kinhash.advise)
    assert callable(kinhash.advise)
