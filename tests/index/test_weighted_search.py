"""Codes with fields in the index: weighted distances, against sums over unpacked bits."""

from __future__ import annotations

import pickle
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings

from kinhash import BitLayout, Codes, load
from kinhash.errors import CodesMismatch, InvalidInput
from kinhash.index import HammingIndex

from .field_cases import FIELD_CASES, check_field_case

SHARE = 300  # of the 100,000 generated cases; the rest under `make test-slow`


@settings(max_examples=SHARE)
@given(**FIELD_CASES)
def test_fields_equal_brute_force(seed, n_bits, fields, how):
    check_field_case(seed, n_bits, fields, how)


@pytest.mark.slow
@settings(max_examples=100_000)
@given(**FIELD_CASES)
def test_fields_equal_brute_force_on_all_generated_cases(seed, n_bits, fields, how):
    check_field_case(seed, n_bits, fields, how)


def codes_with(fields, n_rows=40, n_bits=20, **facts):
    bits = np.random.default_rng(0).integers(0, 2, (n_rows, n_bits))
    return Codes.from_bits(bits, fields=fields, **facts)


def test_an_index_keeps_its_fields(tmp_path):
    fields = BitLayout(8, 4, 2)
    index = HammingIndex.from_codes(codes_with(fields))
    index.save(tmp_path / "index.kin")
    for twin in (index, load(tmp_path / "index.kin"), pickle.loads(pickle.dumps(index))):
        assert twin.fields == twin.codes().fields == twin.stats().fields == fields
        found = twin.search(index.codes()[:5], 40)
        assert found.full == 12 * 4 + 8 * 2
        assert found.ids.tolist() == index.search(index.codes()[:5], 40).ids.tolist()
        assert found.scores.min() >= -1


def test_codes_with_other_fields_are_refused():
    index = HammingIndex.from_codes(codes_with(BitLayout(8, 4)))
    plain = codes_with(BitLayout())
    for refused in (
        lambda: index.search(plain, 1),
        lambda: index.search_radius(plain, 1),
        lambda: index.add(plain),
        lambda: index.upsert(plain, np.arange(40)),
    ):
        with pytest.raises(CodesMismatch, match="bits count alike"):
            refused()
    assert len(index) == 40
    weighted = codes_with(BitLayout(8, 4))
    np.testing.assert_array_equal(
        index.search(weighted.packed, 3).ids, index.search(weighted, 3).ids
    )  # bare bytes are taken as they are
    with pytest.raises(InvalidInput, match="9 alike bits"):
        HammingIndex(8, fields=BitLayout(9))


def test_groups_are_built_when_they_pay_and_kept_if_they_gain():
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (60_000, 64))
    bits[:, :24] = bits[:50, :24][rng.integers(0, 50, len(bits))]
    codes = Codes.from_bits(bits, fields=BitLayout(40, 4))
    for gain, kept in ((0, False), (np.inf, True)):
        index = HammingIndex.from_codes(codes)
        flat = index.search(codes[:3], 20)
        assert index.stats().group_bytes == 0
        with mock.patch("kinhash.index.segment.MUCH_FASTER", gain):
            index.search(codes[:1000], 20)  # so many queries pay for the groups
        assert (index.stats().group_bytes > 12 * 60_000) == kept
        np.testing.assert_array_equal(index.search(codes[:3], 20).ids, flat.ids)


def test_tables_and_scan_agree_on_weighted_radii():
    codes = codes_with(BitLayout(20, 3, 2), 3000, 40)
    index = HammingIndex.from_codes(codes)
    scanned = [index.search_radius(codes[:20], r) for r in range(0, 40, 3)]
    index.prepare_radius()
    hashing = index._state.segments[0].hashing
    hashing.tables = replace(hashing.tables, largest_radius=40)  # so that they are used at every radius
    for r, scan in zip(range(0, 40, 3), scanned, strict=True):
        probed = index.search_radius(codes[:20], r)
        np.testing.assert_array_equal(probed.ids, scan.ids)
        np.testing.assert_array_equal(probed.distances, scan.distances)
