"""BLAS on one thread while we compute, in whichever thread, and as many as before once we are done.

BLAS splits a product differently on one and on two threads, and the last digits follow. How a limit is set
depends on the library and on threadpoolctl:

- *OpenBLAS with threads of its own* (the wheels of NumPy and SciPy) has one limit for the whole process. The
  first of our contexts sets it and the last one lifts it. From threadpoolctl 3.8 on, the first thread that
  set a limit owns it and other threads are silently ignored, so we take it over before every change.
- *MKL*, and *OpenBLAS on OpenMP*, have one limit for every thread from threadpoolctl 3.7 on: each thread
  sets its own and lifts its own.

Versions before 3.5 do not find the OpenBLAS in NumPy's wheels at all.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeAlias

Library: TypeAlias = Any  # a LibController of threadpoolctl
Counts = dict[Library, int]  # its threads

_changing = threading.RLock()  # a context may end in the garbage collector, while another one begins
_holders: list[int] = []  # the thread of every context that is open
_before: Counts = {}  # libraries with one limit for the process, as they were before the first context


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread while the context lasts. Contexts may be nested and open in several threads."""
    libraries = _libraries()
    me = threading.get_ident()
    with _changing:
        _holders.append(me)
        own = _limit(libraries)
    try:
        yield
    finally:
        with _changing:
            _holders.remove(me)
            if threading.get_ident() == me:  # not where another thread ends an abandoned context
                _restore(own)
            if not _holders:
                _restore(_before)


def limit_worker() -> None:
    """Hold BLAS to one thread in a thread that ends within a context of the thread that started it."""
    libraries = _libraries()
    with _changing:
        _limit(libraries)


@lru_cache(maxsize=1)
def _libraries() -> list[Library]:
    # Looking up the loaded libraries takes milliseconds, so it is done once.
    import scipy.linalg  # noqa: F401  (brings its own BLAS, which must be found too)
    from threadpoolctl import ThreadpoolController

    return [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]


def _limit(libraries: list[Library]) -> Counts:
    """Set every limit that is not in force, and return those of this thread alone as they were before."""
    own: Counts = {}
    for library in libraries:
        threads = library.num_threads
        if threads is not None and threads > 1:
            _set(library, 1)
            (own if _limits_one_thread(library) else _before).setdefault(library, threads)
    return own


def _restore(counts: Counts) -> None:
    while counts:
        library, threads = counts.popitem()
        _set(library, threads)
        _let_go(library)


def _limits_one_thread(library: Library) -> bool:
    """Whether setting a limit changes the calling thread only."""
    import threadpoolctl

    version = tuple(int(part) for part in threadpoolctl.__version__.split(".")[:2])
    on_openmp = library.internal_api == "openblas" and library.threading_layer == "openmp"
    return version >= (3, 7) and (on_openmp or library.internal_api == "mkl")


def _set(library: Library, threads: int) -> None:
    _let_go(library)
    library.set_num_threads(threads)


def _let_go(library: Library) -> None:
    """No thread owns the limit: the next one that sets it does (threadpoolctl 3.8)."""
    let_go = getattr(library, "clear_controlling_thread", None)
    if let_go is not None:
        let_go(force=True)


def _start_child() -> None:
    """Only the thread that forked lives on in the child; what the others held is lifted."""
    try:
        _holders[:] = [holder for holder in _holders if holder == threading.get_ident()]
        if not _holders:
            _restore(_before)
    finally:
        _changing.release()


if hasattr(os, "register_at_fork"):  # held over the fork, our lists and threadpoolctl's lock are in order
    os.register_at_fork(
        before=_changing.acquire, after_in_parent=_changing.release, after_in_child=_start_child
    )
