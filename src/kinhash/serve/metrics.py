"""What the service counts, in the format of Prometheus."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from .keeper import Keeper
from .packages import prometheus_client as prometheus

__all__ = ["Counted", "Metrics"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)  # bounds of the histogram
REQUESTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
OTHER = "other"  # any path that is not ours: a label must not grow with what clients make up


class Metrics:
    """Counters of one service, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)
        here = {"registry": self.registry}
        self.requests = prometheus.Counter(
            "kinhash_requests", "Requests by route and status.", ["route", "status"], **here
        )
        self.seconds = prometheus.Histogram(
            "kinhash_request_seconds", "Seconds of a request.", ["route"], buckets=SECONDS, **here
        )
        self.rows = prometheus.Counter("kinhash_rows", "Rows encoded or searched for.", ["route"], **here)
        self.batches = prometheus.Histogram(
            "kinhash_batch_requests", "Requests that were answered together.", buckets=REQUESTS, **here
        )
        self.busy = prometheus.Gauge("kinhash_requests_in_progress", "Requests in progress.", **here)
        self.reloads = prometheus.Counter(
            "kinhash_reloads", "Changes of the files, by outcome.", ["outcome"], **here
        )
        self.refused = prometheus.Gauge(
            "kinhash_reload_refused", "1 while the files on disk are refused and older ones serve.", **here
        )
        self.index_rows = prometheus.Gauge("kinhash_index_rows", "Rows of the index.", **here)
        self.pair = prometheus.Gauge("kinhash_pair_number", "Which pair of files answers, from 1 on.", **here)
        self.model = prometheus.Info("kinhash_model", "The model that answers.", **here)
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


class Counted:
    """An ASGI application whose requests are counted and timed, to the last byte handed over."""

    def __init__(self, app: Any, metrics: Metrics, routes: frozenset[str]) -> None:
        self.app, self.metrics, self.routes = app, metrics, routes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        route = scope["path"] if scope["path"] in self.routes else OTHER
        status, start = [500], time.perf_counter()

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
            await send(message)

        self.metrics.busy.inc()
        try:
            await self.app(scope, receive, watched)
        finally:
            self.metrics.busy.dec()
            self.metrics.requests.labels(route, str(status[0])).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - start)
