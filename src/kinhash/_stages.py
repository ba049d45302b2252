"""Stages of long work: their seconds for the report, their names for whoever listens."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Listener", "Stages"]

log = logging.getLogger("kinhash")

# Called with the name of a stage when it starts, and with None when all work is done.
Listener = Callable[[str | None], None]


class Stages:
    """A clock with named stages.

    >>> stages = Stages()
    >>> with stages("codes"):
    ...     pass
    >>> list(stages.seconds)
    ['codes']
    """

    def __init__(self, listener: Listener | None = None, level: int = logging.DEBUG) -> None:
        self.seconds: dict[str, float] = {}
        self._listener, self._level = listener, level

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time the work inside; the same name twice adds up."""
        if self._listener is not None:
            self._listener(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
            log.log(self._level, "%s: %.2f s", name, spent)
