"""Standard streams that the caller closed: nothing may crash on them, and no file may take their place.

The system hands out the lowest free number, so with stdout closed the next file opened would become number 1,
and whatever prints would print into it.
"""

from __future__ import annotations

import os
import sys

__all__ = ["open_closed_streams"]

STREAMS = ("stdin", "stdout", "stderr")


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
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))
    return closed
