"""A process that runs cells: one JSON line in, one JSON line out, until its input ends.

A process of its own makes peak memory a fact about the cell, and survives nothing the cell does not.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import nullcontext
from typing import IO, Any

from kinhash import on_gpu
from kinhash.errors import KinhashError

from ..datasets import Dataset, load
from .cell import Cell, Known, run_cell
from .custom_data import load_own

__all__ = ["end_with", "serve"]


def serve(lines: IO[str], answers: IO[str]) -> None:
    """Answer every line; the last data set stays in memory, and the nearest kin of its last partition."""
    held: tuple[str, Dataset | None] = ("", None)
    known: Known = {}
    for line in lines:
        plain: dict[str, Any] = json.loads(line)
        cell = Cell(**plain | {"sections": tuple(plain["sections"])})
        start = time.perf_counter()
        try:
            name = cell.dataset + cell.checksum * bool(cell.files)
            if held[0] != name:
                held = ("", None)  # the last one goes before the next one comes
                held = (name, _loaded(cell))
            assert held[1] is not None
            result = run_cell(cell, held[1], time.perf_counter() - start, known)
        except KinhashError as error:
            result = cell.failed(f"{type(error).__name__}: {error}")
        answers.write(result.to_json() + "\n")
        answers.flush()


def _loaded(cell: Cell) -> Dataset:
    return load_own(cell.dataset, cell.files, cell.checksum) if cell.files else load(cell.dataset)


def end_with(parent: int) -> None:
    """Exit soon after the parent process dies, even if it was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    end_with(os.getppid())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not stand among our answers
    with on_gpu() if sys.argv[1:] == ["gpu"] else nullcontext():
        serve(sys.stdin, answers)
