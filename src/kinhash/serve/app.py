"""The application: its routes, and the objects they share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib import resources
from typing import Any

from .. import __version__
from .._internal.aliases import Facts
from .batches import Batches
from .bodies import BYTES, JSON, body_of, encode_job, search_job
from .hints import hints_of
from .jobs import Job
from .keeper import Keeper
from .keys import Keys
from .limits import Limits
from .metrics import Counted, Metrics
from .openapi import ENCODE, PROBE, SEARCH, described
from .packages import fastapi
from .pair import Files, Pair
from .problems import Refused, Stoppable, install
from .schemas import Schemas, schemas_of

__all__ = ["Service", "create_app"]

PAGE = {
    "/": ("page.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
PROBES = ("/healthz", "/livez", "/readyz")
RELOAD_SECONDS = 1.0  # between two looks at the files
MakeJob = Callable[[Pair, Schemas, Limits, fastapi.Request, bytes], Job]


class Service:
    """What the routes share: the pair in use, the queue, keys, limits and counters."""

    def __init__(self, files: Files, limits: Limits, keys: Sequence[str], reload_seconds: float) -> None:
        self.limits, self.keys, self.metrics = limits, Keys(keys), Metrics()
        self.keeper = Keeper(files, reload_seconds, self.metrics.reloaded)
        self.metrics.took_up(self.keeper)
        self.batches = Batches(self.metrics.batches.observe)
        self.busy = 0
        self._schemas: tuple[Pair, Schemas] | None = None

    def schemas(self, pair: Pair) -> Schemas:
        """The checks of requests, made anew for every pair."""
        if self._schemas is None or self._schemas[0] is not pair:
            self._schemas = pair, schemas_of(pair, self.limits)
        return self._schemas[1]

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """A place among the requests that are worked on."""
        if self.busy >= self.limits.concurrent:
            raise Refused(
                429,
                f"{self.busy} requests are in progress",
                f"at most {self.limits.concurrent}",
                "Try again in a second",
            )
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1

    async def answer(self, request: fastapi.Request, make: MakeJob) -> tuple[Job, bytes]:
        """What was asked for, and the body of the response."""
        self.keys.check(request)
        body = await body_of(request, self.limits)
        with self.admitted():
            pair = self.keeper.pair  # from here on this one, whatever is loaded meanwhile
            job = make(pair, self.schemas(pair), self.limits, request, body)
            self.metrics.rows.labels(request.url.path).inc(len(job))
            return job, await self._unless_gone(request, self.batches.answer(job))

    @staticmethod
    async def _unless_gone(request: fastapi.Request, body: asyncio.Future[bytes]) -> bytes:
        """The body. Cancels it as soon as the client has disconnected."""

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            body.cancel()

        watching = asyncio.create_task(watch())
        try:
            return await body
        except asyncio.CancelledError:
            if watching.done():
                raise Refused(400, "The client went away before its request was answered") from None
            raise
        finally:
            watching.cancel()

    def state(self) -> Facts:
        """What the service has loaded, and whether it refused newer files."""
        pair = self.keeper.pair
        return {
            "status": "ok",
            "model_id": pair.model_id,
            "pair": pair.number,
            "rows": len(pair.index),
            "reload_refused": self.keeper.refusal,
        }


def create_app(
    model: str | os.PathLike[str],
    index: str | os.PathLike[str],
    *,
    limits: Limits | None = None,
    api_keys: Sequence[str] = (),
    reload_seconds: float = RELOAD_SECONDS,
) -> fastapi.FastAPI:
    """Return a FastAPI application that encodes rows and searches an index; it writes nothing.

    Raises `CodesMismatch` unless the index holds codes of the model. Memory: the index, and its codes once
    more; twice that while newer files are loaded.

    Parameters
    ----------
    model : model file, which may be replaced while the service runs.
    index : index file of codes of this model.
    limits : what one request may cost; None for the defaults of `Limits`.
    api_keys : keys of which every request must bring one; empty lets all in.
    reload_seconds : seconds between two looks at the files.
    """
    service = Service(Files(os.fspath(model), os.fspath(index)), limits or Limits(), api_keys, reload_seconds)

    @asynccontextmanager
    async def running(app: fastapi.FastAPI) -> AsyncIterator[None]:
        service.keeper.start()
        yield
        service.keeper.stop()
        service.batches.close()

    app = fastapi.FastAPI(
        title="kinhash",
        version=__version__,
        lifespan=running,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.service = service
    install(app)
    _add_work(app, service)
    _add_state(app, service)
    _add_page(app, service)
    routes = frozenset(route.path for route in app.routes)
    app.add_middleware(Stoppable)
    app.add_middleware(Counted, metrics=service.metrics, routes=routes)
    return app


def _add_work(app: fastapi.FastAPI, service: Service) -> None:
    @app.post("/encode", **ENCODE)
    async def encode(request: fastapi.Request) -> Any:
        job, body = await service.answer(request, encode_job)
        index = job.pair.index
        facts = {"X-Kinhash-Model": job.pair.model_id, "X-Kinhash-Bits": str(index.n_bits)}
        kind = BYTES if job.written is None else JSON  # type: ignore[attr-defined]
        return fastapi.Response(body, 200, facts, kind)

    @app.post("/search", **SEARCH)
    async def search(request: fastapi.Request) -> Any:
        return fastapi.Response((await service.answer(request, search_job))[1], media_type=JSON)


def _add_state(app: fastapi.FastAPI, service: Service) -> None:
    async def state() -> Any:
        return service.state()

    for path in PROBES:
        app.get(path, operation_id=path[1:], **PROBE)(state)

    @app.get("/metrics", include_in_schema=False)
    async def metrics(request: fastapi.Request) -> Any:
        service.keys.check(request)
        return fastapi.Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Any:
        return described(app, service.schemas(service.keeper.pair))


def _add_page(app: fastapi.FastAPI, service: Service) -> None:
    @app.get("/page.json", include_in_schema=False)
    async def hints(request: fastapi.Request) -> Any:
        service.keys.check(request)
        return hints_of(service.keeper.pair)

    def show(name: str, kind: str) -> Callable[[], Awaitable[Any]]:
        text = (resources.files(__package__) / name).read_text(encoding="utf-8")

        async def file() -> Any:
            return fastapi.Response(text, media_type=kind, headers={"Content-Security-Policy": POLICY})

        return file

    for path, (name, kind) in PAGE.items():
        app.get(path, include_in_schema=False)(show(name, kind))
