"""Packed bits: round trips, padding, and codes that must not meet."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kinhash import EMKSH, HammingIndex
from kinhash.codes import Codes, as_codes, n_bytes, pack_bits, to_words, unpack_bits
from kinhash.errors import CodesMismatch, InvalidInput

bit_rows = st.tuples(st.integers(0, 6), st.integers(1, 70)).flatmap(
    lambda shape: hnp.arrays(np.uint8, shape, elements=st.integers(0, 1))
)


@given(bits=bit_rows)
def test_bits_survive_packing(bits):
    packed = pack_bits(bits)
    assert packed.shape == (len(bits), n_bytes(bits.shape[1]))
    assert np.array_equal(unpack_bits(packed, bits.shape[1]), bits)
    codes = Codes.from_bits(bits)
    assert np.array_equal(codes.bits(), bits)
    assert codes.n_bits == bits.shape[1]


@given(bits=bit_rows.filter(lambda b: len(b) > 1))
def test_words_count_the_same_differences_as_bits(bits):
    words = to_words(pack_bits(bits))
    counted = np.bitwise_count(words[0] ^ words[1]).sum()
    assert counted == (bits[0] != bits[1]).sum()


def test_the_first_bit_is_the_most_significant():
    assert pack_bits([[1, 0, 0, 0, 0, 0, 0, 0, 1]]).tolist() == [[128, 128]]


def test_words_of_a_slice_do_not_read_its_neighbors():
    packed = np.arange(160, dtype=np.uint8).reshape(10, 16)
    assert np.array_equal(to_words(packed[:, :8]), to_words(packed[:, :8].copy()))
    assert np.array_equal(to_words(packed[::2]), to_words(packed)[::2])


def test_ones_in_the_padding_are_refused():
    with pytest.raises(InvalidInput, match="5 padding bits"):
        Codes(np.array([[0b10100001]], np.uint8), n_bits=3)


@pytest.mark.parametrize(
    ("packed", "n_bits", "error"),
    [
        (np.zeros((2, 2), np.uint8), 8, CodesMismatch),
        (np.zeros((2, 1), np.int64), 8, CodesMismatch),
        (np.zeros(2, np.uint8), 8, CodesMismatch),
        (np.zeros((2, 1), np.uint8), 0, InvalidInput),
        (np.zeros((2, 129), np.uint8), 1032, InvalidInput),
    ],
)
def test_codes_of_another_shape_are_refused(packed, n_bits, error):
    with pytest.raises(error):
        Codes(packed, n_bits)


def test_ids_travel_with_their_rows():
    codes = Codes(np.arange(4, dtype=np.uint8)[:, None], 8, ids=np.array([10, 20, 30, 40]), model_id="m")
    part = codes[[2, 0]]
    assert part.ids.tolist() == [30, 10]
    assert part.packed.tolist() == [[2], [0]]
    assert part.model_id == "m"
    assert len(codes[1]) == 1
    assert codes[1].ids.tolist() == [20]
    with pytest.raises(InvalidInput, match="3 ids came with 4 codes"):
        Codes(codes.packed, 8, ids=np.arange(3))


def test_codes_of_another_length_or_model_do_not_meet():
    one, other = (Codes(np.zeros((1, 1), np.uint8), 8, model_id=name * 32) for name in "ab")
    one.require_same_kind(one)
    one.require_same_kind(Codes(np.zeros((1, 1), np.uint8), 8))  # plain arrays carry no id
    with pytest.raises(CodesMismatch, match="one model"):
        one.require_same_kind(other)
    with pytest.raises(CodesMismatch, match="7 bits"):
        one.require_same_kind(Codes(np.zeros((1, 1), np.uint8), 7))


def test_plain_arrays_are_taken_as_whole_bytes():
    packed = np.zeros((3, 2), np.uint8)
    assert as_codes(packed).n_bits == 16
    assert as_codes(packed, 11).n_bits == 11
    assert as_codes(as_codes(packed)) is not None
    with pytest.raises(CodesMismatch, match="not 8"):
        as_codes(as_codes(packed), 8)
    with pytest.raises(InvalidInput, match="packed rows"):
        as_codes(np.zeros((3, 2)))
    with pytest.raises(InvalidInput, match="packed rows"):
        as_codes([1, 2, 3])


def test_the_name_of_the_value_says_what_it_is():
    assert repr(Codes(np.zeros((3, 1), np.uint8), 5, model_id="0123456789")) == (
        "Codes(3 rows of 5 bits, model 01234567)"
    )


@pytest.mark.parametrize("n_bits", [8.0, 7.5, True, "8", None, 0, 1025])
def test_a_number_of_bits_that_is_no_whole_number_is_refused(n_bits):
    """Every door says the same; a length of 7.5 bits is not cut to 7."""
    packed, said = np.zeros((2, 1), np.uint8), "n_bits is .*an integer from 1 to 1024"
    doors = [lambda: Codes(packed, n_bits), lambda: HammingIndex(n_bits), lambda: EMKSH(n_bits).fit(X, y)]
    if n_bits is not None:
        doors.append(lambda: as_codes(packed, n_bits))
    X, y = np.eye(4), [0, 0, 1, 1]
    for door in doors:
        with pytest.raises(InvalidInput, match=said):
            door()


def test_the_mark_of_learned_codes_survives_a_file(tmp_path):
    from dataclasses import replace

    from kinhash.codes.codes_file import load_codes, save_codes
    from kinhash.codes.container import read_container, write_container
    from kinhash.errors import DamagedFile

    codes = Codes(np.array([[128], [0]], np.uint8), 3)
    for learned in (False, True):
        save_codes(replace(codes, learned=learned), tmp_path / "c.kin")
        assert load_codes(tmp_path / "c.kin").learned is learned
        assert load_codes(tmp_path / "c.kin")[:1].learned is learned
    arrays, header = read_container(tmp_path / "c.kin", kind="codes")
    write_container(tmp_path / "c.kin", dict(arrays), {**header, "learned": "yes"}, "codes")
    with pytest.raises(DamagedFile, match="learned"):
        load_codes(tmp_path / "c.kin")
