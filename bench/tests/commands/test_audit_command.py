"""`kinhash audit` reads every form of bits, and says what it found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run

from kinhash.codes import Codes, save_codes

BITS = np.random.default_rng(0).integers(0, 2, (60, 16))
Y = np.random.default_rng(1).integers(0, 3, 60)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("y.npy", Y)
    np.save("onehot.npy", np.eye(3, dtype=np.uint8)[Y])
    np.save("bits.npy", BITS.astype(np.uint8))
    np.save("signs.npy", (2 * BITS - 1).astype(np.float32))
    np.save("packed.npy", np.packbits(BITS, axis=1))
    save_codes(Codes(np.packbits(BITS, axis=1), 16), "codes.kin")
    np.save("real.npy", BITS + 0.25)


def test_every_form_of_the_same_bits_scores_the_same(run: Run) -> None:
    found = []
    for name in ("bits.npy", "signs.npy", "packed.npy", "codes.kin"):
        for labels in ("y.npy", "onehot.npy"):
            said = run("audit", name, labels, "--top", "20", "--json")
            assert said.code == 0, said.err
            found.append(json.loads(said.out))
    assert {one["n_bits"] for one in found} == {16}
    assert len({one["expected"] for one in found}) == 1
    assert found[0]["at_k"][0]["k"] == 20
    assert found[0]["at_k"][0]["by_found"] >= found[0]["at_k"][0]["by_kin"]


def test_the_words_name_both_definitions_and_chance(run: Run) -> None:
    said = run("audit", "bits.npy", "y.npy", "--top", "20")
    for words in ("a random ranking", "best order", "worst order", "by kin", "by found", "distinct codes"):
        assert words in said.out
    split = run("audit", "bits.npy", "y.npy", "--queries", "signs.npy", "y.npy", "--json")
    assert any("row for row" in line for line in json.loads(split.out)["findings"])


def test_zero_and_one_bytes_can_be_packed(run: Run) -> None:
    assert json.loads(run("audit", "bits.npy", "y.npy", "--packed", "--json").out)["n_bits"] == 128


def test_real_numbers_are_refused_in_one_line(run: Run) -> None:
    said = run("audit", "real.npy", "y.npy")
    assert said.code == 2
    assert "signs" in said.err
    assert said.out == ""
