"""Figures of the learner: expected values over ties by brute force, and the protocols on a small set."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from kinhash_bench.learner_figures import PROTOCOLS, quick
from kinhash_bench.learner_lines import Records, lines
from kinhash_bench.learner_rivals import RIVALS, Bits
from kinhash_bench.learner_scores import agreement, levels, near, scored


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


@pytest.mark.parametrize("protocol", ["known", "oldnew", "few", "nolabels", "noise", "seeds"])
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
