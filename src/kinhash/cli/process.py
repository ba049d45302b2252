"""The process a command runs in: Ctrl-C stops it within a second, and its standard streams are open.

Python delivers Ctrl-C between two of its own instructions; a matrix product of several seconds is one
instruction. So a thread listens for the signal itself: it gives the command a moment to stop by
itself, then removes the command's temporary files and ends the process. Packages in C may turn Ctrl-C
into errors of their own, so the handler remembers that it came.

The system hands out the lowest free number, so with stdout closed the next file opened would become number 1,
and whatever prints would print into it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from .._internal.files import remove_unfinished

__all__ = [
    "INTERRUPTED",
    "now_complete",
    "open_closed_streams",
    "stopped",
    "stopping_within_a_second",
    "was_interrupted",
]

INTERRUPTED = 130
STREAMS = ("stdin", "stdout", "stderr")
PATIENCE = 0.6  # seconds a command gets to stop by itself
UNCHANGED = "What was there before is as it was."

_came = threading.Event()
_outcome = [UNCHANGED]


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed, even if a library turned it into another error."""
    return _came.is_set()


def stopped() -> str:
    """The line a command ends with after Ctrl-C."""
    return f"Stopped. {_outcome[0]}"


def now_complete(what: str) -> None:
    """From here on, Ctrl-C leaves this behind: a sentence for the line a command ends with."""
    _outcome[0] = what


@contextlib.contextmanager
def stopping_within_a_second() -> Iterator[None]:
    """While the context lasts, Ctrl-C ends the process with exit code 130 in less than a second."""
    if os.name == "nt" or threading.current_thread() is not threading.main_thread():
        yield
        return
    _came.clear()
    now_complete(UNCHANGED)
    heard, ring = os.pipe()
    os.set_blocking(ring, False)
    finished = threading.Event()
    before = signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    handler = signal.getsignal(signal.SIGINT)

    def remember(number: int, frame: FrameType | None) -> None:
        _came.set()
        signal.default_int_handler(number, frame)

    def watch() -> None:
        while signals := os.read(heard, 16):
            if signal.SIGINT in signals and not finished.wait(PATIENCE):
                remove_unfinished()
                os.write(2, f"{stopped()}\n".encode())
                os._exit(INTERRUPTED)

    watcher = threading.Thread(target=watch, daemon=True, name="kinhash-interrupt")
    watcher.start()
    if handler is signal.default_int_handler:  # not where Ctrl-C is ignored, as in the background of a shell
        signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        finished.set()
        signal.signal(signal.SIGINT, handler)
        signal.set_wakeup_fd(before)
        os.close(ring)
        watcher.join(1)
        os.close(heard)
        sys.stderr.flush()


def open_closed_streams() -> list[str]:
    """Put the null device where a standard stream is closed; the names of those that were."""
    closed = []
    for number, name in enumerate(STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            closed.append(name)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115
    return closed
