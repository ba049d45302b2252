"""What costs too much is refused before it costs, and a flood of connections leaves room for others."""

from __future__ import annotations

import http.client
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, suppress

import pytest
from fastapi.testclient import TestClient

from kinhash.serve import Limits

from .conftest import JSON, P, app_of, ask, listening, process, until

HEAD = "POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
MEGA = 1_000_000


@pytest.fixture(scope="module")
def client(pairs):
    with TestClient(app_of(pairs / "a")) as client:
        yield client


FILTERS = [
    ("9" * 100_000 + "x", "100,001 characters"),
    ('"' * 16_000_000, "characters"),
    (" or ".join(["kind==1"] * 65), "65 conditions"),
    ("kind in [" + ",".join(["1"] * 4_000) + "]" + " or 1 in kind" * 64, "65 conditions"),
    ("`kind` in [" + ", ".join(["1"] * 3_300) + "]", None),
    ("kind == 'in == in \\' < ,' or 1 == kind and " * 3 + "(", None),
    ({f"c{i}": 1 for i in range(65)}, "65 conditions"),
    ({"kind": [1] * 10_001}, "10,001 values"),
    ([1] * 10_001, "10,001 values"),
    ([1] * 10_000, None),
]


@pytest.mark.parametrize(("where", "said"), FILTERS, ids=lambda value: str(value)[:12])
def test_long_filters_are_refused_with_a_sentence(client, where, said):
    answer = client.post("/search", json={"ids": [1], "where": where})
    if said is None:
        assert "The filter has" not in answer.text
    else:
        assert answer.status_code in (413, 422)
        assert said in answer.json()["error"] or answer.status_code == 413
        assert answer.json()["expected"].startswith("at most")


BODIES = [
    b'{"ids": [1], "where": {' + b",".join(b'"c%d": 1' % i for i in range(70_000)) + b"}}",
    b'{"ids": [1], "where": [' + b"1," * MEGA + b"1]}",
    b'{"vectors": [[' + b"true," * MEGA + b"1]]}",
    b'{"vectors": [' + b"[1]," * MEGA + b"[1]]}",
    b'{"vectors": [' + b"[" * MEGA,
    b'{"ids": [' + b"9" * 100_000 + b"]}",
    b'{"vectors": [[' + b"9" * MEGA + b"]]}",
    b'{"ids": [' + b'"a",' * 200_000 + b"1]}",
    json.dumps({"ids": [1], "where": {f"k{i}": {"a": []} for i in range(3000)}}).encode(),
    json.dumps({"ids": [1], "payload": [f"k{i}" for i in range(5000)]}).encode(),
]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_bodies_of_too_many_pieces_are_refused(client, body):
    answer = client.post("/search", content=body, headers=JSON)
    assert answer.status_code in (413, 422)
    assert len(answer.text) < 2_000
    assert answer.json()["error"]


def test_no_redirect_follows_the_host_that_a_client_names(client):
    for path in ("/livez/", "/search/", "/page.js/"):
        answer = client.get(path, headers={"Host": "evil.example"}, follow_redirects=False)
        assert answer.status_code == 404
        assert "location" not in answer.headers


def test_large_bodies_share_a_budget_and_small_ones_always_pass(pairs):
    app = app_of(pairs / "a", limits=Limits(waiting_bytes=300_000, body_seconds=20))
    uploads = app.state.service.uploads
    small = {"ids": [1], "k": 2}
    with listening(app) as port, ExitStack() as stack:
        for _ in range(2):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
            one.sendall(HEAD.format(140_000).encode() + b" " * 139_000)
        until(lambda: uploads.held >= 270_000)
        assert uploads.held <= 300_000
        status, said = ask(port, "/search", b" " * 100_000)  # counted by what it declares
        assert status == 429
        assert "300,000" in said["expected"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)  # counted while it arrives
        connection.request("POST", "/search", (b" " * 10_000 for _ in range(20)), JSON, encode_chunked=True)
        assert connection.getresponse().status == 429
        connection.close()
        assert ask(port, "/search", small)[0] == 200
    until(lambda: uploads.held == 0)


def test_silent_connections_end_in_time(pairs):
    """New ones, half a head, and idle ones after an answer; not one that asks again and again."""
    with listening(app_of(pairs / "a", limits=Limits(head_seconds=1))) as port, ExitStack() as stack:
        busy = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 30)) for _ in range(3)]
        silent[1].sendall(b"GET /livez HTTP/1.1\r\nHost:")
        silent[2].sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HT")
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            busy.request("GET", "/livez")
            assert busy.getresponse().read()
            time.sleep(0.05)
        busy.close()
        for one in silent:
            one.settimeout(20)
            with suppress(ConnectionResetError):
                while one.recv(65_536):
                    pass


