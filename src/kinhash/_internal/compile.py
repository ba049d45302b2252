"""Compilation of kernels by Numba, with its cache if a folder for it can be written.

A kernel with a *twin*, the same function in NumPy, does not keep its first callers waiting: while it is
neither in memory nor in the cache, the twin answers, bit for bit the same, and one thread compiles the kernel
meanwhile. A call that would take NumPy longer than compiling takes waits for its kernel: one of more than
`MOST_STEPS` steps.

The environment variable KINHASH_COMPILE says what happens to a kernel that is not compiled yet: "behind" is
the above and the default, "first" compiles before the call is answered, "never" leaves everything to twins.

Compiling holds a lock of Numba and must end before the process forks or exits: a child would inherit a lock
that nobody opens, and LLVM must not run while the process takes itself down. So compilation stops at the next
pass of the compiler then (Numba announces each as an event), and the thread ends. It starts again at the next
call.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from functools import lru_cache, update_wrapper
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import typeof_impl

from ..errors import InvalidInput

__all__ = ["VARIABLE", "Kernel", "njit"]

log = logging.getLogger("kinhash")
Function = Callable[..., Any]

VARIABLE = "KINHASH_COMPILE"
BEHIND, FIRST, NEVER = "behind", "first", "never"
MOST_STEPS = 50_000_000  # numbers that a twin reads and writes in the seconds that compiling takes
HEAD_START = 1.0  # seconds that first answers have the processor to themselves: compiling slows all else down


def njit(*, twin: Function | None = None, steps: Function | None = None, **options: Any) -> Any:
    """``numba.njit``, without its cache if neither the package's folder nor the user's can be written.

    Parameters
    ----------
    twin : callable or None, default=None
        A function in Python that takes the same arguments and gives the same bits.
    steps : callable or None, default=None
        Takes the arguments and says how much work they are for the twin, in numbers read. None counts the
        numbers in all arrays.
    **options
        Passed to ``numba.njit``.
    """

    def compiled(function: Function) -> Kernel:
        try:
            dispatcher = numba.njit(**options)(function)
        except RuntimeError as error:
            if not str(error).startswith("cannot cache function"):
                raise
            _say_uncached()
            dispatcher = numba.njit(**{**options, "cache": False})(function)
        return Kernel(dispatcher, function, twin, steps or _sizes)

    return compiled


class Kernel:
    """A function that Numba compiles. Other kernels may call it, too."""

    def __init__(self, dispatcher: Any, function: Function, twin: Function | None, steps: Function) -> None:
        self.dispatcher, self.twin, self.steps = dispatcher, twin, steps
        self._ready: set[tuple[Any, ...]] = set()
        self._tasks: dict[tuple[Any, ...], _Task] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        key = _kinds(arguments)
        if key in self._ready:
            return self.dispatcher(*arguments)
        task = self._tasks.get(key)
        if task is None:
            types = tuple(map(numba.typeof, arguments))
            task = self._tasks.setdefault(key, _Task(self.dispatcher, types))
        if not self._answers(task, arguments):
            assert self.twin is not None
            return self.twin(*arguments)
        self._ready.add(key)
        return self.dispatcher(*arguments)

    def _answers(self, task: _Task, arguments: tuple[Any, ...]) -> bool:
        """Whether the compiled kernel answers this call; compiles it if so, or has it compiled."""
        wanted = os.environ.get(VARIABLE, BEHIND)
        if wanted not in (BEHIND, FIRST, NEVER):
            raise InvalidInput(
                f"{VARIABLE} is {wanted!r}",
                f"one of {BEHIND}, {FIRST}, {NEVER}",
                "Set one of them, or unset it",
            )
        if self.twin is None or wanted == FIRST:
            task.compile()
            return True
        if wanted == NEVER:
            return False
        _queue.load(task)
        if not task.done.is_set():
            if self.steps(*arguments) <= MOST_STEPS:
                _queue.ask(task)
                return False
            _queue.wait(task)
        return task.done.is_set() and not task.failed

    @property
    def stats(self) -> Any:
        """Where the kernel is kept, and how often it was found there."""
        return self.dispatcher.stats

    @property
    def signatures(self) -> list[Any]:
        """Types that it is compiled for."""
        return list(self.dispatcher.signatures)

    def __get__(self, instance: Any, owner: Any = None) -> Kernel:
        return self  # a function in a class body stays a function


@typeof_impl.register(Kernel)
def _typeof_kernel(kernel: Kernel, context: Any) -> Any:
    """In compiled code a kernel is what Numba made of it."""
    return numba.typeof(kernel.dispatcher)


def _kinds(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What tells apart calls that need different machine code; quicker than asking Numba for the types."""
    kinds: list[Any] = []
    for one in arguments:
        if one.__class__ is np.ndarray:
            flags = one.flags
            kinds.append((one.dtype.num, one.ndim, flags.carray, flags.c_contiguous, flags.writeable))
        else:
            kinds.append(len(one) if one.__class__ is tuple else one.__class__)
    return tuple(kinds)


def _sizes(*arguments: Any) -> int:
    return sum(one.size for one in arguments if isinstance(one, np.ndarray))


