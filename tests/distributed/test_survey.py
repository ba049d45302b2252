"""Surveys of labels: the same as one look at all rows, however the rows were cut and merged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.distributed.survey import RARE, Survey, choose_rows, spread_rows, survey_block
from kinhash.distributed.tree import merge_in_order
from kinhash.supervision import from_labels, read_labels


def survey(blocks, most=1000, seed=3):
    parts = [survey_block(number, y, most=most, seed=seed) for number, y in enumerate(blocks)]
    return merge_in_order(parts, Survey.merge)


@given(n=st.integers(1, 70))
def test_the_tree_joins_neighbors_and_never_depends_on_when(n):
    """Level by level, as drawn on paper."""

    def pair(a, b):
        return f"({a}{b})"

    names = [f"{i}," for i in range(n)]
    level = names
    while len(level) > 1:
        level = [pair(*level[i : i + 2]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    assert merge_in_order(iter(names), pair) == level[0]


def test_nothing_cannot_be_merged():
    with pytest.raises(ValueError, match="nothing to merge"):
        merge_in_order([], lambda a, b: a)


@given(
    rows=st.lists(st.one_of(st.none(), st.sampled_from("abcdef")), min_size=1, max_size=60),
    size=st.integers(1, 20),
)
def test_kinds_and_counts_are_those_of_all_rows(rows, size):
    found = survey([rows[i : i + size] for i in range(0, len(rows), size)])
    known = [label for label in rows if label is not None]
    assert found.n_rows == len(rows)
    assert found.n_known == len(known) == sum(found.known)
    kinds = list(dict.fromkeys(known))  # in order of first appearance
    assert found.kinds is not None
    assert [found.kinds.names[c] for c in found.kinds.classes] == kinds
    assert found.counts.tolist() == [known.count(kind) for kind in kinds]
    assert {name: count for name, (count, _) in found.seen.items()} == {k: known.count(k) for k in kinds}


def test_tag_sets_are_counted_as_sets():
    rows = [{"a", "b"}, {"b"}, set(), {"b", "a"}, None, set()]
    found = survey([rows[:2], rows[2:5], rows[5:]])
    assert found.counts.tolist() == [2, 1, 2]
    assert {name: count for name, (count, _) in found.seen.items()} == {"a": 2, "b": 3}


def test_many_kinds_are_not_kept_but_a_fair_draw_of_labels_is():
    y = np.arange(400) % 40
    blocks = [y[:100], y[100:150], y[150:]]
    found = survey(blocks, most=30)
    assert found.kinds is None
    assert len(found.drawn) == 30
    lots = np.concatenate([np.random.default_rng([3, b]).random(len(part)) for b, part in enumerate(blocks)])
    names = found.drawn.names[found.drawn.classes]
    assert names.tolist() == y[np.sort(np.argsort(lots)[:30])].tolist()


def test_up_to_the_limit_all_known_rows_are_chosen():
    blocks = [[1, None, 2], [None], [3, 3]]
    found = choose_rows(survey(blocks), 4, np.random.default_rng(0))
    assert {b: places.tolist() for b, places in found.items()} == {0: [0, 1], 2: [0, 1]}


@given(seed=st.integers(0, 50), most=st.integers(20, 150))
def test_beyond_the_limit_the_draw_is_fair_and_no_name_is_lost(seed, most):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(400) < 0.01, 99, rng.integers(0, 3, 400))
    blocks = np.split(y, np.sort(rng.integers(0, 400, 5)))
    found = survey(blocks)
    wanted = choose_rows(found, most, np.random.default_rng(seed))
    assert all((np.diff(places) > 0).all() and places.max() < len(blocks[b]) for b, places in wanted.items())
    rows = np.concatenate([blocks[b][wanted[b]] for b in sorted(wanted)])
    assert most <= len(rows) <= most + RARE
    assert set(rows) == set(y)


def test_the_draw_comes_from_every_block_in_proportion():
    found = survey([np.arange(n) % 5 for n in (2000, 0, 6000, 2000)])
    wanted = choose_rows(found, 1000, np.random.default_rng(0))
    shares = [len(wanted.get(b, [])) / 1000 for b in range(4)]
    np.testing.assert_allclose(shares, [0.2, 0, 0.6, 0.2], atol=0.05)


def test_spread_rows_touch_few_blocks():
    found = survey([np.arange(50) % 3 for _ in range(100)])
    wanted = spread_rows(found, 200)
    assert len(wanted) == 16
    assert min(wanted) == 0
    assert max(wanted) == 99
    assert 200 <= sum(map(len, wanted.values())) <= 220


def test_labels_of_kinds_give_the_sample_of_all_rows():
    """Codes learned from kinds and counts are those learned from all rows: same entries, same order."""
    from kinhash.solvers.sample import draw_sample

    y = np.array([5, 3, 5, 5, 9, 3, 1])
    found = survey([y[:2], y[2:]])
    rng = np.random.default_rng(0)
    whole = draw_sample(from_labels(read_labels(y)), 10, rng)
    parts = draw_sample(from_labels(found.kinds), 10, rng, row_weights=found.counts)
    assert whole.groups.tolist() == parts.groups.tolist()
    assert whole.weights.tolist() == parts.weights.tolist()
