"""Compilation of kernels by Numba, with its cache if a folder for it can be written.

A kernel with a *twin*, the same function in NumPy, does not keep its first callers waiting: while it is
neither in memory nor in the cache, the twin answers, bit for bit the same, and `compile_queue` compiles the
kernel meanwhile. A call that would take NumPy longer than compiling takes waits for its kernel: one of more
than `MOST_STEPS` steps.

The environment variable KINHASH_COMPILE says what happens to a kernel that is not compiled yet: "behind" is
the above and the default, "first" compiles before the call is answered, "never" leaves everything to twins.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from numba.core.typing.typeof import typeof

from ..errors import InvalidInput
from .aliases import Facts
from .compile_queue import QUEUE, Task

__all__ = ["compiled_kernels", "njit"]

log = logging.getLogger("kinhash")
Function = Callable[..., Any]

VARIABLE = "KINHASH_COMPILE"
BEHIND, FIRST, NEVER = "behind", "first", "never"
MOST_STEPS = 50_000_000  # numbers that a twin reads and writes in the seconds that compiling takes


_measuring: list[object] = []  # contexts of `compiled_kernels` that are open, in any thread


@contextmanager
def compiled_kernels() -> Iterator[None]:
    """While the context lasts, calls wait for their kernels: for measurements, which twins would spoil."""
    mark = object()
    _measuring.append(mark)
    try:
        yield
    finally:
        _measuring.remove(mark)


def njit(*, twin: Function | None = None, steps: Function | None = None, **options: Any) -> Any:
    """``numba.njit``, without its cache if neither the package's folder nor the user's can be written.

    ``twin``, a function written in Python, takes the same arguments and gives the same bits. ``steps`` takes
    them too and says how much work they are for the twin, in numbers read; if None, as many as there are in
    the arrays.
    """

    def compiled(function: Function) -> Any:
        kernel = _kernel(function, options)
        if twin is not None:
            # Numba asks this method for something to call when nothing is compiled for the types of a call.
            kernel._compile_for_args = _Answer(kernel, twin, steps or _sizes)
        return kernel

    return compiled


def _kernel(function: Function, options: Facts) -> Any:
    try:
        return numba.njit(**options)(function)
    except RuntimeError as error:
        if not str(error).startswith("cannot cache function"):
            raise
    _say_once()
    return numba.njit(**{**options, "cache": False})(function)


class _Answer:
    """Chooses what answers a call for whose types nothing is compiled in this process."""

    def __init__(self, kernel: Any, twin: Function, steps: Function) -> None:
        self.kernel, self.twin, self.steps = kernel, twin, steps
        self.compile_now = kernel._compile_for_args
        self.tasks: dict[tuple[Any, ...], Task] = {}

    def __call__(self, *arguments: Any) -> Any:
        wanted = _mode()
        if wanted == FIRST:
            return self.compile_now(*arguments)
        if wanted == NEVER:
            return self.twin
        types = tuple(typeof(each) for each in arguments)
        task = self.tasks.get(types)
        if task is None:
            task = self.tasks.setdefault(types, Task(self.kernel, types))
        QUEUE.load(task)
        if task.ready:
            return self.compile_now(*arguments)  # finds it
        if _measuring or self.steps(*arguments) > MOST_STEPS:
            QUEUE.wait(task)
            return self.compile_now(*arguments)  # finds it, or raises what the compiler did
        QUEUE.ask(task)
        return self.twin


def _mode() -> str:
    wanted = os.environ.get(VARIABLE, BEHIND)
    if wanted not in (BEHIND, FIRST, NEVER):
        raise InvalidInput(
            f"{VARIABLE} is {wanted!r}", f"one of {BEHIND}, {FIRST}, {NEVER}", "Set one of them, or unset it"
        )
    return wanted


def _sizes(*arguments: Any) -> int:
    return sum(each.size for each in arguments if isinstance(each, np.ndarray))


@lru_cache(maxsize=1)
def _say_once() -> None:
    log.warning(
        "Compiled functions cannot be kept, so every process compiles its own. Expected a folder that can be "
        "written: the package's or the user's cache. Set NUMBA_CACHE_DIR to one."
    )
