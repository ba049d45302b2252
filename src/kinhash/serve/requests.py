"""The door of the service: what a request may cost, who may send it, and how it becomes work.

A body is counted before it is read and while it arrives. Its texts and numbers are counted before it is
parsed, and the conditions and values of its filter before they are evaluated. Too much is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any

import fastapi
import numpy as np
import pydantic
from starlette.requests import ClientDisconnect

from .._internal.types import Array, Facts
from .._internal.validation import check_integer
from ..errors import InvalidInput, KinhashError, NotEnoughMemory, UnknownName
from .jobs import EncodeJob, SearchJob, read_codes
from .pair import Pair, UnknownId
from .schemas import DEFAULT_K, MAY_BE, Schemas

JSON, BYTES = "application/json", "application/octet-stream"


@dataclass(frozen=True)
class Limits:
    """Limits of a service.

    Memory of requests is at most about ``waiting_bytes`` plus 64 kB per connection. Memory of answers is at
    most about ``answer_values * concurrent`` times 20 bytes, if payload texts and lists are short.

    Parameters
    ----------
    rows : int, default=1000
        Rows of one request, at most.
    k : int, default=1000
        Neighbors of one row, at most.
    answer_values : int, default=1000000
        Rows × neighbors × (payload columns + 1) of one answer, at most.
    body_bytes : int, default=16000000
        Bytes of a request body, at most.
    waiting_bytes : int, default=128000000
        Bytes of all request bodies that are held at the same time, at most. Bodies up to 64 kB do not count.
    concurrent : int, default=256
        Requests that are answered or wait for an answer at the same time; further ones get 429.
    connections : int, default=1000
        Open connections, at most. Fewer where the process may open fewer files.
    body_seconds : int, default=10
        Seconds within which a request body must have arrived.
    head_seconds : int, default=10
        Seconds within which a new or idle connection must have sent the head of a request.
    filter_characters : int, default=10000
        Characters of a filter as text, at most.
    filter_conditions : int, default=64
        Comparisons in a filter, at most.
    filter_values : int, default=10000
        Values and ids in a filter, at most.

    Examples
    --------
    >>> Limits(k=100).k
    100
    """

    rows: int = 1_000
    k: int = 1_000
    answer_values: int = 1_000_000
    body_bytes: int = 16_000_000
    waiting_bytes: int = 128_000_000
    concurrent: int = 256
    connections: int = 1_000
    body_seconds: int = 10
    head_seconds: int = 10
    filter_characters: int = 10_000
    filter_conditions: int = 64
    filter_values: int = 10_000

    def __post_init__(self) -> None:
        for one in fields(self):
            check_integer(one.name, getattr(self, one.name), 1)


# ---- refusals: the three sentences of a kinhash error as JSON, and a status ------------------------------

RETRY_SECONDS = "1"
SHOWN = 3  # problems of one body that the answer names
MOST_EXPLAINED = 1_000  # problems of one body that are looked at


class Refused(Exception):
    """A request that is refused before any work: its status and three sentences."""

    def __init__(self, status: int, wrong: str, expected: str = "", remedy: str = "") -> None:
        super().__init__(wrong)
        self.status, self.said = status, (wrong, expected, remedy)


def as_response(problem: Exception) -> fastapi.Response:
    """The answer to a request that failed."""
    if isinstance(problem, Refused):
        headers = {"Retry-After": RETRY_SECONDS} if problem.status in (429, 503) else {}
        headers |= {"Connection": "close"} if problem.status in (408, 503) else {}
        headers |= {"WWW-Authenticate": "Bearer"} if problem.status == 401 else {}
        return _response(problem.status, *problem.said, headers=headers)
    if isinstance(problem, KinhashError):
        status = 503 if isinstance(problem, NotEnoughMemory) else 500
        status = 422 if isinstance(problem, InvalidInput) else status
        status = 404 if isinstance(problem, UnknownId) else status
        return _response(status, problem.wrong, problem.expected, problem.remedy)
    if isinstance(problem, MemoryError):
        return _response(503, "There is not enough memory for this request", "fewer rows", "Ask for less")
    return _response(500, "The service failed", "", "The reason is in its log")


def install_problems(app: fastapi.FastAPI) -> None:
    """Register handlers, so that every failure of the application is answered in this form."""

    async def answer(request: fastapi.Request, problem: Exception) -> fastapi.Response:
        return as_response(problem)

    async def answer_http(
        request: fastapi.Request, problem: fastapi.exceptions.StarletteHTTPException
    ) -> fastapi.Response:
        return _response(problem.status_code, str(problem.detail), headers=dict(problem.headers or {}))

    for kind in (Refused, KinhashError, MemoryError, Exception):
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(fastapi.exceptions.StarletteHTTPException, answer_http)


def _response(
    status: int, wrong: str, expected: str = "", remedy: str = "", headers: dict[str, str] | None = None
) -> fastapi.Response:
    text = json.dumps({"error": wrong, "expected": expected, "remedy": remedy})
    return fastapi.Response(text, status, headers, JSON)


# ---- keys ------------------------------------------------------------------------------------------------

BEARER = "bearer "


class Keys:
    """The keys of a service; without any, every request is let in."""

    def __init__(self, keys: Sequence[str]) -> None:
        if not all(keys):
            raise InvalidInput("An API key is empty", "a secret text", "Pass another, or none at all")
        self._digests = [_digest(key.encode("utf-8", "surrogateescape")) for key in keys]

    def check(self, request: fastapi.Request) -> None:
        """Refuse a request that has none of the keys, in X-API-Key or as Authorization: Bearer."""
        if not self._digests:
            return
        given = request.headers.get("x-api-key")
        if given is None:
            bearer = request.headers.get("authorization", "")
            given = bearer[len(BEARER) :] if bearer.lower().startswith(BEARER) else ""
        digest = _digest(given.encode("latin-1"))  # as headers are read: these are the bytes that came
        # All are compared, and digests of equal length: the time says nothing about a key.
        if not sum([hmac.compare_digest(digest, known) for known in self._digests]):
            raise Refused(
                401,
                "The API key is missing or wrong" if given else "No API key came",
                "a key of this service",
                "Send it in the header X-API-Key",
            )


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


# ---- bodies ----------------------------------------------------------------------------------------------

SMALL_BODY = 65_536  # bytes of a body that need no share of what all uploads may hold


class Uploads:
    """Bodies of requests, read within limits of size and time. Counts the bytes that all of them hold."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held = 0

    @asynccontextmanager
    async def body(self, request: fastapi.Request) -> AsyncIterator[bytearray]:
        """The body of a request, which counts as held until the request is answered.

        A body that is refused is read on and dropped, so that the client sees the answer.
        """
        kept, counted = bytearray(), 0
        declared = request.headers.get("content-length", "")
        size = int(declared) if declared.isdecimal() and len(declared) < 20 else 0
        refused = self._too_large(size) or self._too_many(size if size > SMALL_BODY else 0)
        size = 0
        try:
            try:
                async with asyncio.timeout(self.limits.body_seconds):
                    async for part in request.stream():
                        size += len(part)
                        if refused is None:
                            beyond = size - counted if size > SMALL_BODY else 0
                            refused = self._too_large(size) or self._too_many(beyond)
                        if refused is not None:
                            self.held, counted = self.held - counted, 0
                            kept = bytearray()
                            continue
                        self.held, counted = self.held + beyond, counted + beyond
                        kept += part
            except TimeoutError:
                slow = f"The body did not arrive within {self.limits.body_seconds} s"
                refused = refused or Refused(
                    408, slow, "a client that sends faster", "Send fewer rows at once"
                )
            except ClientDisconnect:
                refused = Refused(400, "The client went away before its request was complete")
            if refused is not None:
                raise refused from None
            yield kept
        finally:
            self.held -= counted

    def _too_large(self, size: int) -> Refused | None:
        most = self.limits.body_bytes
        if size <= most:
            return None
        said = f"The body has {size:,} bytes" if size < 10**15 else "The body is far too large"
        return Refused(413, said, f"at most {most:,}", "Send fewer rows at once, or raise --limit body_bytes")

    def _too_many(self, more: int) -> Refused | None:
        most = self.limits.waiting_bytes
        if not more or self.held + more <= most:
            return None
        said = f"Requests in progress hold {self.held:,} bytes"
        return Refused(
            429, said, f"at most {most:,} together", "Try again in a second, or send fewer rows at once"
        )


