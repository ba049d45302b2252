"""How bits are shared between kinship and looks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.errors import InvalidInput
from kinhash.fields import KIN_ONLY, Fields
from kinhash.labels import read_labels
from kinhash.tuning import Wish, sharing


@given(n_bits=st.integers(2, 1024), share=st.sampled_from(["auto", 0.1, 0.5, 0.95]))
def test_candidates_leave_kin_bits_and_come_with_most_alike_bits_first(n_bits, share):
    found = [one for weights in Wish(share).candidates(n_bits) for one in weights]
    assert all(0 < one.alike < n_bits for one in found)
    order = [(-one.alike, one.kin_weight) for one in found]
    assert order == sorted(order)
    assert len(set(order)) == len(order)


@given(n_bits=st.integers(1, 1024), n_classes=st.integers(2, 5000))
def test_without_measuring_classes_keep_the_bits_they_need(n_bits, n_classes):
    labels = read_labels(np.arange(n_classes))
    fields = Wish("auto").without_measuring(labels, n_bits)
    n_kin = fields.kin(n_bits)
    assert n_kin >= 1
    assert n_kin >= min(0.87 * n_bits, 2 * np.log2(n_classes) + 8) - 1
    tags = Wish("auto").without_measuring(read_labels([{1}, {2}]), n_bits)
    assert tags.kin(n_bits) == int(np.ceil(0.75 * n_bits))


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        (Wish("most"), "alike is 'most'"),
        (Wish(1.0), "alike is 1.0"),
        (Wish(-0.1), "alike is -0.1"),
        (Wish(0.5, 0), "kin_weight is 0"),
        (Wish(0.5, 16), "kin_weight is 16"),
        (Wish(0.5, "heavy"), "kin_weight is 'heavy'"),
        (Wish(0.0, 4), "alike=0"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(wish, says):
    with pytest.raises(InvalidInput, match=says):
        wish.check()


@pytest.fixture
def judged(monkeypatch):
    """Fields are judged by a formula instead of held-out rows."""

    def install(value):
        class Trial:
            @classmethod
            def of(cls, *_):
                return cls()

            def value(self, fields):
                return value(fields)

        monkeypatch.setattr(sharing, "_Trial", Trial)

    return install


class Solved:
    n_bits = 64


class Asked:
    """A training of which only the labels are looked at."""

    def __init__(self, labels):
        self.supervision = self
        self.labels = labels


def shared(wish, labels=None):
    return sharing.shared_fields(Asked(labels), None, Solved(), None, wish)


def test_tags_may_lose_less_than_classes(judged):
    judged(lambda fields: 0.9 - 0.008 * (fields.alike > 0))
    assert shared(Wish("auto"), read_labels([0, 1])).alike == 48
    assert shared(Wish("auto"), read_labels([{0}, {1}])) == Fields(8, 8)


def test_the_fewest_kin_bits_that_lose_little_are_taken(judged):
    judged(lambda fields: 0.9 if fields.kin(64) >= 30 or fields == KIN_ONLY else 0.88)
    assert shared(Wish("auto")) == Fields(34, 2)
    judged(lambda fields: 0.9 - 0.02 * (fields.kin_weight == 2 and fields.alike > 0))
    assert shared(Wish("auto")) == Fields(48, 3)  # a larger weight before more kin bits
    judged(lambda fields: 0.9 - sharing.TOLERANCE * 1.9 * (fields.alike > 0))
    assert shared(Wish("auto")) == Fields(8, 8)  # an eighth, for which twice as much may be lost
    judged(lambda fields: 0.9 - sharing.TOLERANCE * 2.1 * (fields.alike > 0))
    assert shared(Wish("auto")) == KIN_ONLY
    assert shared(Wish("auto", 1)) == KIN_ONLY


def test_a_fixed_share_takes_the_smallest_weight_that_serves(judged):
    judged(lambda fields: {2: 0.8, 3: 0.85, 4: 0.895, 6: 0.9, 8: 0.9}[fields.kin_weight])
    assert shared(Wish(0.25)) == Fields(16, 4)
