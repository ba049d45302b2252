"""Blocks of rows: order, bounded work, and the same numbers on any number of threads."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash._internal import blocks
from kinhash._internal.blocks import ENCODE_ROWS, keep_threads, map_padded_rows, map_rows
from kinhash.errors import NotEnoughMemory
from kinhash.plugins import block_slices, map_blocks, n_threads, require_memory


@given(n=st.integers(0, 100), rows=st.integers(1, 30))
def test_slices_cover_every_row_once(n, rows):
    parts = block_slices(n, rows)
    assert [i for part in parts for i in range(n)[part]] == list(range(n))
    assert all(part.stop - part.start == rows for part in parts[:-1])


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_results_come_in_block_order(n_jobs):
    def slow_first(block):
        time.sleep(0.02 if block == 0 else 0)
        return block * 10

    assert list(map_blocks(slow_first, range(7), n_jobs)) == [0, 10, 20, 30, 40, 50, 60]


@pytest.mark.parametrize("blocks", [[], [7]])
def test_a_block_alone_starts_no_thread(blocks, monkeypatch):
    monkeypatch.setattr("kinhash._internal.blocks.ThreadPoolExecutor", None)
    assert list(map_blocks(lambda block: block + 1, blocks, 2)) == [block + 1 for block in blocks]


def test_few_blocks_are_under_way_at_once():
    alive, peak, lock = 0, 0, threading.Lock()

    def blocks():
        nonlocal alive, peak
        for i in range(40):
            with lock:
                alive += 1
                peak = max(peak, alive)
            yield i

    for _ in map_blocks(lambda block: block, blocks(), 2):
        with lock:
            alive -= 1
    assert peak <= 2 * 2 + 1


def test_an_error_in_a_block_reaches_the_caller():
    def fail(block):
        raise KeyError(block)

    for n_jobs in (1, 2):
        with pytest.raises(KeyError):
            list(map_blocks(fail, range(5), n_jobs))


def test_threads_are_kept_while_asked_to():
    def names(n_jobs):
        return set(map_blocks(lambda _: threading.current_thread().name, range(30), n_jobs))

    with keep_threads(2):
        first = names(2)
        with keep_threads(3):  # the outer ones stay
            assert len(first | names(2)) <= 2
        assert len(first | names(2)) <= 2
        assert not names(3) & first  # another number asks for its own
    assert not names(2) & first


def test_blocks_under_way_are_waited_for_after_an_error():
    done = []

    def work(block):
        if block == 0:
            raise KeyError(block)
        time.sleep(0.05)
        done.append(block)

    with keep_threads(2):
        with pytest.raises(KeyError):
            list(map_blocks(work, range(9), 2))
        before = len(done)
        time.sleep(0.15)
        assert len(done) == before


def test_blocks_within_a_block_stay_in_its_thread():
    def names(_):
        own = threading.current_thread().name
        return own, set(map_blocks(lambda _: threading.current_thread().name, range(5), 2))

    assert all(inside == {own} for own, inside in map_blocks(names, range(6), 2))
    with keep_threads(2):
        assert all(inside == {own} for own, inside in map_blocks(names, range(6), 2))


def test_work_of_a_kept_thread_may_be_cut_into_blocks_too():
    def sums(block):
        return sum(map_blocks(lambda i: i + block, range(5), 2))

    def in_between():
        for block in map_blocks(lambda block: block, range(4), 2):
            yield from map_blocks(lambda i, block=block: 10 * block + i, range(3), 2)

    with keep_threads(2):
        assert list(map_blocks(sums, range(6), 2)) == [10 + 5 * block for block in range(6)]
        assert list(in_between()) == [10 * block + i for block in range(4) for i in range(3)]


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 700])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_are_handed_over_in_blocks_and_stacked_in_order(n, n_jobs):
    X = np.arange(n * 3, dtype=np.float64).reshape(n, 3)
    shapes = []

    def double(block):
        shapes.append(block.shape)
        return 2 * block

    out = map_rows(double, lambda rows: X[rows], n, n_jobs)
    assert sum(rows for rows, _ in shapes) == n
    assert max(rows for rows, _ in shapes) <= ENCODE_ROWS
    assert np.array_equal(out, 2 * X)
    shapes.clear()
    assert np.array_equal(map_padded_rows(double, lambda rows: X[rows], n, n_jobs), 2 * X)
    assert set(shapes) == {(ENCODE_ROWS, 3)}


def test_threads_are_counted_as_scikit_learn_counts(monkeypatch):
    monkeypatch.setattr(blocks.os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [n_threads(n) for n in (None, 1, 3, -1, -2, -9)] == [4, 1, 3, 4, 3, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert n_threads(None) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert n_threads(None) == 4


def test_work_that_would_not_fit_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr(blocks, "available_memory", lambda: 10**9)
    require_memory(10**9, "This", "do that")
    with pytest.raises(NotEnoughMemory, match=r"This needs about 3\.0 GB, and 1\.0 GB are free\. Use less\."):
        require_memory(3 * 10**9, "This", "Use less")
