"""Requests that wait together are answered together.

While one batch is answered, further requests queue up, and together they are the next batch. No request is
delayed to fill a batch: an idle service answers at once. A busy service forms larger batches, in which a row
costs less.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from .jobs import Job, run

__all__ = ["Batches"]

MOST_ROWS = 4_096  # rows of a batch, which limits how long requests wait; one request alone may have more


class Batches:
    """One queue of requests, and one thread that answers them; a batch uses all cores."""

    def __init__(self, took: Callable[[int], None]) -> None:
        self._took = took
        self._waiting: deque[tuple[Job, asyncio.Future[bytes]]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "kinhash-serve")

    async def answer(self, job: Job) -> bytes:
        """The body of the response; raises what went wrong with this job."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes] = loop.create_future()
        self._waiting.append((job, future))
        if self._worker is None:
            self._worker = loop.create_task(self._work())
        return await future

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                batch = self._next()
                self._took(len(batch))
                outcomes: list[bytes | Exception]
                try:
                    outcomes = await loop.run_in_executor(self._thread, run, [job for job, _ in batch])
                except Exception as problem:  # nobody may wait for ever
                    outcomes = [problem] * len(batch)
                for (_, future), outcome in zip(batch, outcomes, strict=True):
                    _settle(future, outcome)
        finally:
            self._worker = None

    def _next(self) -> list[tuple[Job, asyncio.Future[bytes]]]:
        """The requests that wait, up to a number of rows."""
        batch = [self._waiting.popleft()]
        rows = len(batch[0][0])
        while self._waiting and rows + len(self._waiting[0][0]) <= MOST_ROWS:
            batch.append(self._waiting.popleft())
            rows += len(batch[-1][0])
        return batch

    def close(self) -> None:
        """End the thread once it has done what it works on."""
        self._thread.shutdown(wait=False)


def _settle(future: asyncio.Future[bytes], outcome: bytes | Exception) -> None:
    if future.done():  # the client has gone
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
