"""Ctrl-C stops within a second, even in the middle of a long computation.

Python delivers Ctrl-C between two of its own instructions; a matrix product of several seconds is one
instruction. So a thread listens for the signal itself: it gives the command a moment to stop by
itself, then removes the temporary files of the command's outputs and ends the process.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator

__all__ = ["INTERRUPTED", "stopping_within_a_second", "watch_output"]

INTERRUPTED = 130
PATIENCE = 0.6  # seconds a command gets to stop by itself

_outputs: dict[str, set[str]] = {}  # a file to be written → temporary files beside it that are not ours


def watch_output(path: str) -> None:
    """Remember that this file will be written, so that an unfinished copy of it can be removed."""
    target = os.path.realpath(path)
    _outputs[target] = set(_temporaries(target))


def _temporaries(target: str) -> list[str]:
    """Unfinished copies of a file, by the names `kinhash.container` gives them."""
    folder, name = os.path.split(target)
    form = re.compile(re.escape(f".{name}.") + r"[0-9a-f]{12}\.tmp")
    try:
        return [os.path.join(folder, other) for other in os.listdir(folder) if form.fullmatch(other)]
    except OSError:
        return []


def _remove_unfinished() -> None:
    for target, others in _outputs.items():
        for path in _temporaries(target):
            if path not in others:
                with contextlib.suppress(OSError):
                    os.unlink(path)


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
                _remove_unfinished()
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
        _outputs.clear()
        sys.stderr.flush()
