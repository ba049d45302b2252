"""Ctrl-C stops within a second, even in the middle of a long computation.

Python delivers Ctrl-C between two of its own instructions; a matrix product of several seconds is one
instruction. So a thread listens for the signal itself: it gives the command a moment to stop by
itself, then removes the command's temporary files and ends the process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator

from .._files import remove_unfinished

__all__ = ["INTERRUPTED", "stopping_within_a_second"]

INTERRUPTED = 130
PATIENCE = 0.6  # seconds a command gets to stop by itself


@contextlib.contextmanager
def stopping_within_a_second() -> Iterator[None]:
    """While the context lasts, Ctrl-C ends the process with exit code 130 in less than a second."""
    if os.name == "nt" or threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, ring = os.pipe()
    os.set_blocking(ring, False)
    finished = threading.Event()
    before = signal.set_wakeup_fd(ring, warn_on_full_buffer=False)

    def watch() -> None:
        while signals := os.read(heard, 16):
            if signal.SIGINT in signals and not finished.wait(PATIENCE):
                remove_unfinished()
                os.write(2, b"Stopped. What was there before is as it was.\n")
                os._exit(INTERRUPTED)

    watcher = threading.Thread(target=watch, daemon=True, name="kinhash-interrupt")
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        signal.set_wakeup_fd(before)
        os.close(ring)
        watcher.join(1)
        os.close(heard)
        sys.stderr.flush()
