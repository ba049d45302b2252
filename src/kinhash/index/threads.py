"""One thread pool for all searches. Kernels release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .._internal.blocks import n_threads

__all__ = ["map_threads"]

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


if hasattr(os, "register_at_fork"):  # threads do not survive a fork; the child starts its own
    os.register_at_fork(after_in_child=_pools.clear)
