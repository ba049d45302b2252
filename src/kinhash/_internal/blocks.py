"""Rows in blocks: bounded memory, and the same numbers on any number of threads.

BLAS splits a product differently on one and on two threads, and the last digits follow. So BLAS is held
to one thread (`blas`) and we spread fixed blocks over threads ourselves, always gathering results in block
order.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from ..errors import NotEnoughMemory
from .blas import limit_worker, single_blas_thread
from .types import Array

__all__ = [
    "ENCODE_ROWS",
    "FIT_ROWS",
    "available_memory",
    "block_slices",
    "keep_threads",
    "map_blocks",
    "map_padded_rows",
    "map_rows",
    "n_threads",
    "require_memory",
    "single_blas_thread",
]

UNLIMITED = 1 << 62
ENCODE_ROWS = 256  # rows of a block to encode: large enough for BLAS, small enough to stay in the cache
FIT_ROWS = 4096  # rows of a block whose moments are summed
B = TypeVar("B")
T = TypeVar("T")


def available_memory(system: Path = Path("/")) -> int:
    """Bytes that are free for use, by the system and by our control groups; a large number where nobody says.

    ``system`` is where ``proc`` and ``sys`` are found.
    """
    return min([_free_on_machine(system), *_free_in_groups(system)])


def _free_on_machine(system: Path) -> int:
    return _table(system / "proc/meminfo").get("MemAvailable:", UNLIMITED // 1024) * 1024


def _free_in_groups(system: Path) -> Iterator[int]:
    """What the groups of this process have left, its own first, in version 2 or 1 of the kernel's files."""
    for line in _read(system / "proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers == "":
            root, limit, used, prefix = "sys/fs/cgroup", "memory.max", "memory.current", ""
        elif "memory" in controllers.split(","):
            root, limit, used, prefix = (
                "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"
            )  # fmt: skip
        else:
            continue
        for group in _upwards(system / root, path):
            most, now = _read(group / limit).strip(), _read(group / used).strip()
            if most.isdigit() and now.isdigit():  # "max": no limit; nothing: no such group in this container
                stat = _table(group / "memory.stat")
                files = stat.get(f"{prefix}inactive_file", 0) + stat.get(f"{prefix}active_file", 0)
                yield max(0, int(most) - max(0, int(now) - files))


def _upwards(root: Path, path: str) -> Iterator[Path]:
    """The folder of a group and of all above it; ".." leads to groups that this container does not show."""
    names = [name for name in path.split("/") if name not in ("", "..")]
    for depth in range(len(names), -1, -1):
        yield root.joinpath(*names[:depth])


def _table(path: Path) -> dict[str, int]:
    """Lines of a name and a number."""
    rows = (line.split() for line in _read(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


class _Kept(NamedTuple):
    """Threads that wait for work, how many, and the process they live in: a child of it has none of them."""

    pool: ThreadPoolExecutor
    threads: int
    process: int


class _OfThisThread(threading.local):
    kept: _Kept | None = None
    at_work: bool = False  # on a block of another thread's loop


_here = _OfThisThread()


def n_threads(n_jobs: int | None = None) -> int:
    """Number of threads: ``n_jobs`` as in scikit-learn; None means all cores, at most OMP_NUM_THREADS."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs)


def block_slices(n_rows: int, rows: int) -> list[slice]:
    """Cut ``n_rows`` into consecutive slices of ``rows`` (the last may be shorter)."""
    return [slice(start, min(start + rows, n_rows)) for start in range(0, n_rows, rows)]


def map_blocks(function: Callable[[B], T], blocks: Iterable[B], n_jobs: int | None = None) -> Iterator[T]:
    """Yield ``function(block)`` in block order, computed by a bounded number of threads.

    At most two blocks per thread are under way, so memory does not grow with their number. Blocks within a
    block are computed by its own thread.
    """
    threads = 1 if _here.at_work else n_threads(n_jobs)
    alone = isinstance(blocks, Sized) and len(blocks) < 2  # a block alone needs no thread of its own
    with single_blas_thread():
        if threads == 1 or alone:
            yield from map(function, blocks)
            return
        with _threads_for_blocks(threads) as pool:
            waiting: list[Future[T]] = []
            try:
                for block in blocks:
                    waiting.append(pool.submit(function, block))
                    if len(waiting) >= 2 * threads:
                        yield waiting.pop(0).result()
                while waiting:
                    yield waiting.pop(0).result()
            finally:  # an interrupt waits for running blocks only, since results are not read
                wait([task for task in waiting if not task.cancel()])


@contextmanager
def keep_threads(n_jobs: int | None = None) -> Iterator[None]:
    """Let every `map_blocks` of this thread share its threads while the context lasts.

    To start some takes half a millisecond, and a fit has a thousand passes over its rows. What `map_blocks`
    gives must be read to its end, or dropped, before the context ends.
    """
    threads, before = n_threads(n_jobs), _here.kept
    if threads == 1 or (before is not None and before.process == os.getpid()):
        yield
        return
    with single_blas_thread(), _start_threads(threads) as pool:
        _here.kept = _Kept(pool, threads, os.getpid())
        try:
            yield
        finally:
            _here.kept = before


def _threads_for_blocks(threads: int) -> AbstractContextManager[ThreadPoolExecutor]:
    kept = _here.kept
    if kept is not None and kept.threads == threads and kept.process == os.getpid():
        return nullcontext(kept.pool)
    return _start_threads(threads)


def _start_threads(threads: int) -> ThreadPoolExecutor:
    def begin() -> None:
        limit_worker()
        _here.at_work = True

    return ThreadPoolExecutor(threads, initializer=begin)


def map_rows(
    function: Callable[[Array], Array],
    read: Callable[[slice], Array],
    n_rows: int,
    n_jobs: int | None = None,
) -> Array:
    """Stack ``function`` over blocks of at most ``ENCODE_ROWS`` rows.

    ``read(slice)`` gives the rows of a slice as a dense array. Peak memory beyond the result: a few blocks
    per thread.
    """

    def one(rows: slice) -> Array:
        return function(np.ascontiguousarray(read(rows)))

    slices = block_slices(n_rows, ENCODE_ROWS) or [slice(0, 0)]
    out: Array | None = None
    for rows, result in zip(slices, map_blocks(one, slices, n_jobs), strict=True):
        if out is None:
            out = np.empty((n_rows, *result.shape[1:]), result.dtype)
        out[rows] = result
    assert out is not None
    return out


def map_padded_rows(
    function: Callable[[Array], Array],
    read: Callable[[slice], Array],
    n_rows: int,
    n_jobs: int | None = None,
) -> Array:
    """The same over blocks of exactly ``ENCODE_ROWS`` rows: zeros are added and their results dropped.

    Products of one shape mostly agree to the last digit, so scores of a row hardly depend on its batch.
    """

    def padded(block: Array) -> Array:
        zeros = np.zeros((ENCODE_ROWS - len(block), block.shape[1]), block.dtype)
        return function(np.concatenate([block, zeros]))[: len(block)]

    return map_rows(padded, read, n_rows, n_jobs)


def require_memory(n_bytes: int, what: str, remedy: str) -> None:
    """Raise `NotEnoughMemory` before the work starts if it would not fit, with the size and what to lower."""
    free = available_memory()
    if n_bytes > free:
        raise NotEnoughMemory(
            f"{what} needs about {n_bytes / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free",
            "",
            remedy,
        )