class _Task:
    """A kernel to be compiled for these types of arguments."""

    def __init__(self, dispatcher: Any, types: tuple[Any, ...]) -> None:
        self.dispatcher, self.types = dispatcher, types
        self.looked = self.asked = self.failed = False
        self.done = threading.Event()

    def compile(self) -> None:
        """Compile, or load from the cache. A file of the cache that cannot be read counts as absent."""
        try:
            self.dispatcher.compile(self.types)
        except numba.core.errors.NumbaError:
            raise
        except Exception as error:
            if not _remove_cached(self.dispatcher):
                raise
            log.warning("A cached kernel could not be read (%s). It is compiled anew.", type(error).__name__)
            self.dispatcher.compile(self.types)
        self.done.set()


def _remove_cached(dispatcher: Any) -> bool:
    """Remove the files in which Numba keeps this module's kernels; False if there are none."""
    stem = Path(dispatcher.py_func.__code__.co_filename).stem
    found = list(Path(dispatcher.stats.cache_path or os.devnull).glob(f"{stem}.*.nb[ic]"))
    for path in found:
        with contextlib.suppress(OSError):
            path.unlink()
    return bool(found)


class _Stopped(BaseException):
    """Compilation must stop. Not an `Exception`, so nothing that handles errors catches it."""


class _NotCached(BaseException):
    """A kernel would have to be compiled where it was only to be loaded."""


class _Queue(event.Listener):
    """Tasks, and the thread that works on them while there are some. One per process."""

    def __init__(self) -> None:
        self._tasks: deque[_Task] = deque()
        self._changing = threading.RLock()  # starting and stopping the thread; held over a fork
        self._looking = threading.RLock()  # one load at a time; held over a fork
        self._compiling = threading.Lock()
        self._stop, self._hurry = threading.Event(), threading.Event()
        self._over = False  # the process ends: nothing is started again
        self._thread: threading.Thread | None = None
        self._loading: int | None = None  # the thread that loads, and must not compile
        event.register("numba:run_pass", self)
        event.register("numba:compile", self)

    def load(self, task: _Task) -> None:
        """Load a kernel from the cache if it is there, and if the thread is not compiling just now."""
        if task.looked:
            return
        with self._looking:
            if task.looked or not self._compiling.acquire(blocking=False):
                return
            try:
                self._loading = threading.get_ident()
                task.compile()
            except _NotCached:
                pass
            finally:
                task.looked = True
                self._loading = None
                self._compiling.release()

    def ask(self, task: _Task) -> None:
        """Compile a kernel behind the caller's back, unless it is asked for already."""
        with self._changing:
            if task.done.is_set():
                return
            if not task.asked:
                task.asked = True
                _say_once()
                self._tasks.append(task)
            self._start()

    def _start(self) -> None:
        if not self._stop.is_set() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._work, name="kinhash-compile", daemon=True)
            self._thread.start()

    def wait(self, task: _Task) -> None:
        """Compile a kernel and return when it is done."""
        self._hurry.set()
        while not self._over:
            self.ask(task)  # again after a fork, which ends the thread
            if task.done.wait(0.5):
                break

    def _work(self) -> None:
        self._hurry.wait(HEAD_START)
        while self._tasks and not self._stop.is_set():
            task = self._tasks[0]
            try:
                with self._compiling:
                    task.compile()
            except _Stopped:
                return
            except Exception:
                task.failed = True
                task.done.set()
                name = task.dispatcher.py_func.__name__
                log.warning("%s could not be compiled; NumPy does its work.", name, exc_info=True)
            self._tasks.popleft()
        self._hurry.clear()

    def on_start(self, event: Any) -> None:
        """Numba begins a pass, or begins to compile what is not in its cache."""
        me = threading.get_ident()
        if self._loading == me and event.kind == "numba:compile":
            raise _NotCached
        if self._stop.is_set() and self._thread is not None and self._thread.ident == me:
            raise _Stopped

    def on_end(self, event: Any) -> None:
        """Numba ended a pass."""

    def hold(self) -> None:
        """Before a fork: stop compiling, and let no thread compile or load until `resume`."""
        self._stop_thread()
        global_compiler_lock.acquire()

    def resume(self, child: bool = False) -> None:
        """After a fork: go on, in a child once a call asks for something."""
        global_compiler_lock.release()
        if not self._over:
            self._stop.clear()
            self._hurry.clear()
        if child:
            self._thread = None
            if self._loading is None:
                self._compiling = threading.Lock()  # a thread that is not there may have held it
        elif self._tasks:
            self._start()
        self._looking.release()
        self._changing.release()

    def close(self) -> None:
        """Stop compiling for good."""
        self._over = True
        self._stop_thread()

    def _stop_thread(self) -> None:
        """End the thread and keep the locks with which others start it or load.

        It is not waited for where this thread is compiling itself: the other one waits for its lock.
        """
        self._changing.acquire()
        self._looking.acquire()
        self._stop.set()
        self._hurry.set()
        thread = self._thread
        if thread not in (None, threading.current_thread()) and not global_compiler_lock.is_locked():
            thread.join()


@lru_cache(maxsize=1)
def _say_once() -> None:
    log.info("First answers come from NumPy; compiled kernels take over as soon as they are ready.")


@lru_cache(maxsize=1)
def _say_uncached() -> None:
    log.warning(
        "Compiled functions cannot be kept, so every process compiles its own. Expected a folder that can be "
        "written: the package's or the user's cache. Set NUMBA_CACHE_DIR to one."
    )


_queue = _Queue()
atexit.register(_queue.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_queue.hold, after_in_parent=_queue.resume, after_in_child=lambda: _queue.resume(child=True)
    )
