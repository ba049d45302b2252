"""Requests that wait together are answered together.

One call encodes the rows of all of them, and equal searches are one pass over the index. A row has the same
code alone and in a batch, and a search the same order, so an answer does not depend on what else was asked at
that moment. While one batch is answered, further requests queue up, and together they are the next batch. No
request is delayed to fill a batch.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .._internal.types import Array, Facts
from ..codes import Codes, n_bytes, pack_bits, unpack_bits
from ..errors import InvalidInput
from ..index import Nearest
from .pair import Pair

SMALL = 2_000  # values of an answer that is written at once; a larger one takes a thread of its own
MOST_ROWS = 4_096  # rows of a batch, which limits how long requests wait; one request alone may have more
WRITERS = 4  # threads that write large answers
Outcome = bytes | Exception | Callable[[], bytes]  # a body, what went wrong, or a body yet to be written


@dataclass(frozen=True, eq=False)
class Job:
    """One request: rows of numbers ``X``, or packed codes."""

    pair: Pair
    X: Array | None = None
    packed: Array | None = None
    view: str | None = None

    def __len__(self) -> int:
        rows: Any = self.X if self.X is not None else self.packed
        return len(rows)

    @property
    def n_values(self) -> int:
        """About how many values the answer has, at most."""
        return len(self)


@dataclass(frozen=True, eq=False)
class EncodeJob(Job):
    """A request for codes, as text of a format or, if ``written`` is None, as bytes."""

    written: str | None = None

    def answer(self, codes: Codes) -> bytes:
        """The body of the response."""
        if self.written is None:
            return codes.packed.tobytes()
        n_bits = self.pair.index.n_bits
        facts = {
            "model_id": self.pair.model_id,
            "pair": self.pair.number,
            "n_bits": n_bits,
            "format": self.written,
        }
        return _json(facts | {"codes": write_codes(codes.packed, n_bits, self.written)})


@dataclass(frozen=True, eq=False)
class SearchJob(Job):
    """A request for neighbors: ``k`` of each query, or all within ``radius`` if they are less than ``k``.

    An answer with more than ``most_values`` values, counted as in `n_values`, is refused.
    """

    k: int = 10
    radius: int | None = None
    all_within: bool = False
    where: Facts | str | list[int | str] | None = None
    exclude: Sequence[object] | None = None
    columns: Sequence[str] = field(default_factory=tuple)
    most_values: int | None = None

    @property
    def n_values(self) -> int:
        """Rows × neighbors × (payload columns + 1): an id with its distance counts as one value."""
        return self._values_of(len(self) * min(self.k, len(self.pair.index)))

    def _values_of(self, n_neighbors: int) -> int:
        return n_neighbors * (len(self.columns) + 1)

    def check_size(self, n_values: int) -> None:
        """Refuse an answer of too many values."""
        if self.most_values is not None and n_values > self.most_values:
            counted = f"rows × neighbors × {len(self.columns) + 1} (payload columns + 1)"
            raise InvalidInput(
                f"The answer has up to {n_values:,} values: {counted}",
                f"at most {self.most_values:,}",
                "Send fewer rows at once, ask for a smaller k or fewer columns, or raise --limit answer_values",
            )

    @property
    def kind(self) -> Hashable:
        """Searches of one kind can be one."""
        return id(self.pair), self.k, json.dumps(self.where, sort_keys=True)

    def answer(self, found: Iterable[Nearest]) -> bytes:
        """The body of the response.

        Each query is written by itself: the encoder of JSON lets no other thread run meanwhile.
        """
        near = [self._near(one) for one in found]
        self.check_size(self._values_of(sum(len(ids) for ids, _ in near)))
        head = _json({"model_id": self.pair.model_id, "pair": self.pair.number})
        results = b",".join([_json(self._result(ids, distances)) for ids, distances in near])
        return b"".join([head[:-1], b',"results":[', results, b"]}"])

    def _near(self, found: Nearest) -> tuple[Array, Array]:
        """Ids and distances of the neighbors of one query that are wanted."""
        ids, distances = found.ids, found.distances
        if self.radius is not None:
            near = int(np.searchsorted(distances, self.radius, "right"))
            if self.all_within and near == self.k:
                raise InvalidInput(
                    f"More than {self.k - 1} rows are within distance {self.radius} of a query",
                    f"at most {self.k - 1}",
                    "Pass a smaller radius, or k as well for the nearest of them",
                )
            ids, distances = ids[:near], distances[:near]
        return ids, distances

    def _result(self, ids: Array, distances: Array) -> Facts:
        result: Facts = {"ids": ids.tolist(), "distances": distances.tolist()}
        if self.columns:
            ranks = self.pair.ranks(ids)
            payload = self.pair.payload
            result["payload"] = {name: _for_json(payload[name][ranks].tolist()) for name in self.columns}
        return result


def run(jobs: Sequence[Job]) -> list[Outcome]:
    """The body of every job's response, what went wrong with it, or, for a large body, what writes it."""
    outcomes: list[Any] = list(jobs)
    raw = [i for i, job in enumerate(jobs) if job.X is not None]
    _together(outcomes, raw, lambda job: (id(job.pair), job.view, job.X.shape[1], job.X.dtype), _encoded)
    for i in set(range(len(jobs))) - set(raw):
        packed: Any = jobs[i].packed
        outcomes[i] = jobs[i].pair.as_codes(packed)
    coded = [i for i in range(len(jobs)) if not isinstance(outcomes[i], Exception)]
    searches = [i for i in coded if isinstance(jobs[i], SearchJob)]
    for i in searches:
        outcomes[i] = (jobs[i], outcomes[i])
    _together(outcomes, searches, lambda asked: asked[0].kind, _searched)
    for i in coded:
        if jobs[i].n_values <= SMALL or isinstance(outcomes[i], Exception):
            outcomes[i] = _tried(jobs[i].answer, outcomes[i])  # type: ignore[attr-defined]
        else:
            outcomes[i] = partial(jobs[i].answer, outcomes[i])  # type: ignore[attr-defined]
    return outcomes


