"""The application: its routes, the objects they share, and what it counts."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from importlib import resources
from typing import Any

import fastapi
import prometheus_client as prometheus

from .. import __version__
from .._internal.types import Facts
from .jobs import Batches, Job
from .pair import Files, Keeper, Pair, about, hints_of
from .requests import (
    BYTES,
    JSON,
    Keys,
    Limits,
    Refused,
    Uploads,
    as_response,
    encode_job,
    install_problems,
    search_job,
)
from .schemas import ENCODE, INFO, PROBE, SEARCH, Schemas, described, schemas_of

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
PARSERS = 2  # threads that parse bodies
PARSED_AT_ONCE = 16_384  # bytes of a body that is parsed without a thread: within a millisecond
Message = MutableMapping[str, Any]
MakeJob = Callable[[Pair, Schemas, Limits, fastapi.Request, bytearray], Job]


class Service:
    """What the routes share: the pair in use, the queue, keys, limits and counters."""

    def __init__(self, files: Files, limits: Limits, keys: Sequence[str], reload_seconds: float) -> None:
        self.limits, self.keys, self.metrics = limits, Keys(keys), Metrics()
        self.keeper = Keeper(files, reload_seconds, self.metrics.reloaded)
        self.metrics.took_up(self.keeper)
        self.batches = Batches(self.metrics.batches.observe)
        self.uploads = Uploads(limits)
        self.metrics.held.set_function(lambda: self.uploads.held)
        self.busy = 0
        self._parsers = ThreadPoolExecutor(PARSERS, "kinhash-parse")
        self._schemas: tuple[Pair, Schemas] | None = None

    def close(self) -> None:
        """End the threads."""
        self.keeper.stop()
        self.batches.close()
        self._parsers.shutdown(wait=False, cancel_futures=True)

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
        """The work of a request, and the body of its response."""
        self.keys.check(request)
        async with self.uploads.body(request) as body:
            with self.admitted():
                pair = self.keeper.pair  # from here on this one, whatever is loaded meanwhile
                asked = (pair, self.schemas(pair), self.limits, request, body)
                if len(body) <= PARSED_AT_ONCE:
                    job = make(*asked)
                else:
                    job = await asyncio.get_running_loop().run_in_executor(self._parsers, make, *asked)
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
    model : path
        Model file, which may be replaced while the service runs.
    index : path
        Index file of codes of this model.
    limits : Limits, default=None
        What one request may cost; None for the defaults of `Limits`.
    api_keys : sequence of str, default=()
        Keys of which every request must bring one; empty lets all in.
    reload_seconds : float, default=1.0
        Seconds between two looks at the files.
    """
    service = Service((os.fspath(model), os.fspath(index)), limits or Limits(), api_keys, reload_seconds)

    @asynccontextmanager
    async def running(app: fastapi.FastAPI) -> AsyncIterator[None]:
        service.keeper.start()
        yield
        service.close()

    app = fastapi.FastAPI(
        title="kinhash",
        version=__version__,
        lifespan=running,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # a redirect would go wherever the header Host says
    )
    app.state.service = service
    install_problems(app)
    _add_routes(app, service)
    routes = frozenset(route.path for route in app.routes)
    app.add_middleware(Watched, metrics=service.metrics, routes=routes)
    return app


def _add_routes(app: fastapi.FastAPI, service: Service) -> None:
    @app.post("/encode", **ENCODE)
    async def encode(request: fastapi.Request) -> Any:
        job, body = await service.answer(request, encode_job)
        facts = {"X-Kinhash-Model": job.pair.model_id, "X-Kinhash-Bits": str(job.pair.index.n_bits)}
        kind = BYTES if job.written is None else JSON  # type: ignore[attr-defined]
        return fastapi.Response(body, 200, facts, kind)

    @app.post("/search", **SEARCH)
    async def search(request: fastapi.Request) -> Any:
        return fastapi.Response((await service.answer(request, search_job))[1], media_type=JSON)

    async def state() -> Any:
        return service.state()

    @app.get("/info", **INFO)
    async def info(request: fastapi.Request) -> Any:
        service.keys.check(request)
        return about(service.keeper.pair)

    for path in PROBES:
        app.get(path, operation_id=path[1:], **PROBE)(state)

    @app.get("/metrics", include_in_schema=False)
    async def metrics(request: fastapi.Request) -> Any:
        service.keys.check(request)
        return fastapi.Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: fastapi.Request) -> Any:
        service.keys.check(request)  # it names the columns
        return described(app, service.schemas(service.keeper.pair))

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


# ---- what the service counts, in the format of Prometheus ------------------------------------------------

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)  # bounds of the histogram
REQUESTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
OTHER = "other"  # any path that is not ours: a label must not grow with what clients make up


class Metrics:
    """Counters of one service, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)

        def make(kind: Any, name: str, text: str, *labels: str, **how: Any) -> Any:
            return kind(f"kinhash_{name}", text, labels, registry=self.registry, **how)

        counter, gauge, histogram = prometheus.Counter, prometheus.Gauge, prometheus.Histogram
        self.requests = make(counter, "requests", "Requests by route and status.", "route", "status")
        self.seconds = make(histogram, "request_seconds", "Seconds of a request.", "route", buckets=SECONDS)
        self.rows = make(counter, "rows", "Rows encoded or searched for.", "route")
        self.batches = make(
            histogram, "batch_requests", "Requests that were answered together.", buckets=REQUESTS
        )
        self.busy = make(gauge, "requests_in_progress", "Requests in progress.")
        self.held = make(gauge, "body_bytes_held", "Bytes of large request bodies in progress.")
        self.reloads = make(counter, "reloads", "Changes of the files, by outcome.", "outcome")
        self.refused = make(
            gauge, "reload_refused", "1 while the files on disk are refused and older ones serve."
        )
        self.index_rows = make(gauge, "index_rows", "Rows of the index.")
        self.pair = make(gauge, "pair_number", "Which pair of files answers, from 1 on.")
        self.model = make(prometheus.Info, "model", "The model that answers.")
        for outcome in ("loaded", "refused"):
            self.reloads.labels(outcome)

    def took_up(self, keeper: Keeper) -> None:
        """Show the pair in use, and whether the files on disk are another."""
        self.refused.set(keeper.refusal is not None)
        self.index_rows.set(len(keeper.pair.index))
        self.pair.set(keeper.pair.number)
        self.model.info({"model_id": keeper.pair.model_id, "n_bits": str(keeper.pair.index.n_bits)})

    def reloaded(self, keeper: Keeper, loaded: bool) -> None:
        """Count a change of the files."""
        self.reloads.labels("loaded" if loaded else "refused").inc()
        self.took_up(keeper)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return bytes(prometheus.generate_latest(self.registry))


class Watched:
    """An ASGI application whose requests are counted and timed, to the last byte handed over.

    Requests that the server cancels when it stops get 503.
    """

    def __init__(self, app: Any, metrics: Metrics, routes: frozenset[str]) -> None:
        self.app, self.metrics, self.routes = app, metrics, routes

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        route = scope["path"] if scope["path"] in self.routes else OTHER
        status, start = None, time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.metrics.busy.inc()
        try:
            await self.app(scope, receive, watched)
        except asyncio.CancelledError:
            if status is not None:
                raise
            stops = ("The service stopped before the request was answered", "a service that runs")
            await as_response(Refused(503, *stops, "Retry in a few seconds"))(scope, receive, watched)
        finally:
            self.metrics.busy.dec()
            self.metrics.requests.labels(route, str(status or 500)).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - start)
