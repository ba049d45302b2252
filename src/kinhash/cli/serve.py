"""`kinhash serve`: a read-only HTTP service of a model and its index."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import fields

import click

from ..errors import FileProblem, UnknownName, warn
from ..serve import BACKLOG, Limits, create_app
from ..serve import serve as run
from .terminal import counted, json_option, visible

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@click.command()
@click.argument("model")
@click.argument("index")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="Port; 0: any free one."
)
@click.option(
    "--api-key", "api_keys", multiple=True, envvar="KINHASH_API_KEY", metavar="KEY",
    help="Let in only requests with this key; may be repeated. Better: the variable KINHASH_API_KEY.",
)  # fmt: skip
@click.option(
    "--limit", "given", multiple=True, metavar="NAME=N",
    help="What one request may cost; may be repeated: rows=1000, k=1000, answer_values, body_bytes, ...",
)  # fmt: skip
@click.option(
    "--reload-seconds", type=click.FloatRange(0.01), default=1.0, show_default=True,
    help="Between two looks at the files. SIGHUP looks at once.",
)  # fmt: skip
@json_option
def serve(
    model: str,
    index: str,
    host: str,
    port: int,
    api_keys: tuple[str, ...],
    given: tuple[str, ...],
    reload_seconds: float,
    as_json: bool,
) -> None:
    """Serve MODEL and INDEX over HTTP: encode rows, search the index, look at neighbors on a page.

    Nothing is written. Replace the files and the service takes up both together; a pair that does not belong
    together is refused, and the one before stays. Ctrl-C or SIGTERM answers what is in progress and stops.
    --json prints the address and what is served as one line.

    \b
    Examples:
      kinhash serve model.kin index.kin --limit k=100
      KINHASH_API_KEY=secret kinhash serve model.kin index.kin --host 0.0.0.0 --port 80
    """
    limits = _limits(given)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("kinhash").setLevel(logging.INFO)
    if host not in LOOPBACK and not api_keys:
        warn(f"Anybody who reaches {host} can search. Set KINHASH_API_KEY to a secret.")
    app = create_app(model, index, limits=limits, api_keys=api_keys, reload_seconds=reload_seconds)
    with _listening(host, port) as listening:
        url = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        state = app.state.service.state()
        rows, model_id = counted(state["rows"], "row"), state["model_id"][:12]
        text = f"Serving {rows} at {url} (model {model_id}). Ctrl-C stops."
        result = {"url": url, "process": os.getpid(), **state}
        click.echo(json.dumps(result) if as_json else visible(text))
        sys.stdout.flush()
        with _own_signals():
            run(app, listening)


def _limits(given: tuple[str, ...]) -> Limits:
    """``NAME=N`` as the limits of a service."""
    known, found = [one.name for one in fields(Limits)], {}
    for one in given:
        name, _, number = one.partition("=")
        if name not in known:
            raise UnknownName.among("limit", name, known)
        if not number.isdecimal():
            raise click.UsageError(f"--limit {one}: pass NAME=N with a whole number, such as rows=100.")
        found[name] = int(number)
    return Limits(**found)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, as asyncio asks for it before it sends answers without delay (TCP_NODELAY).
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
        return listening
    except OSError as problem:
        listening.close()
        raise FileProblem(
            f"Nothing can listen on {host}, port {port}: {problem.strerror or problem}",
            "an address of this machine and a free port",
            "Pass another --host or --port",
        ) from None


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep Ctrl-C from the watcher that ends other commands within a second: the service stops by itself."""
    ring = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
