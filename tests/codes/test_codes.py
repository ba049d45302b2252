"""Packed bits, the forms they come in, the file of codes, and the forms of arrays in files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kinhash import Codes, HammingIndex, load_codes, pack_bits, save_codes, unpack_bits
from kinhash._internal.container import POSITIVE, check_forms, read_container, write_container
from kinhash.codes import MAX_BITS, as_codes, n_bytes, to_words, word_distances
from kinhash.errors import CodesMismatch, DamagedFile, InvalidInput
from kinhash.plugins import Form

bit_rows = st.tuples(st.integers(0, 6), st.integers(1, 150)).flatmap(
    lambda shape: hnp.arrays(np.uint8, shape, elements=st.integers(0, 1))
)


@given(bits=bit_rows)
def test_bits_survive_packing_and_words_count_their_differences(bits):
    packed, d = pack_bits(bits), bits.shape[1]
    assert packed.shape == (len(bits), n_bytes(d))
    assert np.array_equal(unpack_bits(packed, d), bits)
    codes = Codes.from_bits(bits)
    assert np.array_equal(codes.bits(), bits)
    assert codes.n_bits == d
    brute = (bits[:, None] != bits[None]).sum(axis=2)
    assert np.array_equal(word_distances(codes.words(), codes.words()), brute)
    if len(bits):
        assert np.array_equal(codes.distances(codes[[0] * len(bits)]), brute[0])


def test_the_first_bit_is_the_most_significant():
    assert pack_bits([[1, 0, 0, 0, 0, 0, 0, 0, 1]]).tolist() == [[128, 128]]


def test_words_of_a_slice_do_not_read_its_neighbors():
    packed = np.arange(160, dtype=np.uint8).reshape(10, 16)
    assert np.array_equal(to_words(packed[:, :8]), to_words(packed[:, :8].copy()))
    assert np.array_equal(to_words(packed[::2]), to_words(packed)[::2])


@pytest.mark.parametrize(
    ("packed", "n_bits", "error"),
    [
        (np.zeros((2, 2), np.uint8), 8, CodesMismatch),
        (np.zeros((2, 1), np.int64), 8, CodesMismatch),
        (np.zeros(2, np.uint8), 8, CodesMismatch),
        (np.zeros((2, 1), np.uint8), 0, InvalidInput),
        (np.zeros((2, 2049), np.uint8), MAX_BITS + 8, InvalidInput),
        (np.array([[0b10100001]], np.uint8), 3, InvalidInput),  # ones in the padding
    ],
)
def test_codes_of_another_shape_are_refused(packed, n_bits, error):
    with pytest.raises(error):
        Codes(packed, n_bits)


@pytest.mark.parametrize("n_bits", [8.0, 7.5, True, "8", None, 0, MAX_BITS + 1])
def test_a_number_of_bits_that_is_no_whole_number_is_refused(n_bits):
    packed = np.zeros((2, 1), np.uint8)
    for door in (lambda: Codes(packed, n_bits), lambda: HammingIndex(n_bits)):
        with pytest.raises(InvalidInput, match=r"n_bits is .*an integer from 1 to 16384"):
            door()


def test_ids_and_learned_travel_with_their_rows():
    packed = np.arange(4, dtype=np.uint8)[:, None]
    learned = np.array([True, False, False, True])
    codes = Codes(packed, 8, ids=np.array([10, 20, 30, 40]), model_id="m", learned=learned)
    part = codes[[2, 0]]
    assert (part.ids.tolist(), part.packed.tolist(), part.model_id) == ([30, 10], [[2], [0]], "m")
    assert part.learned.tolist() == [False, True]
    assert codes[1].ids.tolist() == [20]
    assert codes[1].learned is False
    assert codes[learned].learned is True  # rows that are all alike are one bool
    assert codes[learned].learned_rows().tolist() == [True, True]
    with pytest.raises(InvalidInput, match="3 ids came with 4 codes"):
        Codes(packed, 8, ids=np.arange(3))
    for odd in ("yes", 1, learned[:3], learned.astype(int)):
        with pytest.raises(InvalidInput, match="learned"):
            Codes(packed, 8, learned=odd)


def test_codes_of_another_length_or_model_do_not_meet():
    one, other = (Codes(np.zeros((1, 1), np.uint8), 8, model_id=name * 32) for name in "ab")
    one.require_same_kind(Codes(np.zeros((1, 1), np.uint8), 8))  # plain arrays carry no id
    with pytest.raises(CodesMismatch, match="one model"):
        one.distances(other)
    with pytest.raises(CodesMismatch, match="7 bits"):
        one.distances(Codes(np.zeros((1, 1), np.uint8), 7))
    with pytest.raises(InvalidInput, match="row by row"):
        Codes(np.zeros((2, 1), np.uint8), 8).distances(Codes(np.zeros((3, 1), np.uint8), 8))


def test_codes_are_taken_in_every_form_people_hold_them_in():
    """The int8 form is sentence-transformers' ``binary``: np.packbits(...) - 128."""
    packed = np.random.default_rng(0).integers(0, 256, (5, 3), dtype=np.uint8)
    texts = [row.tobytes().hex() for row in packed]
    binary = (packed.astype(np.int16) - 128).astype(np.int8)
    for form in (packed, packed.tolist(), texts, np.array(texts), np.array(texts, object), binary):
        form = np.array(form, np.uint8) if isinstance(form[0], list) else form
        found = as_codes(form)
        assert found.n_bits == 24
        assert np.array_equal(found.packed, packed)
    assert as_codes(np.zeros((3, 2), np.uint8), 11).n_bits == 11
    with pytest.raises(CodesMismatch, match="not 8"):
        as_codes(as_codes(packed), 8)