def test_a_head_without_end_is_cut_off(pairs):
    with listening(app_of(pairs / "a")) as port, socket.create_connection(("127.0.0.1", port), 30) as one:
        one.sendall(b"GET /livez HTTP/1.1\r\n")
        with pytest.raises(ConnectionError):  # noqa: PT012 - which of them the server cuts off is its matter
            while True:
                one.sendall(b"A" * 1000 + b": b\r\n")
                time.sleep(0.001)
        assert ask(port, "/livez")[0] == 200


def test_beyond_the_limit_of_connections_the_longest_silent_one_ends(pairs):
    app = app_of(pairs / "a", limits=Limits(connections=10, head_seconds=600, body_seconds=30))
    with listening(app) as port, ExitStack() as stack:

        def connect():
            return stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))

        upload = connect()
        upload.sendall(HEAD.format(50).encode() + b'{"ids": ')
        until(lambda: b"requests_in_progress 1.0" in app.state.service.metrics.text())
        for _ in range(40):
            connect()
        for _ in range(5):
            assert ask(port, "/livez")[0] == 200
        upload.sendall(b"[1]}".ljust(42))
        assert upload.recv(15) == b"HTTP/1.1 200 OK"


# ---- slow: how long others wait under attack (run with -s to see the figures) -----------------------------


# Runs in a process of its own, so that the attack does not slow the clock: milliseconds and statuses.
OTHERS = """
import http.client, json, sys, threading, time
port, ended, found = int(sys.argv[1]), threading.Event(), {"livez": [], "search": []}

def ask(name, method, body):
    while not ended.is_set():
        start = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request(method, "/" + name, body, {"Content-Type": "application/json"})
        status = connection.getresponse().status
        connection.close()
        found[name].append((1000 * (time.perf_counter() - start), status))
        time.sleep(0.01)

asked = [("livez", "GET", None), ("search", "POST", json.dumps({"ids": [1], "k": 3}))]
threads = [threading.Thread(target=ask, args=one) for one in asked]
for one in threads:
    one.start()
sys.stdin.read()
ended.set()
for one in threads:
    one.join()
print(json.dumps(found))
"""


def silent(port, stack):
    for _ in range(300):
        stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 30)))
    time.sleep(4)


def uploading(port, stack):
    held = [
        stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 30))) for _ in range(60)
    ]

    def send(one):
        one.settimeout(5)
        try:
            one.sendall(HEAD.format(16 * MEGA).encode())
            for _ in range(150):
                one.sendall(b" " * 100_000)
                time.sleep(0.02)
        except OSError:
            pass

    threads = [threading.Thread(target=send, args=(one,)) for one in held]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def digits(port, stack):
    for _ in range(20):
        for where in ("9" * 100_000 + "x", "kind == " + "9" * 9_000 + "x"):
            assert ask(port, "/search", {"ids": [1], "where": where})[0] == 422


def conditions(port, stack):
    for _ in range(20):
        assert ask(port, "/search", {"ids": [1], "where": " or ".join(["kind == 1"] * 69_000)})[0] == 422
        where = {f"{i:08}": 1 for i in range(60_000)}
        assert ask(port, "/search", {"ids": [1], "where": where})[0] == 413
        assert ask(port, "/search", {"ids": [1], "where": " or ".join(["kind == 1"] * 60)})[0] == 200


def large(port, stack):
    rows = json.dumps({"vectors": [[0.123456789] * P] * 1000, "k": 1}).encode()
    for _ in range(20):
        assert ask(port, "/search", rows)[0] == 200


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="limits of open files")
@pytest.mark.parametrize("attack", [silent, uploading, digits, conditions, large])
def test_probes_and_searches_are_answered_under_attack(here, attack):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        ran = process(here)
        port, service = ran.__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1024), hard))
    for where in (None, "kind == 1", {"kind": 1}):  # kernels are compiled by now, as production.md asks
        assert ask(port, "/search", {"ids": [1], "where": where}, timeout=120)[0] == 200
    assert ask(port, "/search", {"vectors": [[0.5] * P] * 1000, "k": 1}, timeout=120)[0] == 200
    others = subprocess.Popen(
        [sys.executable, "-c", OTHERS, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        time.sleep(0.5)
        with ExitStack() as stack:
            attack(port, stack)
        found = json.loads(others.communicate("", 60)[0])
        with open(f"/proc/{service.pid}/status") as facts:
            peak = next(line.split()[1] for line in facts if line.startswith("VmHWM"))
    finally:
        others.kill()
        ran.__exit__(None, None, None)
    said = [f"{name}: {len(times)}, at most {max(times)[0]:.0f} ms" for name, times in found.items()]
    print(f"\n{attack.__name__}: {'; '.join(said)}; peak {int(peak) // 1000} MB")
    for times in found.values():
        assert {status for _, status in times} == {200}
        assert max(times)[0] < 1_000  # on an idle machine: 50 ms for probes, 200 ms for searches
