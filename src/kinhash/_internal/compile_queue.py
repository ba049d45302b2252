"""One thread that compiles kernels in the order in which they are asked for, while their twins answer.

Compiling holds locks of Numba, and must end before the process forks or exits: a child would inherit a lock
that nobody opens, and LLVM must not run while the process takes itself down. So compilation stops at the next
pass of the compiler then (Numba announces each as an event), and the thread ends. After a fork the parent
starts it again; the child does at its next call. Kernels without a twin compile in the thread that calls
them, so a fork waits for Numba's own lock, too.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import deque
from functools import lru_cache
from typing import Any

from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

__all__ = ["QUEUE", "Task"]

log = logging.getLogger("kinhash")

# Seconds that first answers have the processor to themselves: compiling slows down all other Python code.
HEAD_START = 1.0


class _Stopped(BaseException):
    """Compilation must stop. Not an `Exception`, so nothing that handles errors catches it."""


class _NotCached(BaseException):
    """A kernel would have to be compiled where it was only to be loaded."""


class Task:
    """A kernel to be compiled for these types of arguments."""

    def __init__(self, kernel: Any, types: tuple[Any, ...]) -> None:
        self.kernel, self.types = kernel, types
        self.looked = self.asked = self.failed = False
        self.done = threading.Event()

    @property
    def ready(self) -> bool:
        """Whether the kernel can be called."""
        return self.done.is_set() and not self.failed

    def compile(self) -> None:
        """Compile, or load from the cache. An error is logged, and the twin goes on answering."""
        try:
            self.kernel.compile(self.types)
        except Exception:
            self.failed = True
            log.warning("%s could not be compiled; NumPy does its work.", self.kernel.__name__, exc_info=True)
        self.done.set()


class CompileQueue(event.Listener):
    """Tasks, and the thread that works on them while there are some. One per process."""

    def __init__(self) -> None:
        self._tasks: deque[Task] = deque()
        self._changing = threading.RLock()  # starting and stopping the thread; held over a fork
        self._looking = threading.RLock()  # one load at a time; held over a fork
        self._compiling = threading.Lock()
        self._stop, self._hurry = threading.Event(), threading.Event()
        self._over = False  # the process ends: nothing is started again
        self._thread: threading.Thread | None = None
        self._loading: int | None = None  # the thread that loads, and must not compile
        event.register("numba:run_pass", self)
        event.register("numba:compile", self)

    def load(self, task: Task) -> None:
        """Load a kernel from the cache if it is there, and if the thread is not compiling just now."""
        if task.looked:
            return
        with self._looking:
            if task.looked or not self._compiling.acquire(blocking=False):
                return
            try:
                self._loading = threading.get_ident()
                task.kernel.compile(task.types)
                task.done.set()
            except _NotCached:
                pass
            finally:
                task.looked = True
                self._loading = None
                self._compiling.release()

    def ask(self, task: Task) -> None:
        """Compile a kernel behind the caller's back, unless it is asked for already."""
        with self._changing:
            if task.done.is_set():
                return
            if not task.asked:
                task.asked = True
                _say_once()
                self._tasks.append(task)
            self._start()

    def wait(self, task: Task) -> None:
        """Compile a kernel and return when it is done."""
        self._hurry.set()
        while not self._over:
            self.ask(task)  # again after a fork, which ends the thread
            if task.done.wait(0.5):
                break

    def _start(self) -> None:
        if not self._stop.is_set() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._work, name="kinhash-compile", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        self._hurry.wait(HEAD_START)
        while self._tasks and not self._stop.is_set():
            task = self._tasks[0]
            try:
                with self._compiling:
                    task.compile()
            except _Stopped:
                return
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

    # ---- forks and the end of the process -------------------------------------------------------

    def hold(self) -> None:
        """Stop compiling, and let no thread begin until `resume` or `renew`."""
        self._stop_thread()
        global_compiler_lock._lock.acquire()  # without the event that `acquire` announces

    def resume(self) -> None:
        """Go on where `hold` stopped."""
        self._release()
        if self._tasks:
            self._start()
        self._looking.release()
        self._changing.release()

    def renew(self) -> None:
        """As `resume` in a forked child, where no thread is started before it asks for something."""
        self._thread = None
        self._release()
        if not global_compiler_lock.is_locked():  # by this thread, which may have forked while it compiled
            global_compiler_lock._lock = threading.RLock()
        if self._loading is None:
            self._compiling = threading.Lock()
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

    def _release(self) -> None:
        global_compiler_lock._lock.release()
        if not self._over:
            self._stop.clear()
            self._hurry.clear()


@lru_cache(maxsize=1)
def _say_once() -> None:
    log.info("First answers come from NumPy; compiled kernels take over as soon as they are ready.")


QUEUE = CompileQueue()
atexit.register(QUEUE.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=QUEUE.hold, after_in_parent=QUEUE.resume, after_in_child=QUEUE.renew)
