"""One thread pool for all searches. Kernels release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .._internal.blocks import n_threads

__all__ = ["map_queries", "map_threads"]

TASK = 100  # queries of one task; also what the kernel takes at a time
WORTH_A_THREAD = 4_000_000  # word comparisons, about half a millisecond

T = TypeVar("T")
S = TypeVar("S")

_pools: dict[int, ThreadPoolExecutor] = {}


def map_threads(function: Callable[[S], T], tasks: Iterable[S]) -> list[T]:
    """Results of all tasks, in their order, from all threads we may use."""
    tasks = list(tasks)
    threads = n_threads()
    if threads == 1 or len(tasks) < 2:
        return [function(task) for task in tasks]
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="kinhash")
    return list(_pools[threads].map(function, tasks))


def map_queries(function: Callable[[slice], T], n_queries: int, words: int) -> list[T]:
    """Results for parts of the queries, on all threads if there are enough ``words`` to compare with each."""
    if n_queries == 1:
        return [function(slice(0, 1))]
    size = TASK
    if n_queries * words > WORTH_A_THREAD:  # a part for every thread, in fours as kernels take queries
        size = min(TASK, -(-n_queries // (4 * n_threads())) * 4)
    parts = [slice(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]
    return map_threads(function, parts)


if hasattr(os, "register_at_fork"):  # threads do not survive a fork; the child starts its own
    os.register_at_fork(after_in_child=_pools.clear)
