"""Two pairs of small files, and ways to ask a service: in this process, or over a socket."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from kinhash import EnergyHasher, HammingIndex, load
from kinhash.errors import KinhashWarning
from kinhash.serve import create_app
from kinhash.serve.server import server_of

N, P = 400, 6
JSON = {"Content-Type": "application/json"}


def rows_of(n=N, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    return (rng.normal(size=(n, P)) + 3 * np.eye(P)[y]).astype(np.float32), y


def make_pair(folder, bits, seed, ids=None):
    folder.mkdir()
    X, y = rows_of()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinhashWarning)
        hasher = EnergyHasher(bits, random_state=seed).fit(X, y)
    hasher.save(folder / "model.kin")
    price = np.where(y == 3, np.nan, np.arange(N) / 7)
    payload = {"kind": y, "name": [f"<b>row {i}</b>" for i in range(N)], "price": price, "even": y % 2 == 0}
    HammingIndex.from_codes(hasher.encode(X), ids=ids, payload=payload).save(folder / "index.kin")


@pytest.fixture(scope="session")
def pairs(tmp_path_factory):
    """Folders a and b: models of 20 and 24 bits; the ids of b are those of a plus 1,000. And named ids."""
    folder = tmp_path_factory.mktemp("pairs")
    make_pair(folder / "a", 20, 0)
    make_pair(folder / "b", 24, 1, ids=np.arange(N) + 1000)
    make_pair(folder / "named", 20, 0, ids=[f"item {i}" for i in range(N)])
    return folder


@pytest.fixture
def here(pairs, tmp_path):
    """A folder with a copy of pair a, to be replaced."""
    return Path(shutil.copytree(pairs / "a", tmp_path / "here"))


def put(source, target, name):
    """Replace a file in one step, as `save` does."""
    shutil.copy(source / name, target / f".{name}")
    os.replace(target / f".{name}", target / name)


def app_of(folder, **settings):
    return create_app(folder / "model.kin", folder / "index.kin", **settings)


class Local:
    """The library itself, on the same files: what the service must say."""

    def __init__(self, folder):
        self.model, self.index = load(folder / "model.kin"), load(folder / "index.kin")
        self.model_id = self.model.model_id_

    def search(self, X, k, **how):
        found = self.index.search(self.model.encode(X), k, **how)
        return [{"ids": one.ids.tolist(), "distances": one.distances.tolist()} for one in found]


@contextmanager
def listening(app):
    """The address of a server of this application in a thread."""
    server = server_of(app)
    with socket.create_server(("127.0.0.1", 0)) as sock:
        thread = threading.Thread(target=server.run, args=([sock],))
        thread.start()
        try:
            yield sock.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(30)


@contextmanager
def process(folder, *options, env=None):
    """A real ``kinhash serve``: its port and its process."""
    argv = [sys.executable, "-m", "kinhash", "serve", "model.kin", "index.kin", "--port", "0", "--json"]
    ran = subprocess.Popen(
        [*argv, *options],
        cwd=folder,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = ran.stdout.readline()
        assert line, ran.stderr.read()
        yield int(json.loads(line)["url"].rpartition(":")[2]), ran
    finally:
        ran.kill()
        ran.wait()
        ran.stdout.close()
        ran.stderr.close()


def ask(port, path, body=None, headers=JSON, timeout=30):
    """Status and parsed answer over a connection of its own."""
    connection = HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, sent, headers if body is not None else {})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def until(true, seconds=20):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def stop(ran, number=signal.SIGTERM):
    """Ask a process to stop, and return its exit code and what it wrote to stderr."""
    ran.send_signal(number)
    ran.wait(20)
    return ran.returncode, ran.stderr.read()
