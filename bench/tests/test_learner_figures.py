"""Figures of the learner: expected values over ties by brute force, and the protocols on a small set."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import permutations, product

import numpy as np
import pytest

from kinhash_bench.learner_figures import PROTOCOLS, quick
from kinhash_bench.learner_lines import Records, lines
from kinhash_bench.learner_rivals import BLIND, RIVALS, Bits, ash
from kinhash_bench.learner_scores import agreement, found_precision, levels, near, scored


def orders(distances: np.ndarray) -> list[list[int]]:
    """All rankings that the distances of one query allow."""
    n = len(distances)
    return [list(o) for o in permutations(range(n)) if all(np.diff(distances[list(o)]) >= 0)]


def test_expected_values_over_tied_rows() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        distances, relevant = rng.integers(0, 3, 7), rng.random(7) < 0.5
        relevant[0] = True
        precisions = []
        for order in orders(distances):
            hits = relevant[order]
            precisions.append((np.cumsum(hits) / np.arange(1, 8))[hits].mean())
        gains = relevant[None, :, None].astype(np.float32)
        found = scored(distances[None].astype(np.int32), gains)
        assert found["map"] == pytest.approx(np.mean(precisions))
        assert found["ten"] == pytest.approx(relevant.sum() / 10)


def test_the_first_ten_share_a_tie() -> None:
    distances = np.repeat([0, 1, 2], [6, 8, 6])[None].astype(np.int32)
    gains = np.zeros((1, 20, 1), np.float32)
    gains[0, [0, 1, 6, 7], 0] = 1
    assert scored(distances, gains)["ten"] == pytest.approx((2 + 2 * 4 / 8) / 10)


def test_a_row_does_not_find_itself() -> None:
    X = np.random.default_rng(0).standard_normal((300, 5)).astype(np.float32)
    y, own = np.arange(300), np.arange(300)
    distances = levels(X @ X.T)
    assert np.isnan(scored(distances, agreement(y, y), own=own)["map"])
    cosine = X - X.mean(axis=0)
    cosine /= np.linalg.norm(cosine, axis=1, keepdims=True)
    assert near(levels(cosine @ cosine.T), X, X, None, own) == 1


def test_tags_count_shared_equal_and_jaccard() -> None:
    tags = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]], np.float32)
    assert agreement(tags[:1], tags)[0].tolist() == [[1, 1, 1], [1, 1, 1], [1, 0, 0.5], [0, 0, 0]]


@pytest.mark.parametrize(
    "protocol", ["known", "oldnew", "few", "unseen", "foundation", "nolabels", "noise", "seeds"]
)
def test_protocols_on_digits(protocol: str) -> None:
    for _, figures in PROTOCOLS[protocol](RIVALS["itq"], "digits", 0, 16):
        assert all(0 <= value < 2 for value in figures.values())


@pytest.mark.parametrize("name", ["latlon", "column", "rings", "sphere"])
def test_nearest_rows_know_the_classes_of_narrow_data(name: str) -> None:
    (_, figures), *_ = PROTOCOLS["narrow"](RIVALS["cosine"], name, 0, 16)
    assert figures["float ten"] > 0.8


def test_quick_takes_two_functions(capsys: pytest.CaptureFixture[str]) -> None:
    def learn(X: np.ndarray, y: np.ndarray | None, n_bits: int, seed: int) -> object:
        model = RIVALS["itq"](X, y, n_bits, seed)
        return model.encode, lambda X, y: model.encode(X)

    table = quick(learn, ("digits",), n_bits=16, counts=(5,))
    assert set(table) == {"digits known", "digits oldnew", "digits few|few5"}
    assert "learned ." in capsys.readouterr().out


def test_a_mapped_row_may_differ_from_a_learned_one() -> None:
    X = np.eye(4, dtype=np.float32)
    model = Bits(lambda X: X > 0.5, lambda X, y: y[:, None] == np.arange(4))
    assert model.distances(model.ask(X), model.learned(X, np.arange(4)[::-1]))[0].tolist() == [2, 2, 2, 0]


def test_lines_compare_common_partitions(tmp_path) -> None:
    record = (
        '{{"method": "{}", "set": "digits", "protocol": "known", "partition": {}, "bits": 64, "which": "", '
    )
    figures = '"figures": {{"learned ten": {}, "self": 1, "mix": 1}}}}\n'
    row = record + figures
    (tmp_path / "a.jsonl").write_text(row.format("kinhash", 30, 0.9) + row.format("kinhash", 31, 0.1))
    (tmp_path / "b.jsonl").write_text(row.format("today", 30, 0.8))
    found = [line for line in lines(Records(tmp_path), "kinhash", "today") if "learned ten" in line]
    assert len(found) == 1
    assert found[0].startswith("met")
    assert "0.900 >= 0.800" in found[0]


NEEDS = {"rabitqlib": "rabitqlib", "turbovec": "turbovec", "qdrant": "qdrant_edge"}
NEEDS |= dict.fromkeys(("opq", "rq", "lsq", "prq", "labelbyte"), "faiss")
LEAST = {"ike": 0.8, "signs": 0.9, "median": 0.9}  # the others keep more


def ready(name: str) -> None:
    if name in NEEDS and find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "lsq")) for name in BLIND]
)
def test_a_rival_finds_near_rows_and_repeats_itself(name: str) -> None:
    """Of the ten nearest of 600 made rows, the share in the first hundred, at 8 bytes."""
    ready(name)
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((700, 12)) @ rng.standard_normal((12, 72))).astype(np.float32)
    X += 0.5 * rng.standard_normal(X.shape).astype(np.float32)
    ask, rest = X[:100], X[100:]
    for _, model in models(name, rest):
        first, again = (model.distances(model.ask(ask), model.kept(rest)) for _ in range(2))
        assert near(first, ask, rest, None) > LEAST.get(name, 0.95)
        assert (first == again).all() or name == "rabitqlib"  # draws its rotation from no seed
    _, model = models(name, rest)[-1]
    fresh = model.distances(model.ask(ask), model.kept(rest))
    assert (first == fresh).all() or name == "rabitqlib"


def models(name: str, X: np.ndarray) -> list:
    found = RIVALS[name](X, None, 64, 0)
    return found if isinstance(found, list) else [("", found)]


def test_the_code_of_two_bits_is_the_direction_nearest_to_a_row() -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((200, 4)).astype(np.float32)
    ((_, model),) = [one for one in ash(rows, None, 8, 0) if one[0] == " bits=2"]
    vectors = model.ask(rows)
    every = np.array(list(product((-1.5, -0.5, 0.5, 1.5), repeat=4)), np.float32)
    every /= np.linalg.norm(every, axis=1, keepdims=True)
    best = (vectors @ every.T).max(axis=1)
    np.testing.assert_allclose((vectors * model.stored(vectors)).sum(axis=1), best, atol=1e-5)


def test_ash_aligns_its_directions_with_its_codes() -> None:
    X = (np.random.default_rng(2).standard_normal((3_000, 16)) ** 3).astype(np.float32)
    agreed = []
    for rounds in (0, 20):
        for _, model in ash(X, None, 16, 0, rounds):
            vectors = model.ask(X)
            agreed.append(float((vectors * model.stored(vectors)).sum(axis=1).mean()))
    assert agreed[2] > agreed[0] + 0.02
    assert agreed[3] > agreed[1] + 0.002


def test_average_precision_of_what_was_found() -> None:
    gains = np.array([[0, 1, 0, 1, 1], [0, 0, 0, 0, 1]], np.float32)[..., None]
    distances = np.tile(np.arange(5), (2, 1))
    assert found_precision(distances, gains, 4) == pytest.approx((1 / 2 + 2 / 4) / 2 / 2)


def test_rows_of_unseen_labels_are_asked_among_all_rows() -> None:
    """A model that tells nothing apart but what it was fitted on finds unseen rows only among themselves."""

    def learn(X: np.ndarray, y: np.ndarray, n_bits: int, seed: int) -> Bits:
        known = {row.tobytes() for row in X}

        def encode(X: np.ndarray) -> np.ndarray:
            return np.array([[row.tobytes() in known] for row in X])

        return Bits(encode)

    ((_, found),) = PROTOCOLS["unseen"](learn, "digits", 0, 8)
    assert found["unseen map"] == pytest.approx(found["among map"], rel=0.02)
    assert found["unseen ten"] == pytest.approx(found["among ten"])
    assert found["seen ten"] == 0


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("name", ["COSDISH", "CRH"])
def test_methods_of_the_table_keep_learned_codes_of_fitted_rows(name: str) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    X = (rng.standard_normal((4, 8))[y] + 2 * rng.standard_normal((400, 8))).astype(np.float32)
    model = RIVALS[name](X[:300], y[:300], 8, 0)
    rows = model.learned(X, np.r_[y[:300], np.full(100, -1)])
    assert (rows[300:] == model.kept(X[300:])).all()
    assert (rows == model.kept(X)).all() == (name == "CRH")  # which has no codes of its own
