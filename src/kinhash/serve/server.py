"""The application on a socket of its own, until a signal stops it.

Connections are limited in number and time.
"""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import fastapi
import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

BACKLOG = 2048  # connections that wait to be accepted
TAKEN_AT_ONCE = 16  # of them, before the loop looks after others; their files must be free beside `SPARE`
SPARE = 64  # open files that are left for everything but connections
STOP_SECONDS = 10  # for requests in progress when the service stops
EXCHANGE_SECONDS = 120  # from the head of a request until its answer has been taken
MOST_HEAD = 65_536  # bytes that may arrive before the head of a request is complete
WAITS, UPLOADS, ANSWERED = range(3)  # stages of a connection, in the order in which they are given up


class Connection(AutoHTTPProtocol):
    """A connection that knows its stage, and since when."""

    _seen: tuple[object, int] = (None, WAITS)
    since = 0.0
    head_bytes = 0

    def __init__(self, *, most_connections: int, **facts: Any) -> None:
        super().__init__(**facts)
        self.most_connections = most_connections

    def connection_made(self, transport: Any) -> None:
        """Make room for this connection if there are too many."""
        super().connection_made(transport)
        self.since = time.monotonic()
        if len(self.connections) > self.most_connections:
            others = [one for one in self.connections if one is not self and not one.transport.is_closing()]
            least = min(others, key=lambda one: (one.stage, one.since), default=self)
            (self if least.stage == ANSWERED else least).transport.abort()

    def data_received(self, data: bytes) -> None:
        """End a connection whose head is too long."""
        super().data_received(data)
        self.head_bytes = self.head_bytes + len(data) if self.stage == WAITS else 0
        if self.head_bytes > MOST_HEAD:
            self.transport.abort()

    @property
    def stage(self) -> int:
        """Whether it waits for the head of a request, for its body, or for its answer."""
        cycle = self.cycle
        stage = (
            WAITS if cycle is None or cycle.response_complete else UPLOADS if cycle.more_body else ANSWERED
        )
        if (cycle, stage == WAITS) != self._seen:
            self._seen, self.since = (cycle, stage == WAITS), time.monotonic()
        return stage

    def is_late(self, head_seconds: float) -> bool:
        """Whether it has taken too long for what it does."""
        most = head_seconds if self.stage == WAITS else EXCHANGE_SECONDS
        return time.monotonic() - self.since > most


class Server(uvicorn.Server):
    """Stops at SIGINT and SIGTERM once requests in progress are answered, and reloads at SIGHUP."""

    async def startup(self, sockets: Sequence[socket.socket] | None = None) -> None:
        """Listen. asyncio accepts as many connections at once as may wait: few here, and many wait again."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(BACKLOG)

    async def on_tick(self, counter: int) -> bool:
        """End connections that are late; ten times a second."""
        seconds = self.config.app.state.service.limits.head_seconds
        for one in list(self.server_state.connections):
            if one.is_late(seconds):
                one.transport.abort()
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen to the signals; uvicorn itself would raise them again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handlers: dict[int, Any] = dict.fromkeys((signal.SIGINT, signal.SIGTERM), self.handle_exit)
        if hasattr(signal, "SIGHUP"):
            handlers[signal.SIGHUP] = lambda *_: self.config.app.state.service.keeper.wake()
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _most_files() -> int:
    """Connections that leave `SPARE` open files to the rest of the process."""
    try:
        import resource
    except ImportError:  # Windows, where sockets are not files
        return 10_000
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 10_000 if soft == resource.RLIM_INFINITY else max(soft - SPARE - TAKEN_AT_ONCE, 16)


def server_of(app: fastapi.FastAPI) -> Server:
    """The server of an application, not yet running."""
    most = min(app.state.service.limits.connections, _most_files())
    return Server(
        uvicorn.Config(
            app,
            http=partial(Connection, most_connections=most),
            loop="asyncio",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            backlog=TAKEN_AT_ONCE,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
    )


def serve(app: fastapi.FastAPI, listening: socket.socket) -> None:
    """Answer requests on a socket that listens, until SIGINT or SIGTERM; the socket is closed at the end."""
    server_of(app).run(sockets=[listening])
