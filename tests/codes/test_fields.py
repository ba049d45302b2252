"""Codes with two fields: their distances, their files, and what was written before there were fields."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash import BitLayout, Codes, load, metrics, save_codes
from kinhash.codes import as_codes
from kinhash.errors import CodesMismatch, InvalidInput


@st.composite
def two_sides(draw):
    """Two arrays of bits, and fields that fit them."""
    n_bits = draw(st.integers(1, 140))
    fields = BitLayout(
        draw(st.integers(0, n_bits)), *(draw(st.sampled_from([1, 2, 3, 4, 7, 15])) for _ in range(2))
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    left, right = rng.integers(0, 2, (2, draw(st.integers(0, 5)), n_bits))
    return left, right, fields


@given(two_sides())
def test_a_distance_is_the_weighted_sum_of_differing_bits(case):
    left, right, fields = case
    n_kin = left.shape[1] - fields.alike
    differing = left != right
    expected = fields.kin_weight * differing[:, :n_kin].sum(axis=1)
    expected = expected + fields.alike_weight * differing[:, n_kin:].sum(axis=1)
    mine, theirs = (Codes.from_bits(bits, fields=fields) for bits in (left, right))
    assert mine.distances(theirs).tolist() == expected.tolist()
    assert mine.max_distance == fields.weights(left.shape[1]).sum()
    assert mine.distances(Codes.from_bits(1 - left, fields=fields)).tolist() == [mine.max_distance] * len(
        left
    )


@pytest.mark.parametrize(
    "facts", [{"alike": -1}, {"kin_weight": 0}, {"kin_weight": 16}, {"alike_weight": 1.5}]
)
def test_senseless_fields_are_refused(facts):
    with pytest.raises(InvalidInput):
        BitLayout(**facts)


def test_more_alike_bits_than_bits_are_refused():
    with pytest.raises(InvalidInput, match="9 alike bits"):
        Codes.from_bits(np.zeros((2, 8)), fields=BitLayout(alike=9))


def test_codes_of_other_fields_do_not_meet():
    weighted = Codes.from_bits(np.eye(8), fields=BitLayout(4, 4))
    with pytest.raises(CodesMismatch, match="bits count alike"):
        weighted.distances(as_codes(weighted.packed))
    with pytest.raises(CodesMismatch):
        metrics.mean_average_precision(weighted, as_codes(weighted.packed), [0, 1] * 4, [0, 1] * 4)


def test_metrics_rank_by_the_weighted_distance():
    rng = np.random.default_rng(0)
    fields = BitLayout(alike=9, kin_weight=4)
    queries, database = (Codes.from_bits(rng.integers(0, 2, (n, 16)), fields=fields) for n in (12, 60))
    mine, theirs = rng.integers(0, 3, 12), rng.integers(0, 3, 60)
    scores = -np.stack([database.distances(queries[[i] * 60]) for i in range(12)]).astype(float)
    expected = metrics.average_precision_from_scores(scores, mine, theirs)
    found = metrics.average_precision(queries, database, mine, theirs)
    assert np.allclose(found, expected)
    assert not np.allclose(
        found, metrics.average_precision(as_codes(queries.packed), as_codes(database.packed), mine, theirs)
    )
    within = metrics.precision_recall_curve(queries, database, mine, theirs)
    assert len(within.radius) == 7 * 4 + 9 + 1
    assert within.rows[5] == (-scores <= 5).sum(axis=1).mean()


def test_fields_survive_selection_and_files(tmp_path):
    codes = Codes.from_bits(np.eye(16), ids=np.arange(16), fields=BitLayout(6, 3, 2))
    save_codes(codes[3:], tmp_path / "codes.kin")
    loaded = load(tmp_path / "codes.kin")
    assert loaded.fields == BitLayout(6, 3, 2)
    assert loaded.ids.tolist() == list(range(3, 16))
