"""Timing of the stages of a fit, for the report and for listeners."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

log = logging.getLogger("kinhash")

# Called with the name of a stage when it starts.
Listener = Callable[[str], None]
Watcher = Callable[[str], AbstractContextManager[None]]


class Stages:
    """A clock with named stages.

    ``listener`` is called when a stage starts, ``watcher`` surrounds it, and ``verbose`` logs its seconds to
    the logger "kinhash" (to stderr, if logging is not set up).

    >>> stages = Stages()
    >>> with stages("codes"):
    ...     pass
    >>> list(stages.seconds)
    ['codes']
    """

    def __init__(
        self, listener: Listener | None = None, watcher: Watcher | None = None, verbose: bool = False
    ) -> None:
        self.seconds: dict[str, float] = {}
        self._listener, self._watcher = listener, watcher
        self._level = logging.INFO if verbose else logging.DEBUG
        if verbose and not log.hasHandlers():
            log.addHandler(logging.StreamHandler(sys.stderr))
            log.setLevel(logging.INFO)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time the work inside; the same name twice adds up."""
        if self._listener is not None:
            self._listener(name)
        with nullcontext() if self._watcher is None else self._watcher(name):
            start = time.perf_counter()
            try:
                yield
            finally:
                spent = time.perf_counter() - start
                self.seconds[name] = self.seconds.get(name, 0.0) + spent
                log.log(self._level, "%s: %.2f s", name, spent)


class FitTask:
    """The root task of one fit, for scikit-learn's callbacks; its stages are the subtasks.

    So ``hasher.set_callbacks(ProgressBar())`` shows them. Before scikit-learn 1.9 there is nothing to call.
    """

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._estimator, self._data = estimator, {"X": X, "y": y}
        begin = getattr(type(estimator), "_init_callback_context", None)
        self._context = None if begin is None else begin(estimator, max_subtasks=None)
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """One stage as a subtask."""
        if self._context is None:
            yield
            return
        task = self._context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        yield
        task.call_on_fit_task_end(estimator=self._estimator, **self._data)

    def end(self) -> None:
        """The fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator, **self._data)
