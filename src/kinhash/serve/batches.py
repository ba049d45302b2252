"""Requests that wait together are answered together.

While one batch is answered, further requests queue up, and together they are the next batch. No request is
delayed to fill a batch: an idle service answers at once. A busy service forms larger batches, in which a row
costs less. A large answer is written in another thread, while the next batch is searched. Requests of clients
that have gone are left out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from .jobs import Job, Outcome, run

__all__ = ["Batches"]

MOST_ROWS = 4_096  # rows of a batch, which limits how long requests wait; one request alone may have more
WRITERS = 4  # threads that write large answers


class Batches:
    """A queue of requests, a thread that answers them with all cores, and threads for large answers."""

    def __init__(self, took: Callable[[int], None]) -> None:
        self._took = took
        self._waiting: deque[tuple[Job, asyncio.Future[bytes]]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "kinhash-serve")
        self._writers = ThreadPoolExecutor(WRITERS, "kinhash-write")

    def answer(self, job: Job) -> asyncio.Future[bytes]:
        """The body of the response, or what went wrong with this job. If cancelled, it is not computed."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes] = loop.create_future()
        self._waiting.append((job, future))
        if self._worker is None:
            self._worker = loop.create_task(self._work())
        return future

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while batch := self._next():
                self._took(len(batch))
                outcomes: list[Outcome]
                try:
                    outcomes = await loop.run_in_executor(self._thread, run, [job for job, _ in batch])
                except Exception as problem:  # nobody may wait for ever
                    outcomes = [problem] * len(batch)
                for (_, future), outcome in zip(batch, outcomes, strict=True):
                    self._settle(future, outcome)
        finally:
            self._worker = None

    def _next(self) -> list[tuple[Job, asyncio.Future[bytes]]]:
        """The requests that wait and whose clients are still there, up to a number of rows."""
        batch: list[tuple[Job, asyncio.Future[bytes]]] = []
        rows = 0
        while self._waiting:
            job, future = self._waiting[0]
            if not future.done():
                if batch and rows + len(job) > MOST_ROWS:
                    break
                batch.append((job, future))
                rows += len(job)
            self._waiting.popleft()
        return batch

    def _settle(self, future: asyncio.Future[bytes], outcome: Outcome) -> None:
        if future.done():  # the client has gone
            return
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        elif isinstance(outcome, bytes):
            future.set_result(outcome)
        else:
            writing = asyncio.get_running_loop().run_in_executor(self._writers, outcome)
            future.add_done_callback(lambda _: writing.cancel())
            writing.add_done_callback(lambda _: _hand_on(writing, future))

    def close(self) -> None:
        """End the threads once they have done what they work on."""
        for threads in (self._thread, self._writers):
            threads.shutdown(wait=False, cancel_futures=True)


def _hand_on(written: asyncio.Future[bytes], future: asyncio.Future[bytes]) -> None:
    """Answer with what was written, or with what went wrong."""
    problem = None if written.cancelled() else written.exception()
    if future.done():
        return
    if written.cancelled():
        future.cancel()
    elif problem is not None:
        future.set_exception(problem)
    else:
        future.set_result(written.result())
