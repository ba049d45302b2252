"""Index files: what comes back, and that no file, however made, does harm."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kinhash._internal.container import read_container, write_container
from kinhash.errors import DamagedFile, FileProblem
from kinhash.index import HammingIndex

rng = np.random.default_rng(0)
BITS = rng.integers(0, 2, (40, 70))[rng.integers(0, 40, 260)] ^ (rng.random((260, 70)) < 0.01)
PACKED = np.packbits(BITS.astype(bool), axis=1)
QUERIES = np.packbits(rng.integers(0, 2, (4, 70)).astype(bool), axis=1)
KINDS = {
    "numbered": HammingIndex.from_codes(PACKED, 70),
    "numbers": HammingIndex.from_codes(PACKED, 70, ids=rng.permutation(999)[:260], model_id="abc"),
    "strings": HammingIndex.from_codes(
        PACKED,
        70,
        ids=[f"é{i}" for i in range(260)],
        payload={"tag": ["a", "b"] * 130, "size": np.arange(260.0), "ok": np.arange(260) % 3 == 0},
    ),
    "distinct": HammingIndex.from_codes(np.unique(PACKED, axis=0), 70),
    "empty": HammingIndex(70),
    "one row": HammingIndex.from_codes(PACKED[:1], 70, ids=["x"]),
}


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(tmp_path, kind, mmap):
    index = KINDS[kind]
    index.save(tmp_path / "index.kin")
    again = HammingIndex.load(tmp_path / "index.kin", mmap=mmap)
    assert (len(again), again.n_bits, again.model_id) == (len(index), 70, index.model_id)
    assert again.ids.tolist() == index.ids.tolist()
    assert {n: c.tolist() for n, c in again.payload.items()} == {
        n: c.tolist() for n, c in index.payload.items()
    }
    for k in (0, 3, 500):
        ours, theirs = again.search(QUERIES, k), index.search(QUERIES, k)
        assert ours.ids.tolist() == theirs.ids.tolist()
        np.testing.assert_array_equal(ours.distances, theirs.distances)
    again.save(tmp_path / "again.kin")
    assert (tmp_path / "again.kin").read_bytes() == (tmp_path / "index.kin").read_bytes()


def test_a_loaded_index_can_change_and_be_saved_over_itself(tmp_path):
    path = tmp_path / "index.kin"
    KINDS["numbered"].save(path)
    index = HammingIndex.load(path)
    index.remove([0, 5])
    assert index.add(PACKED[:2]).tolist() == [260, 261]
    index.save(path)
    assert HammingIndex.load(path).ids.tolist() == index.ids.tolist()


def test_other_files_are_refused(tmp_path):
    write_container(tmp_path / "model.kin", {}, {}, "model")
    with pytest.raises(FileProblem, match="'model'"):
        HammingIndex.load(tmp_path / "model.kin")
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(FileProblem):
            HammingIndex.load(path)


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.kin"
    HammingIndex.from_codes(PACKED[:5], 70, ids=list("abcde")).save(path)
    return path


def test_every_bit_flip_and_truncation_is_refused(small):
    """Exhaustive; the file is small, so the default suite does it whole."""
    raw = small.read_bytes()
    for position in range(len(raw)):
        changed = bytearray(raw)
        changed[position] ^= 1 << position % 8
        for damaged in (bytes(changed), raw[:position]):
            small.write_bytes(damaged)
            with pytest.raises(FileProblem):
                HammingIndex.load(small)


@pytest.mark.slow
def test_every_single_bit_flip_is_refused(small):
    raw = small.read_bytes()
    for position in range(8 * len(raw)):
        changed = bytearray(raw)
        changed[position // 8] ^= 1 << position % 8
        small.write_bytes(bytes(changed))
        with pytest.raises(FileProblem):
            HammingIndex.load(small)


def change(arrays, header, **changes):
    """The parts of a file with some arrays or facts replaced (None removes)."""
    arrays, header = dict(arrays), dict(header)
    for name, value in changes.items():
        name = name.replace("__", ".")
        place = arrays if name in arrays or isinstance(value, np.ndarray) else header
        if value is None and name != "model_id":
            del place[name]
        else:
            place[name] = value
    return arrays, header


def with_padding(blocks):
    """The same codes of 70 bits, with the last bit of the last byte of code 1 set."""
    blocks = blocks.copy()
    blocks[0, 0, 1, 1:2].view(np.uint8)[0] |= 1
    return blocks


FORGED = {
    "row out of range": {"rows": lambda a: np.where(a["rows"] == 3, 10**6, a["rows"]).astype(np.uint32)},
    "row twice": {"rows": lambda a: np.where(a["rows"] == 3, 4, a["rows"]).astype(np.uint32)},
    "rows too short": {"rows": lambda a: a["rows"][:-1]},
    "rows of another type": {"rows": lambda a: a["rows"].astype(np.int64)},
    "no rows": {"rows": lambda a: None},
    "lists out of range": {
        "starts": lambda a: np.append(a["starts"][:-1], np.uint32(2**31)).astype(np.uint32)
    },
    "lists backwards": {"starts": lambda a: a["starts"][::-1].copy()},
    "lists not ascending": {"rows": lambda a: a["rows"][::-1].copy()},
    "blocks too short": {"blocks": lambda a: a["blocks"][:-1]},
    "blocks of another width": {"blocks": lambda a: np.repeat(a["blocks"], 2, axis=2)},
    "blocks of floats": {"blocks": lambda a: a["blocks"].view(np.float64)},
    "no blocks": {"blocks": lambda a: None},
    "ids not ascending": {"ids": lambda a: a["ids"][::-1].copy()},
    "ids of floats": {"ids": lambda a: a["ids"].astype(float)},
    "ids too few": {"ids": lambda a: a["ids"][:-1]},
    "more codes": {"n_codes": lambda a: 10**6},
    "negative codes": {"n_codes": lambda a: -1},
    "codes no number": {"n_codes": lambda a: "7"},
    "rows true": {"n_rows": lambda a: True},
    "more rows": {"n_rows": lambda a: 2**40},
    "other length": {"n_bits": lambda a: 2000},
    "no length": {"n_bits": lambda a: None},
    "wild first id": {"first_id": lambda a: 2**80},
    "payload no list": {"payload": lambda a: 7},
    "payload unnamed": {"payload": lambda a: [1]},
    "payload absent": {"payload": lambda a: ["a"]},
    "learned no flag": {"learned": lambda a: 1},
    "learned too few": {"learned": lambda a: np.ones(7, bool)},
    "learned of numbers": {"learned": lambda a: np.ones(260, np.uint8)},
    "model no string": {"model_id": lambda a: 5},
    "next id no number": {"next_id": lambda a: 1.5},
    "next id too large": {"next_id": lambda a: 2**63 + 1},
    "next id huge": {"next_id": lambda a: 2**80},
    "next id negative": {"next_id": lambda a: -1},
    "next id used already": {"next_id": lambda a: int(a["ids"][-1])},
    "one padding bit": {"blocks": lambda a: with_padding(a["blocks"])},
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_files_with_a_digest_that_holds_are_refused(tmp_path, name):
    path = tmp_path / "forged.kin"
    KINDS["numbers"].save(path)
    arrays, header = read_container(path)
    changed = change(arrays, header, **{part: make(arrays) for part, make in FORGED[name].items()})
    write_container(path, *changed, "index")
    with pytest.raises(DamagedFile, match="do not fit together"):
        HammingIndex.load(path)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("ids.ends", np.array([0, 0, 10**9, 3, 4])),
        ("ids.ends", np.array([3, 2, 1, 4, 5])),
        ("ids.ends", np.array([-1, 2, 3, 4, 5])),
        ("ids.ends", np.array([1, 2, 3, 4])),
        ("ids.text", np.full(5, 255, np.uint8)),
        ("ids.text", np.zeros((5, 1), np.uint8)),
    ],
)
def test_forged_strings_are_refused(small, part, value):
    arrays, header = read_container(small)
    write_container(small, {**arrays, part: value}, header, "index")
    with pytest.raises(DamagedFile):
        HammingIndex.load(small)


@pytest.mark.parametrize("count", [400, pytest.param(100_000, marks=pytest.mark.slow)])
def test_fuzzed_parts_open_or_are_refused_and_search_never_crashes(tmp_path, count):
    """400 of 100,000 by default: numbers inside the arrays changed under a digest that holds."""
    dice = random.Random(4)
    path = tmp_path / "fuzz.kin"
    KINDS["numbers"].save(path)
    arrays, header = read_container(path)
    opened = 0
    for _ in range(count):
        name = dice.choice(sorted(arrays))
        changed = arrays[name].copy()
        flat = changed.reshape(-1)
        place = dice.randrange(flat.size)
        flat[place] = dice.choice([0, 1, flat[place - 1], 2**31, int(flat[place]) ^ 1 << dice.randrange(31)])
        facts = dict(header)
        if dice.random() < 0.3:
            fact = dice.choice(sorted(facts))
            facts[fact] = dice.choice([0, -1, 2**63, None, "x", [], facts[fact], 1e300, True, {"a": 1}])
        write_container(path, {**arrays, name: changed}, facts, "index")
        try:
            index = HammingIndex.load(path)
        except FileProblem:
            continue
        opened += 1
        index.search(np.zeros((1, -(-index.n_bits // 8)), np.uint8), 10)
    assert 0 < opened < count