@pytest.mark.parametrize(
    "odd",
    [
        np.zeros((3, 2)),
        [1, 2, 3],
        [],
        ["00ff", "00"],
        ["00f", "00f"],
        ["zz"],
        ["00 ff", "00ff0"],
        [""],
        np.eye(4, dtype=np.int8),  # a 0/1 matrix is not packed
    ],
)
def test_anything_else_is_refused(odd):
    with pytest.raises(InvalidInput):
        as_codes(odd)


@pytest.mark.parametrize("learned", [True, False, [True, False]])
@pytest.mark.parametrize("ids", [None, [7, -3], ["a", "b\0"]])
@pytest.mark.parametrize("mmap", [True, False])
def test_a_file_gives_back_what_was_saved(tmp_path, learned, ids, mmap):
    learned = np.array(learned) if isinstance(learned, list) else learned
    ids = None if ids is None else np.array(ids, object if isinstance(ids[0], str) else int)
    codes = Codes(np.array([[128], [0]], np.uint8), 3, ids, "model", learned)
    save_codes(codes, tmp_path / "c.kin")
    found = load_codes(tmp_path / "c.kin", mmap=mmap)
    assert np.array_equal(found.packed, codes.packed)
    assert (found.n_bits, found.model_id) == (3, "model")
    assert found.learned_rows().tolist() == codes.learned_rows().tolist()
    assert (found.ids is None) == (ids is None)
    assert ids is None or found.ids.tolist() == ids.tolist()


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({"learned": "yes"}, {}),
        ({"learned": 1}, {}),
        ({"n_bits": True}, {}),
        ({"n_bits": 12}, {}),
        ({"n_bits": MAX_BITS + 1}, {}),
        ({"model_id": 3}, {}),
        ({"more": 1}, {}),
        ({}, {"learned": np.array([True])}),
        ({}, {"ids": np.arange(3)}),
        ({}, {"id_text": np.zeros(3, np.uint8), "id_ends": np.array([1, 9])}),
        ({}, {"more": np.arange(2)}),
    ],
)
def test_a_file_of_nonsense_is_refused(tmp_path, header, arrays):
    save_codes(Codes(np.array([[128], [0]], np.uint8), 3), tmp_path / "c.kin")
    found, facts = read_container(tmp_path / "c.kin", kind="codes")
    write_container(tmp_path / "c.kin", {**found, **arrays}, {**facts, **header}, "codes")
    with pytest.raises(DamagedFile):
        load_codes(tmp_path / "c.kin")


def test_ids_beyond_64_bits_are_refused_before_writing(tmp_path):
    with pytest.raises(InvalidInput, match="as strings"):
        save_codes(Codes(np.zeros((1, 1), np.uint8), 8, ids=np.array([2**63], np.uint64)), tmp_path / "c")


# ---- forms of arrays -------------------------------------------------------------------------

FORMS = {
    "weights": Form("f4", "qd"),
    "intercept": Form("f4", "d"),
    "scale": Form("f8", "q", low=POSITIVE),
    "count": Form("i8", "1", 1, 32),
    "nodes": Form("i4", "N", low=0),
    "places": Form("u1", "N"),
    "word": Form("u1", "*", high=127),
}


def sound() -> dict[str, Any]:
    return {
        "weights": np.ones((3, 2), np.float32),
        "intercept": np.zeros(2, np.float32),
        "scale": np.full(3, 5e-324),
        "count": np.array([32]),
        "nodes": np.zeros(0, np.int32),
        "places": np.zeros(0, np.uint8),
        "word": np.frombuffer(b"row", np.uint8),
    }


def test_letters_stand_for_lengths() -> None:
    assert check_forms(sound(), FORMS) == {"q": 3, "d": 2, "N": 0}


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("weights", np.ones((3, 2))),  # another type
        ("weights", np.ones((3, 2), ">f2")),
        ("weights", np.ones(6, np.float32)),  # another number of axes
        ("weights", np.ones((3, 2, 1), np.float32)),
        ("scale", np.ones(4)),  # another length than elsewhere
        ("intercept", np.zeros((1,), np.float32)),  # which would broadcast
        ("count", np.array([1, 1])),
        ("places", np.zeros(1, np.uint8)),
        ("weights", np.full((3, 2), np.nan, np.float32)),  # out of range
        ("intercept", np.array([0, -np.inf], np.float32)),
        ("scale", np.array([1.0, 0.0, 1.0])),
        ("count", np.array([2**62])),
        ("word", np.array([200], np.uint8)),
        ("more", np.zeros(1)),  # unknown
        *((name, None) for name in FORMS),  # missing
    ],
)
def test_an_array_of_another_form_is_refused(name: str, array: Any) -> None:
    arrays = {key: value for key, value in {**sound(), name: array}.items() if value is not None}
    with pytest.raises(ValueError, match=name):
        check_forms(arrays, FORMS)


def test_small_letters_are_at_least_one_and_d_at_most_the_longest_code() -> None:
    one = {"intercept": FORMS["intercept"]}
    check_forms({"intercept": np.zeros(MAX_BITS, np.float32)}, one)
    for length in (0, MAX_BITS + 1):
        with pytest.raises(ValueError, match=r"bits|intercept"):
            check_forms({"intercept": np.zeros(length, np.float32)}, one)