def check_counts(pair: Pair, limits: Limits, body: bytes | bytearray) -> None:
    """Refuse JSON with more texts, lists or numbers than any request needs, before it is parsed.

    Parsing holds Python's lock, so its time is bounded here: counting bytes is a thousand times faster.
    """
    texts = 6 * limits.rows + 2 * limits.filter_values + limits.filter_characters + 1_000
    numbers = limits.rows * (max(pair.widths.values()) + 2) + limits.filter_values + 1_000
    for said, count, most in (
        ("texts", body.count(b'"') // 2, texts),
        ("lists and objects", body.count(b"[") + body.count(b"{"), texts),
        ("values", body.count(b","), texts + numbers),
    ):
        if count > most:
            raise Refused(
                413, f"The body has {count:,} {said}", f"at most {most:,}", "Send fewer rows at once"
            )


# One pass, in which no two alternatives begin alike and none gives back what it took: the time is linear.
PIECES = re.compile(
    r""""(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?|`[^`]*+`?|(?P<comparison>[=!<>]=|[<>])|(?P<word>\w++)|,""",
    re.DOTALL,
)


def check_filter(where: Any, limits: Limits) -> None:
    """Refuse a filter that is too long, or has too many conditions or values, before it is read."""
    if where is None:
        return
    length = n_conditions = n_values = 0
    if isinstance(where, str):
        length = len(where)
        if length <= limits.filter_characters:
            found = list(PIECES.finditer(where))
            n_conditions = sum(
                one["comparison"] is not None or (one["word"] or "").lower() == "in" for one in found
            )
            n_values = n_conditions + sum(one[0] == "," for one in found)
    elif isinstance(where, Mapping):
        n_conditions = len(where)
        values = [value if isinstance(value, list) else [value] for value in where.values()]
        n_values = sum(map(len, values))
    else:
        n_values = len(where)
    for said, count, most in (
        ("characters", length, limits.filter_characters),
        ("conditions", n_conditions, limits.filter_conditions),
        ("values", n_values, limits.filter_values),
    ):
        if count > most:
            raise InvalidInput(
                f"The filter has {count:,} {said}", f"at most {most:,}", "Send a shorter filter"
            )


# ---- work ------------------------------------------------------------------------------------------------


def encode_job(
    pair: Pair, schemas: Schemas, limits: Limits, request: fastapi.Request, body: bytearray
) -> EncodeJob:
    """The work of a request to `/encode`."""
    options = _valid(schemas.encode_options.model_validate, dict(request.query_params))
    if _is_bytes(request):
        chosen = _set(options)
        X = _plain_rows(pair, limits, body, chosen.get("view"))
    else:
        check_counts(pair, limits, body)
        given = _valid(schemas.encode.validate_json, body)
        chosen = {**_set(options), **_set(given)}
        X = _rows(pair, given.vectors, chosen.get("view"))
    written = None if BYTES in request.headers.get("accept", "").lower() else chosen.get("format", "base64")
    return EncodeJob(pair, X, view=chosen.get("view"), written=written)


def search_job(
    pair: Pair, schemas: Schemas, limits: Limits, request: fastapi.Request, body: bytearray
) -> SearchJob:
    """The work of a request to `/search`."""
    options = _valid(schemas.search_options.model_validate, dict(request.query_params))
    X = packed = own = None
    if _is_bytes(request):
        chosen = _set(options)
        X = _plain_rows(pair, limits, body, chosen.get("view"))
    else:
        check_counts(pair, limits, body)
        given = _valid(schemas.search.validate_json, body, below=1, may_be=MAY_BE)
        chosen = {**_set(options), **_set(given)}
        if "vectors" in chosen:
            X = _rows(pair, given.vectors, chosen.get("view"))
        elif "ids" in chosen:
            own = given.ids
            packed = pair.codes[pair.ranks(own)]
        else:
            packed = pair.as_codes(read_codes(given.codes, pair.index.n_bits, given.format)).packed
    check_filter(chosen.get("where"), limits)
    n_queries = len(X if X is not None else packed)  # type: ignore[arg-type]
    exclude = chosen.get("exclude", own)
    if exclude is not None and len(exclude) != n_queries:
        raise InvalidInput(
            f"exclude came with {len(exclude)} entries for {n_queries} queries",
            "an id, or null, for every query",
            "Pass as many entries as queries",
        )
    radius, k = chosen.get("radius"), chosen.get("k")
    if chosen.get("same"):
        if radius is not None:
            raise InvalidInput("same came with a radius", "one of them", "Leave one out")
        radius = _decided(pair, chosen.get("view"))
    all_within = k is None and radius is not None
    job = SearchJob(
        pair,
        X,
        packed,
        chosen.get("view"),
        k=limits.k + 1 if all_within else k or DEFAULT_K,
        radius=radius,
        all_within=all_within,
        where=chosen.get("where"),
        exclude=exclude,
        columns=_columns(pair, chosen.get("payload", False)),
        most_values=limits.answer_values,
    )
    if not all_within:  # how many rows are within a radius, only the search says
        job.check_size(job.n_values)
    return job


def _decided(pair: Pair, view: str | None) -> int:
    """The radius within which rows are the same, as the model decided for this view."""
    decision = pair.model.view(view).decision_
    if decision is None or decision.radius is None:
        raise InvalidInput(
            "The model has no radius within which rows are the same" if decision is None else decision.text(),
            "a model that has decided one",
            "Decide on rows that were not in the fit (hasher.decide, kinhash fit --max-false), or pass a radius",
        )
    return int(decision.radius)


def _rows(pair: Pair, vectors: list[list[float]], view: str | None) -> Array:
    """Rows of one view. Their width is checked here: the schema cannot, where views differ in width."""
    width = pair.widths[view]
    strange = next((len(row) for row in vectors if len(row) != width), width)
    if strange != width:
        name = "" if view is None else f" of view {view!r}"
        raise InvalidInput(f"A row{name} has {strange} numbers", f"{width}", "Pass rows of one view")
    return np.array(vectors)


def _plain_rows(pair: Pair, limits: Limits, body: bytearray, view: str | None) -> Array:
    """Rows of float32, lowest byte first, one after the other."""
    width = pair.widths[view]
    size = 4 * width
    rows = len(body) // size
    if not body or len(body) % size or rows > limits.rows:
        raise InvalidInput(
            f"The body has {len(body):,} bytes",
            f"1 to {limits.rows:,} rows of {width} float32 numbers, {size:,} bytes each",
            "Send rows of the model's width, little-endian, without a header",
        )
    return np.frombuffer(body, "<f4").reshape(rows, width)


def _columns(pair: Pair, asked: bool | list[str]) -> tuple[str, ...]:
    if isinstance(asked, bool):
        return tuple(pair.payload) if asked else ()
    for name in asked:
        if not pair.payload:
            raise InvalidInput(
                f"The request wants the payload column {name!r}, and the index has no payload",
                "an index with payload columns",
                "Leave payload out, or pass payload when the index is built",
            )
        if name not in pair.payload:
            raise UnknownName.among("payload column", name, pair.payload)
    return tuple(asked)


def _is_bytes(request: fastapi.Request) -> bool:
    """Whether the body is plain numbers; otherwise it is JSON."""
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind not in (JSON, BYTES):
        raise Refused(415, f"The body is {kind[:100]!r}", f"{JSON} or {BYTES}", "Set the header Content-Type")
    return bool(kind == BYTES)


def _set(given: pydantic.BaseModel) -> Facts:
    """What was passed, without the defaults and without null, which stands for them."""
    passed = ((name, getattr(given, name)) for name in given.model_fields_set)
    return {name: value for name, value in passed if value is not None}


def _valid(check: Any, given: Any, below: int = 0, may_be: Mapping[str, str] | None = None) -> Any:
    """What passes the check; otherwise a refusal (422) that says what pydantic found wrong.

    The first ``below`` names of a place are pydantic's own and left out. ``may_be`` says what a field of
    several types may be: pydantic would say for each type what is wrong.
    """
    try:
        return check(given)
    except pydantic.ValidationError as problem:
        count, errors = problem.error_count(), []
        if count <= MOST_EXPLAINED:
            errors = problem.errors(include_url=False, include_input=False, include_context=False)
    said: dict[str, None] = {} if errors else {f"{count:,} of its fields are wrong": None}
    for one in errors:
        place = one["loc"][below:]
        if place and place[0] in (may_be or {}):
            said[f"{place[0]} must be {(may_be or {})[str(place[0])]}"] = None
        else:
            said[f"{'.'.join(map(str, place))}: {one['msg']}".removeprefix(": ")] = None
    more = f" ({len(said) - SHOWN} more)" if len(said) > SHOWN else ""
    raise Refused(
        422,
        f"The request cannot be read: {'; '.join(list(said)[:SHOWN])}{more}"[:1000],
        "a request as /openapi.json describes it",
        "Correct the named fields",
    )
