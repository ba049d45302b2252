"""The application on a socket of its own, until a signal stops it."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .packages import fastapi, uvicorn

__all__ = ["BACKLOG", "serve", "server_of"]

BACKLOG = 2048  # connections that wait to be accepted
STOP_SECONDS = 10  # for requests in progress when the service stops


class Server(uvicorn.Server):
    """Stops at SIGINT and SIGTERM once requests in progress are answered, and reloads at SIGHUP."""

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


def server_of(app: fastapi.FastAPI) -> Server:
    """The server of an application, not yet running."""
    return Server(
        uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
    )


def serve(app: fastapi.FastAPI, listening: socket.socket) -> None:
    """Answer requests on a socket that listens, until SIGINT or SIGTERM; the socket is closed at the end."""
    server_of(app).run(sockets=[listening])
