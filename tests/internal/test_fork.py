"""A forked child works, whatever other threads of its parent were doing."""

from __future__ import annotations

import multiprocessing
import os
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from kinhash import EMKSH, HammingIndex
from kinhash._internal import blas
from kinhash._internal.blocks import keep_threads
from kinhash.index import segments
from kinhash.plugins import map_blocks, single_blas_thread

pytestmark = [
    pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]


def forked(work, n_children=1):
    """What ``work()`` gives in forked children, one after the other, up to one that hangs or dies."""
    context = multiprocessing.get_context("fork")
    answers = []
    for _ in range(n_children):
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=lambda pipe=there: pipe.send(work()), daemon=True)
        child.start()
        there.close()
        try:
            answers.append(here.recv() if here.poll(60) else "hangs")
        except EOFError:
            answers.append("died")
        child.kill()
        child.join()
        if answers[-1] in ("hangs", "died"):
            break
    return answers


@contextmanager
def meanwhile(*works):
    """Other threads do these works over and over while the context lasts."""
    stop = threading.Event()

    def over_and_over(work):
        while not stop.is_set():
            work()

    workers = [threading.Thread(target=over_and_over, args=(work,)) for work in works]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        stop.set()
        for worker in workers:
            worker.join()


def threads():
    return [library.num_threads for library in blas._libraries()]


def test_children_encode_while_other_threads_encode():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 300)
    X = rng.normal(size=(300, 20))
    hasher = EMKSH(16, random_state=0).fit(X, y)
    expected = hasher.encode(X).packed.tobytes()
    before = threads()
    with meanwhile(*[lambda: hasher.encode(X[:1])] * 4):
        answers = forked(lambda: (hasher.encode(X).packed.tobytes() == expected, threads()), 32)
    assert answers == [(True, before)] * 32
    assert threads() == before


@contextmanager
def another_thread_inside(context):
    """Another thread has entered the context and stays there."""
    inside, leave = threading.Event(), threading.Event()

    def stay():
        with context:
            inside.set()
            leave.wait(60)

    worker = threading.Thread(target=stay)
    worker.start()
    inside.wait(60)
    try:
        yield
    finally:
        leave.set()
        worker.join()


def counts_in_child():
    outside = threads()
    with single_blas_thread():
        inside = threads()
    return outside, inside, threads()


def test_a_child_does_not_inherit_the_limits_of_threads_it_has_not():
    before = threads()
    with another_thread_inside(single_blas_thread()):
        assert forked(counts_in_child) == [(before, [1] * len(before), before)]
    assert threads() == before


def test_a_child_does_not_wait_for_threads_it_has_not():
    with keep_threads(2):
        assert list(map_blocks(abs, range(9), 2)) == list(range(9))
        assert forked(lambda: list(map_blocks(abs, range(9), 2))) == [list(range(9))]


def test_a_child_keeps_the_limit_of_the_thread_that_forked():
    before, held = threads(), [1] * len(threads())
    with another_thread_inside(single_blas_thread()), single_blas_thread():
        assert forked(counts_in_child) == [(held, held, held)]
    context = single_blas_thread()
    context.__enter__()
    left = forked(lambda: (context.__exit__(None, None, None), threads())[1])
    context.__exit__(None, None, None)
    assert left == [before] == [threads()]


def test_a_child_adds_to_an_index_that_another_thread_was_adding_to():
    index = HammingIndex.from_codes(np.arange(8, dtype=np.uint8)[:, None])
    inside, leave = threading.Event(), threading.Event()

    class Slow:
        def __array__(self, dtype=None, copy=None):
            inside.set()
            leave.wait(60)
            return np.array([[9]], np.uint8)

    def child():
        return index.add(np.array([[7]], np.uint8)).tolist(), len(index)

    worker = threading.Thread(target=index.add, args=(Slow(),))
    worker.start()
    inside.wait(60)
    try:
        assert forked(child) == [([8], 9)]
    finally:
        leave.set()
        worker.join()
    assert len(index) == 9


def test_a_child_builds_the_tables_that_another_thread_was_building(monkeypatch):
    for name in ("FEW_CODES", "BUILDING", "PROBING"):
        monkeypatch.setattr(segments, name, 0)
    codes = np.random.default_rng(0).integers(0, 256, (500, 2), dtype=np.uint8)
    inside, leave, parent = threading.Event(), threading.Event(), os.getpid()
    within = int((np.bitwise_count(codes ^ codes[0]).sum(axis=1) <= 3).sum())
    index, build = HammingIndex.from_codes(codes), segments.Segment._build_tables

    def slow(segment, n_chunks):
        if os.getpid() == parent:
            inside.set()
            leave.wait(60)
        return build(segment, n_chunks)

    def search():
        return len(index.search_radius(codes[:1], 3).ids)

    assert len(HammingIndex.from_codes(codes).search_radius(codes[:1], 3).ids) == within  # compiles
    monkeypatch.setattr(segments.Segment, "_build_tables", slow)
    worker = threading.Thread(target=search)
    worker.start()
    assert inside.wait(60)
    try:
        assert forked(search) == [within]
    finally:
        leave.set()
        worker.join()
