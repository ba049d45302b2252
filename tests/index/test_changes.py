"""Adding, replacing and removing rows, against a dictionary."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kinhash.errors import InvalidInput
from kinhash.index import HammingIndex

from .oracle import IDS, STRINGS, brute_force, random_codes


class Changes(RuleBasedStateMachine):
    """An index and a dictionary from id to code must agree after every step."""

    @initialize(
        kind=st.sampled_from(list(IDS)), seed=st.integers(0, 2**32), n_bits=st.sampled_from([6, 64, 70])
    )
    def start(self, kind, seed, n_bits):
        self.rng = np.random.default_rng(seed)
        self.name, self.strings = IDS[kind], kind in STRINGS
        self.n_bits = n_bits
        self.index = HammingIndex(n_bits)
        self.rows: dict = {}
        self.largest = -1

    def fresh(self, numbers):
        return [self.name(number) for number in numbers]

    def codes(self, count):
        return (
            random_codes(self.rng, count, self.n_bits, 6, 0.03)
            if count
            else np.empty((0, -(-self.n_bits // 8)), np.uint8)
        )

    def note(self, ids, codes):
        for i, code in zip(ids, codes, strict=True):
            self.rows[i] = (code, int(code[0]))
        if not self.strings:
            self.largest = max([self.largest, *ids])

    @rule(numbers=st.lists(st.integers(-50, 400), unique=True, max_size=30))
    def add(self, numbers):
        ids = self.fresh(numbers)
        codes = self.codes(len(ids))
        payload = {"first": codes[:, 0]}
        if set(ids) & set(self.rows):
            with pytest.raises(InvalidInput, match="already"):
                self.index.add(codes, ids, payload)
        else:
            self.index.add(codes, ids, payload)
            self.note(ids, codes)

    @rule(count=st.integers(0, 5))
    def add_numbered(self, count):
        codes = self.codes(count)
        if not self.strings and count and self.largest + count >= 2**63:
            with pytest.raises(InvalidInput, match="no numbers"):
                self.index.add(codes, payload={"first": codes[:, 0]})
        elif not self.strings:
            ids = self.index.add(codes, payload={"first": codes[:, 0]})
            assert ids.tolist() == list(range(self.largest + 1, self.largest + 1 + count))
            self.note(ids.tolist(), codes)

    @rule(numbers=st.lists(st.integers(-50, 400), unique=True, max_size=30))
    def upsert(self, numbers):
        ids = self.fresh(numbers)
        codes = self.codes(len(ids))
        self.index.upsert(codes, ids, {"first": codes[:, 0]})
        self.note(ids, codes)

    @rule(share=st.floats(0, 1), data=st.data())
    def remove(self, share, data):
        ids = [i for i in self.rows if self.rng.random() < share]
        self.index.remove(ids)
        for i in ids:
            del self.rows[i]
        with pytest.raises(InvalidInput, match="no row"):
            self.index.remove([*list(self.rows)[:1], "nobody" if self.strings else 99_999])
        for i in list(self.rows)[:1]:
            with pytest.raises(InvalidInput, match="came twice"):
                self.index.remove([i, i])

    @rule()
    def compact(self):
        self.index.compact()
        assert self.index.stats().n_segments <= 1

    @rule(mmap=st.booleans())
    def save_and_open(self, mmap):
        with tempfile.TemporaryDirectory() as folder:
            self.index.save(Path(folder) / "index.kin")
            self.index = HammingIndex.load(Path(folder) / "index.kin", mmap=mmap)

    @rule(k=st.integers(0, 40), passing=st.floats(0, 1))
    def search(self, k, passing):
        ids = sorted(self.rows)
        packed = np.array([self.rows[i][0] for i in ids], np.uint8).reshape(len(ids), -1 if ids else 0)
        queries = self.codes(3)
        found = self.index.search(queries, k)
        truth = brute_force(packed, ids, queries, k) if ids else ([[]] * 3, [[]] * 3)
        assert (found.ids.tolist(), found.distances.tolist()) == truth
        mask = self.rng.random(len(ids)) < passing
        wanted = [i for i, ok in zip(ids, mask, strict=True) if ok]
        truth = brute_force(packed[mask], wanted, queries, k) if wanted else ([[]] * 3, [[]] * 3)
        for where in (mask, wanted):
            found = self.index.search(queries, k, where=where)
            assert (found.ids.tolist(), found.distances.tolist()) == truth
        radius = self.n_bits // 4
        for i, row in enumerate(self.index.search_radius(queries, radius)):
            near = [int(np.bitwise_count(code ^ queries[i]).sum()) for code in packed]
            assert row.ids.tolist() == [i for _, i in sorted(zip(near, ids, strict=True)) if _ <= radius]

    @rule()
    def search_payload(self):
        if self.rows:
            value = next(iter(self.rows.values()))[1]
            found = self.index.search(self.codes(1), 1000, where={"first": value})
            assert sorted(found.ids[0].tolist()) == sorted(
                i for i, row in self.rows.items() if row[1] == value
            )

    @invariant()
    def sizes_agree(self):
        assert len(self.index) == len(self.rows)
        assert self.index.ids.tolist() == sorted(self.rows)
        assert self.index.ids.dtype.kind in "iT"
        assert self.index.stats().n_segments <= 2 + np.log2(1 + len(self.rows))


Changes.TestCase.settings = settings(max_examples=40, stateful_step_count=15)
test_changes = Changes.TestCase


@pytest.mark.slow
def test_many_changes():
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Changes, settings=settings(max_examples=2000, stateful_step_count=30, deadline=None)
    )


def test_one_by_one_equals_all_at_once():
    rng = np.random.default_rng(0)
    packed = random_codes(rng, 300, 64, 20, 0.05)
    index = HammingIndex(64)
    for row in packed:
        index.add(row[None])
    at_once = HammingIndex.from_codes(packed)
    np.testing.assert_array_equal(index.search(packed, 50).ids, at_once.search(packed, 50).ids)
    assert index.stats().n_segments < 10


def test_refusals_change_nothing():
    index = HammingIndex.from_codes(np.zeros((3, 1), np.uint8), payload={"a": [1, 2, 3]})
    one, two = np.zeros((1, 1), np.uint8), np.zeros((2, 1), np.uint8)
    for attempt in (
        lambda: index.add(one, [1], {"a": [1]}),
        lambda: index.add(two, [7, 7], {"a": [1, 2]}),
        lambda: index.upsert(two, [7, 7], {"a": [1, 2]}),
        lambda: index.add(one, ["x"], {"a": [1]}),
        lambda: index.add(one, [1.5], {"a": [1]}),
        lambda: index.add(one, [7, 8], {"a": [1]}),
        lambda: index.add(one, [7]),
        lambda: index.add(one, [7], {"b": [1]}),
        lambda: index.add(one, [7], {"a": ["text"]}),
        lambda: index.add(one, [2**63], {"a": [1]}),
        lambda: index.add(one, [[7]], {"a": [1]}),
        lambda: index.remove([0, 9]),
        lambda: index.remove(["x"]),
        lambda: index.remove([1, 1]),
    ):
        with pytest.raises(InvalidInput):
            attempt()
        assert index.ids.tolist() == [0, 1, 2]
    strings = HammingIndex.from_codes(two, ids=["b", "a"])
    with pytest.raises(InvalidInput):
        strings.add(one)
    with pytest.raises(InvalidInput):
        HammingIndex.from_codes(one, ids=["\ud800"])


def test_numbers_are_not_used_again():
    index = HammingIndex.from_codes(np.zeros((3, 1), np.uint8))
    index.remove([2])
    assert index.add(np.zeros((1, 1), np.uint8)).tolist() == [3]
    index.remove([0, 1, 3])
    assert len(index) == 0
    assert index.add(np.zeros((1, 1), np.uint8), ["now strings"]).tolist() == ["now strings"]


def test_strings_of_every_kind_keep_their_order():
    ids = ["", "a", "a\0", "a\0b", "é", "\U0001f600", "z" * 300, "10", "9"]
    index = HammingIndex.from_codes(np.zeros((len(ids), 1), np.uint8), ids=ids)
    assert index.search(np.zeros((1, 1), np.uint8), 99).ids[0].tolist() == sorted(ids)


def test_an_index_with_string_ids_can_be_copied_deeply():
    """NumPy before 2.2.5 ends the process here."""
    ids = [f"a rather long id {k}" for k in range(50)]
    index = HammingIndex.from_codes(np.arange(50, dtype=np.uint8)[:, None], ids=ids)
    other = copy.deepcopy(index)
    index.remove(ids[:49])
    assert other.ids.tolist() == sorted(ids)
    assert other.search(np.zeros((1, 1), np.uint8), 1).ids.tolist() == [[ids[0]]]