def _together(
    outcomes: list[Any],
    places: Sequence[int],
    kind: Callable[[Any], Hashable],
    work: Callable[[list[Any]], list[Any]],
) -> None:
    """Replace what is at these places by what ``work`` makes of all of one kind at once.

    Where that fails, each is tried alone: one bad request must not spoil the others.
    """
    groups: dict[Hashable, list[int]] = {}
    for place in places:
        groups.setdefault(kind(outcomes[place]), []).append(place)
    for group in groups.values():
        asked = [outcomes[place] for place in group]
        made = _tried(work, asked)
        if isinstance(made, Exception):
            alone = [made] if len(group) == 1 else [_tried(work, [one]) for one in asked]
            made = [one if isinstance(one, Exception) else one[0] for one in alone]
        for place, one in zip(group, made, strict=True):
            outcomes[place] = one


def _tried(work: Callable[[Any], Any], given: Any) -> Any:
    """What the work gives, or the error it ends with."""
    try:
        return given if isinstance(given, Exception) else work(given)
    except Exception as problem:  # it goes to the one request, as its answer
        return problem


def _encoded(jobs: list[Job]) -> list[Codes]:
    """Codes of each job's rows."""
    first = jobs[0]
    view = {} if first.view is None else {"view": first.view}
    codes = first.pair.model.encode(np.concatenate([job.X for job in jobs]), **view)
    ends = np.cumsum([len(job) for job in jobs]).tolist()
    return [codes[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def _searched(asked: list[tuple[SearchJob, Codes]]) -> list[list[Nearest]]:
    """Neighbors of each job's queries."""
    first = asked[0][0]
    codes = first.pair.as_codes(np.concatenate([one.packed for _, one in asked]))
    left_out: list[object] = []
    for job, one in asked:
        left_out += [None] * len(one) if job.exclude is None else job.exclude
    exclude = None if all(one is None for one in left_out) else left_out
    found = first.pair.index.search(codes, first.k, where=first.where, exclude=exclude)
    ends = np.cumsum([len(one) for _, one in asked]).tolist()
    return [[found[i] for i in range(a, b)] for a, b in zip([0, *ends], ends, strict=False)]


def _for_json(values: list[Any]) -> list[Any]:
    """Values as JSON has them: null where a number is not finite."""
    for place, value in enumerate(values):
        if isinstance(value, float) and value - value != 0:
            values[place] = None
        elif isinstance(value, list):
            _for_json(value)
    return values


def _json(value: Facts) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


# ---- codes as text ---------------------------------------------------------------------------------------


def write_codes(packed: Array, n_bits: int, written: str) -> list[str]:
    """Packed rows (n, bytes), each as one text: ``base64``, ``hex`` or ``bits``.

    >>> write_codes(np.array([[0b10100000]], np.uint8), 3, "bits")
    ['101']
    """
    if written == "bits":
        return [(row + ord("0")).tobytes().decode() for row in unpack_bits(packed, n_bits)]
    rows = (row.tobytes() for row in packed)
    return [row.hex() if written == "hex" else base64.b64encode(row).decode() for row in rows]


def read_codes(texts: Sequence[str], n_bits: int, written: str) -> Array:
    """Undo `write_codes`. The texts have been checked against their pattern.

    >>> read_codes(["101"], 3, "bits")
    array([[160]], dtype=uint8)
    """
    if written == "bits":
        bits = np.frombuffer("".join(texts).encode(), np.uint8).reshape(len(texts), n_bits)
        return pack_bits(bits == ord("1"))
    read = bytes.fromhex if written == "hex" else base64.b64decode
    return np.frombuffer(b"".join(map(read, texts)), np.uint8).reshape(len(texts), n_bytes(n_bits))


# ---- the queue -------------------------------------------------------------------------------------------


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
    if future.done():
        return
    if written.cancelled():
        future.cancel()
    elif (problem := written.exception()) is not None:
        future.set_exception(problem)
    else:
        future.set_result(written.result())
