"""Stages of long work: their seconds for the report, their names for whoever listens."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

__all__ = ["Listener", "Stages"]

log = logging.getLogger("kinhash")

# Called with the name of a stage when it starts.
Listener = Callable[[str], None]
Watcher = Callable[[str], AbstractContextManager[None]]


class Stages:
    """A clock with named stages.

    ``listener`` is told when a stage starts, ``watcher`` surrounds it, and ``verbose`` logs its seconds to
    the logger "kinhash" (to stderr, if nobody has set logging up).

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
