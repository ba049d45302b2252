"""Bodies of requests: read within limits of size and time, and turned into work."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from .._internal.types import Array, Facts
from ..errors import InvalidInput, UnknownName
from ..index import as_ids
from .jobs import EncodeJob, SearchJob
from .limits import Limits
from .packages import fastapi, pydantic, starlette
from .pair import Pair
from .problems import Refused, reading
from .schemas import DEFAULT_K, MAY_BE, Schemas
from .texts import read_codes

__all__ = ["BYTES", "JSON", "body_of", "encode_job", "search_job"]

Excluded = list[int | str] | None
JSON, BYTES = "application/json", "application/octet-stream"


async def body_of(request: fastapi.Request, limits: Limits) -> bytes:
    """The whole body. One that is too large is read and dropped, so that the client sees the answer."""
    kept, size = [], 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size <= limits.body_bytes:
                    kept.append(part)
                else:
                    kept.clear()
    except TimeoutError:
        slow = f"The body did not arrive within {limits.body_seconds} s"
        raise Refused(408, slow, "a client that sends faster", "Send fewer rows at once") from None
    except starlette.requests.ClientDisconnect:
        raise Refused(400, "The client went away before its request was complete") from None
    if size > limits.body_bytes:
        raise Refused(
            413,
            f"The body has {size:,} bytes",
            f"at most {limits.body_bytes:,}",
            "Send fewer rows at once, or raise --max-body",
        )
    return b"".join(kept)


def encode_job(
    pair: Pair, schemas: Schemas, limits: Limits, request: fastapi.Request, body: bytes
) -> EncodeJob:
    """What `/encode` is asked for."""
    options = _valid(schemas.encode_options.model_validate, dict(request.query_params))
    if _is_bytes(request):
        chosen = _set(options)
        X = _plain_rows(pair, limits, body, chosen.get("view"))
    else:
        given = _valid(schemas.encode.validate_json, body)
        chosen = {**_set(options), **_set(given)}
        X = _rows(pair, given.vectors, chosen.get("view"))
    written = None if _wants_bytes(request) else chosen.get("format", "base64")
    return EncodeJob(pair, X, view=chosen.get("view"), written=written)


def search_job(
    pair: Pair, schemas: Schemas, limits: Limits, request: fastapi.Request, body: bytes
) -> SearchJob:
    """What `/search` is asked for."""
    options = _valid(schemas.search_options.model_validate, dict(request.query_params))
    X = packed = own = None
    if _is_bytes(request):
        chosen = _set(options)
        X = _plain_rows(pair, limits, body, chosen.get("view"))
    else:
        given = _valid(schemas.search.validate_json, body, below=1, may_be=MAY_BE)
        chosen = {**_set(options), **_set(given)}
        X, packed, own = _queries(pair, given, chosen.get("view"))
    radius, k = chosen.get("radius"), chosen.get("k")
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
        exclude=_excluded(chosen.get("exclude", own), len(X if X is not None else packed)),  # type: ignore[arg-type]
        columns=_columns(pair, chosen.get("payload", False)),
        most_values=limits.answer_values,
    )
    if not all_within:  # how many rows are within a radius, only the search says
        job.check_size(job.n_values)
    return job


def _rows(pair: Pair, vectors: list[list[float]], view: str | None) -> Array:
    """Rows of one view. Their width is checked here: the schema cannot, where views differ in width."""
    width = pair.widths[view]
    strange = next((len(row) for row in vectors if len(row) != width), width)
    if strange != width:
        name = "" if view is None else f" of view {view!r}"
        raise InvalidInput(f"A row{name} has {strange} numbers", f"{width}", "Pass rows of one view")
    return np.array(vectors)


def _queries(
    pair: Pair, given: pydantic.BaseModel, view: str | None
) -> tuple[Array | None, Array | None, Excluded]:
    """Rows to encode, or codes, and for rows of the index their own ids."""
    fields = given.model_fields_set
    if "vectors" in fields:
        return _rows(pair, given.vectors, view), None, None
    if "ids" in fields:
        return None, pair.codes[pair.ranks(as_ids(given.ids))], given.ids
    return None, read_codes(given.codes, pair.index.n_bits, given.format), None


def _excluded(exclude: Excluded, n_queries: int) -> Excluded:
    if exclude is not None and len(exclude) != n_queries:
        raise InvalidInput(
            f"exclude came with {len(exclude)} entries for {n_queries} queries",
            "an id, or null, for every query",
            "Pass as many entries as queries",
        )
    return exclude


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


def _plain_rows(pair: Pair, limits: Limits, body: bytes, view: str | None) -> Array:
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


def _is_bytes(request: fastapi.Request) -> bool:
    """Whether the body is plain numbers; otherwise it is JSON."""
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind not in (JSON, BYTES):
        raise Refused(415, f"The body is {kind[:100]!r}", f"{JSON} or {BYTES}", "Set the header Content-Type")
    return bool(kind == BYTES)


def _wants_bytes(request: fastapi.Request) -> bool:
    return BYTES in request.headers.get("accept", "").lower()


def _valid(check: Any, given: Any, **how: Any) -> Any:
    try:
        return check(given)
    except pydantic.ValidationError as problem:
        raise reading(problem, **how) from None


def _set(given: pydantic.BaseModel) -> Facts:
    """What was passed, without the defaults and without null, which stands for them."""
    passed = ((name, getattr(given, name)) for name in given.model_fields_set)
    return {name: value for name, value in passed if value is not None}
