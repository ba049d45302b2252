"""Work through the cells of a task in worker processes; stop and go on at any time."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from kinhash.errors import DamagedFile, InvalidInput

from ..datasets import check
from .cell import Cell
from .result import Result
from .store import Store

__all__ = ["RunPlan", "plan", "run"]

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

EVERY = 0.2  # seconds between two looks for Ctrl-C

# Called with (the cell, its result) after each one.
Listener = Callable[[Cell, Result], None]


@dataclass(frozen=True)
class RunPlan:
    """Cells to run, results that are there already, and what cannot be run because its data is missing.

    ``adopted`` are existing results of other tables or figures that these cells need, too.
    """

    todo: tuple[Cell, ...]
    done: tuple[Result, ...]
    adopted: tuple[Result, ...]
    missing: dict[str, tuple[Cell, ...]]


def plan(cells: Iterable[Cell], store: Store, *, retry_failed: bool = False) -> RunPlan:
    """Look at what is there, results and data, before any work is done; nothing is written."""
    todo, done, adopted = [], [], []
    missing: dict[str, list[Cell]] = {}
    there = {entry.name for entry in check(verify=False) if entry.state in ("present", "built in")}
    for cell in cells:
        result = store.find(cell.key)
        if result is not None and (result.ok or not retry_failed):
            done.append(result)
            sections = tuple(dict.fromkeys((*result.sections, *cell.sections)))
            if sections != result.sections:
                adopted.append(replace(result, sections=sections))
        elif cell.dataset not in there and not cell.files:
            missing.setdefault(cell.dataset, []).append(cell)
        else:
            todo.append(cell)
    not_there = {name: tuple(some) for name, some in missing.items()}
    return RunPlan(tuple(todo), tuple(done), tuple(adopted), not_there)


def run(
    cells: Sequence[Cell],
    store: Store,
    *,
    jobs: int = 1,
    timeout: float | None = None,
    listener: Listener | None = None,
    device: str = "cpu",
) -> list[Result]:
    """Run cells in ``jobs`` processes that share the cores; each result is kept as soon as it is there.

    A cell that fails, takes longer than ``timeout`` seconds or takes its process down becomes a failed row.
    Results come back in the order of the cells. With ``device="gpu"`` rows are encoded and rankings scored on
    a graphics card. Memory here is that of the results.
    """
    cores = (
        sorted(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else list(range(os.cpu_count() or 1))
    )
    if jobs > len(cores):
        raise InvalidInput(
            f"{jobs} jobs were asked for on {len(cores)} cores", f"1 to {len(cores)}", "Ask for fewer"
        )
    free: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    workers = [_Worker(cores[i::jobs], timeout, device) for i in range(jobs)]
    for worker in workers:
        free.put(worker)
    ended: queue.SimpleQueue[tuple[Cell, Result | BaseException]] = queue.SimpleQueue()

    def one(cell: Cell) -> None:
        worker = free.get()
        try:
            result = worker.run(cell)
            store.add(result)
            ended.put((cell, result))
        except BaseException as error:
            ended.put((cell, error))
        finally:
            free.put(worker)

    found: dict[str, Result] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for cell in cells:
                pool.submit(one, cell)
            for _ in cells:
                cell, result = _next(ended)
                if isinstance(result, BaseException):
                    raise result
                found[cell.key] = result
                if listener is not None:
                    listener(cell, result)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.stop()
    return [found[cell.key] for cell in cells]


def _next(ended: queue.SimpleQueue[Any]) -> Any:
    """The next entry. A signal that arrives just before a thread waits does not wake it: it looks again."""
    while True:
        with suppress(queue.Empty):
            return ended.get(timeout=EVERY)


class _Stopped(Exception):
    """The run was stopped; the cell in progress is not recorded."""


class _Worker:
    """One process on its own cores, started when needed and again after it died."""

    def __init__(self, cores: Sequence[int], timeout: float | None, device: str = "cpu") -> None:
        self._cores, self._timeout, self._device = list(cores), timeout, device
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._starting = threading.Lock()  # no process may start after `stop`

    def run(self, cell: Cell) -> Result:
        process = self._ready()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        clock = threading.Timer(self._timeout, end) if self._timeout is not None else None
        try:
            if clock is not None:
                clock.start()
            process.stdin.write(json.dumps(asdict(cell)) + "\n")
            process.stdin.flush()
            return Result.from_json(process.stdout.readline(), str(cell))
        except (BrokenPipeError, DamagedFile):
            if self._stopped:
                raise _Stopped from None
            return cell.failed(self._post_mortem(process, late.is_set()))
        finally:
            if clock is not None:
                clock.cancel()
                clock.join()
            if late.is_set():
                process.wait()  # it was killed, even if it answered first: the next cell starts a new one

    def stop(self) -> None:
        """End the process, whatever it is doing, for good."""
        with self._starting:
            self._stopped = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _ready(self) -> subprocess.Popen[str]:
        """The process, or a new one where there is none or the last one died."""
        with self._starting:
            if self._stopped:
                raise _Stopped
            if self._process is None or self._process.poll() is not None:
                self._process = self._start()
                if hasattr(os, "sched_setaffinity"):
                    os.sched_setaffinity(self._process.pid, self._cores)
            return self._process

    def _start(self) -> subprocess.Popen[str]:
        threads = {name: str(len(self._cores)) for name in THREAD_VARIABLES}
        return subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.worker", self._device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={"KINHASH_COMPILE": "first"} | os.environ | threads,  # no times of NumPy twins
            start_new_session=True,  # Ctrl-C is ours to handle
        )

    def _post_mortem(self, process: subprocess.Popen[str], late: bool) -> str:
        """Why a worker gave no answer."""
        code = process.wait()
        if late:
            return f"timed out after {self._timeout:.0f} s"
        if code == -signal.SIGKILL:
            return "out of memory: the process was killed by the system"
        return f"the process ended with exit code {code}"
