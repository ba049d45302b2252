"""Engines that order by distance alone: whatever they do with ties, the smallest ids win."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.engines.base import with_ties
from kinhash.errors import InvalidInput


@given(
    distances=st.lists(st.integers(0, 6), min_size=1, max_size=400),
    k=st.integers(1, 400),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_smallest_ids_win_in_any_order_of_ties(distances: list[int], k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, k = np.array(distances, np.float32), min(k, len(distances))
    ids = rng.permutation(len(count)) - 50
    whim = rng.random(len(count))  # the engine's own order among ties
    order = np.lexsort((whim, count))
    asked: list[int] = []

    def fetch(wanted: int) -> tuple[np.ndarray, np.ndarray]:
        asked.append(wanted)
        return ids[order[:wanted]], count[order[:wanted]]

    found, near = with_ties(fetch, k, len(count))
    best = np.lexsort((ids, count))[:k]
    assert found.tolist() == ids[best].tolist()
    assert near.tolist() == count[best].tolist()
    assert max(asked) <= len(count)


def test_an_engine_with_a_largest_answer_is_not_asked_for_more() -> None:
    """All rows tied: the choice is the engine's beyond its limit, the distances are right."""
    asked: list[int] = []

    def fetch(wanted: int) -> tuple[np.ndarray, np.ndarray]:
        asked.append(wanted)
        return np.arange(1000, 1000 - wanted, -1), np.zeros(wanted)

    ids, distances = with_ties(fetch, 3, 1000, most=200)
    assert max(asked) == 200
    assert ids.tolist() == [801, 802, 803]
    assert distances.tolist() == [0, 0, 0]


def test_more_neighbors_than_an_engine_gives_are_refused() -> None:
    with pytest.raises(InvalidInput, match="300 neighbors"):
        with_ties(lambda wanted: (np.arange(wanted), np.zeros(wanted)), 300, 1000, most=200)
