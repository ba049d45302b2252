"""Locks of objects that may live on in a forked process.

A lock that another thread holds while the process forks would stay locked in the child for ever: the thread
that should open it is not there. What our objects lock is replaced as a whole when it is ready, so in the
child the lock can simply be opened.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

__all__ = ["new_lock"]

_locks: WeakSet[Any] = WeakSet()


def new_lock() -> Any:
    """Return a re-entrant lock that is released in a forked child, even if another thread held it."""
    lock: Any = threading.RLock()
    _locks.add(lock)
    return lock


def _open_all() -> None:
    for lock in _locks:
        lock._at_fork_reinit()  # what the standard library does with its own locks


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)
