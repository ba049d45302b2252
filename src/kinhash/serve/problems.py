"""Errors as JSON: the three sentences of a kinhash error, and the HTTP status that goes with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from ..errors import InvalidInput, KinhashError, NotEnoughMemory
from .packages import fastapi, pydantic
from .pair import UnknownId

__all__ = ["PROBLEMS", "Refused", "Stoppable", "as_response", "install", "reading"]

Message = MutableMapping[str, Any]

PROBLEMS = {
    400: "The request was cut off.",
    401: "The API key is missing or wrong.",
    404: "No such id, or no such page.",
    408: "The body took too long to arrive.",
    413: "The body is too large.",
    415: "The body is of another type.",
    422: "The request cannot be answered as it is.",
    429: "Too many requests at once.",
    500: "The service failed.",
    503: "There is not enough memory, or the service stops.",
}
RETRY_SECONDS = "1"
SHOWN = 3  # problems of one body that the answer names


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


class Stoppable:
    """An ASGI application that answers 503 to requests that the server cancels when it stops."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except asyncio.CancelledError:
            if started or scope["type"] != "http":
                raise
            stops = Refused(
                503,
                "The service stopped before the request was answered",
                "a service that runs",
                "Retry in a few seconds",
            )
            await as_response(stops)(scope, receive, send)


def reading(
    problem: pydantic.ValidationError, below: int = 0, may_be: Mapping[str, str] | None = None
) -> Refused:
    """A refusal (422) that says what pydantic found wrong in a body or in the query string.

    The first ``below`` names of a place are pydantic's own and left out. ``may_be`` says what a field of
    several types may be: pydantic would say for each type what is wrong.
    """
    said: dict[str, None] = {}
    for one in problem.errors(include_url=False, include_input=False, include_context=False):
        place = one["loc"][below:]
        if place and place[0] in (may_be or {}):
            said[f"{place[0]} must be {(may_be or {})[str(place[0])]}"] = None
        else:
            said[f"{'.'.join(map(str, place))}: {one['msg']}".removeprefix(": ")] = None
    more = f" ({len(said) - SHOWN} more)" if len(said) > SHOWN else ""
    return Refused(
        422,
        f"The request cannot be read: {'; '.join(list(said)[:SHOWN])}{more}"[:1000],
        "a request as /openapi.json describes it",
        "Correct the named fields",
    )


def install(app: fastapi.FastAPI) -> None:
    """Register handlers, so that every failure of the application is answered in this form."""

    async def answer(request: fastapi.Request, problem: Exception) -> fastapi.Response:
        return as_response(problem)

    async def answer_http(
        request: fastapi.Request, problem: fastapi.exceptions.StarletteHTTPException
    ) -> fastapi.Response:
        headers = dict(problem.headers or {})
        return _response(problem.status_code, str(problem.detail), headers=headers)

    for kind in (Refused, KinhashError, MemoryError, Exception):
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(fastapi.exceptions.StarletteHTTPException, answer_http)


def _response(
    status: int, wrong: str, expected: str = "", remedy: str = "", headers: dict[str, str] | None = None
) -> fastapi.Response:
    text = json.dumps({"error": wrong, "expected": expected, "remedy": remedy})
    return fastapi.Response(text, status, headers, "application/json")
