"""A real process on a socket: replaced files under load, stops, kills, slow clients, too many requests."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from http.client import HTTPConnection

import numpy as np
import pytest

from kinhash.cli.serve import _listening
from kinhash.errors import FileProblem
from kinhash.serve import Limits

from .conftest import JSON, Local, app_of, ask, listening, process, put, rows_of, stop, until

X = rows_of(30, seed=5)[0]
BODY = {"vectors": X[:3].tolist(), "k": 5, "payload": True}


def head(length):
    lines = [
        "POST /search HTTP/1.1",
        "Host: x",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""])


def read_all(sock):
    parts = []
    while part := sock.recv(65536):
        parts.append(part)
    return b"".join(parts)


def test_every_answer_is_wholly_of_one_pair_while_files_are_replaced(pairs, here):
    """Clients ask without a pause while both files are replaced, one after the other, again and again."""
    local = {one.model_id: one for one in (Local(pairs / name) for name in "ab")}
    wanted = {
        name: [
            {**found, "payload": {column: one.index.payload[column][np.array(found["ids"]) % 1000].tolist()
                                  for column in ("kind", "name")}}
            for found in one.search(X[:3], 5)
        ]
        for name, one in local.items()
    }  # fmt: skip
    body = {**BODY, "payload": ["kind", "name"]}
    wrong, seen, ended = [], dict.fromkeys(wanted, 0), threading.Event()

    def client(port):
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        while not ended.is_set():
            connection.request("POST", "/search", json.dumps(body), JSON)
            response = connection.getresponse()
            found = json.loads(response.read())
            if response.status != 200 or found["results"] != wanted[found["model_id"]]:
                wrong.append((response.status, found))
            seen[found["model_id"]] += 1
        connection.close()

    with process(here, "--reload-seconds", "0.02") as (port, ran):
        clients = [threading.Thread(target=client, args=(port,)) for _ in range(4)]
        for one in clients:
            one.start()
        for turn in range(6):
            number = ask(port, "/readyz")[1]["pair"]
            for name in ("model.kin", "index.kin"):
                put(pairs / "ba"[turn % 2], here, name)
                time.sleep(0.03)
            until(lambda before=number: ask(port, "/readyz")[1]["pair"] > before)
        ran.send_signal(signal.SIGHUP)  # the same files once more
        until(lambda: ask(port, "/readyz")[1]["pair"] == 8)
        ended.set()
        for one in clients:
            one.join()
        code, said = stop(ran)
        assert code == 0
        assert said.count("Loaded model") == 7
    assert wrong == []
    assert all(count > 0 for count in seen.values()), seen


def test_a_stop_answers_what_is_in_progress(here):
    """With keys from the environment."""
    content = json.dumps({**BODY, "payload": False}).encode()
    keys = {"KINHASH_API_KEY": "one two"}
    with process(here, env=keys) as (port, ran), socket.create_connection(("127.0.0.1", port), 30) as slow:
        assert ask(port, "/search", BODY)[0] == 401
        assert ask(port, "/search", BODY, {**JSON, "X-API-Key": "one"})[0] == 200
        start = head(len(content)).replace("Host", "X-API-Key: two\r\nHost").encode()
        slow.sendall(start + content[:20])
        assert ask(port, "/livez")[0] == 200  # by now, the slow request has been seen
        ran.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
        slow.sendall(content[20:])
        answer = read_all(slow)
        ran.wait(20)
        assert answer.startswith(b"HTTP/1.1 200")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["results"] == Local(here).search(X[:3], 5)
        assert (ran.returncode, ran.stderr.read()) == (0, "")


def test_a_stop_does_not_wait_for_ever(pairs, monkeypatch, caplog):
    """What is not answered in time, searches and uploads, gets 503 in the form of our errors."""
    from kinhash.serve import jobs as batches
    from kinhash.serve import server

    going, real = threading.Event(), batches.run
    monkeypatch.setattr(batches, "run", lambda jobs: (going.wait(20), real(jobs))[1])
    monkeypatch.setattr(server, "STOP_SECONDS", 1)
    app = app_of(pairs / "a")
    running = server.server_of(app)
    content = json.dumps(BODY).encode()
    with socket.create_server(("127.0.0.1", 0)) as sock:
        thread = threading.Thread(target=running.run, args=([sock],))
        thread.start()
        clients = [socket.create_connection(sock.getsockname(), 30) for _ in range(3)]
        for one, sent in zip(clients, [content, content, content[:9]], strict=True):
            one.sendall(head(len(content)).encode() + sent)
        until(lambda: app.state.service.busy == 2)
        running.should_exit = True
        answers = [read_all(one) for one in clients]
        for one in clients:
            one.close()
        going.set()
        thread.join(30)
    for answer in answers:
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"connection: close" in answer
        assert b"retry-after: 1" in answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["remedy"].startswith("Retry")
    assert b'status="503"} 3.0' in app.state.service.metrics.text()
    assert "Exception in ASGI application" not in caplog.text


def test_killed_in_the_middle_of_a_request(here):
    """The client sees a broken connection. A new process, with other options, answers as before."""
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    with process(here) as (port, ran):
        wanted = ask(port, "/search", BODY)
        with socket.create_connection(("127.0.0.1", port), 30) as open_one:
            open_one.sendall(head(10).encode())
            ran.kill()
            ran.wait()
            with suppress(ConnectionResetError):
                assert read_all(open_one) == b""
    options = ("--host", "0.0.0.0", "--limit", "rows=3", "--limit", "k=5", "--limit", "body_bytes=5000")
    with process(here, *options) as (port, ran):
        assert ask(port, "/search", BODY) == wanted
        assert ask(port, "/search", {"ids": [1, 2, 3, 4]})[0] == 422
        assert ask(port, "/search", {"ids": [1], "k": 6})[0] == 422
        assert ask(port, "/search", b" " * 5001)[0] == 413
        assert "Anybody who reaches 0.0.0.0 can search" in stop(ran, signal.SIGINT)[1]
        assert ran.returncode == 0
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before  # nothing was written


def test_slow_and_vanished_clients_do_not_hold_up_others(pairs):
    app = app_of(pairs / "a", limits=Limits(body_seconds=1, concurrent=4))
    with listening(app) as port:
        held = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(20)]
        try:
            for number, one in enumerate(
                held
            ):  # half a head, no body, half a body: more than may be in progress
                text = head(100)
                one.sendall([text[:30], text, text + "{" * 50][number % 3].encode())
            gone = socket.create_connection(("127.0.0.1", port), 30)
            gone.sendall((head(100) + "{").encode())
            gone.close()
            assert ask(port, "/search", BODY)[0] == 200
            answers = [read_all(one) for number, one in enumerate(held) if number % 3]
            assert all(answer.startswith(b"HTTP/1.1 408") for answer in answers)
            assert b"did not arrive within 1 s" in answers[0]
            assert ask(port, "/search", BODY)[0] == 200
        finally:
            for one in held:
                one.close()


def metrics_of(port):
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def test_the_connection_of_a_dripping_body_ends(pairs):
    with (
        listening(app_of(pairs / "a", limits=Limits(body_seconds=1))) as port,
        socket.create_connection(("127.0.0.1", port), 30) as slow,
    ):
        slow.sendall(head(1000).encode())
        slow.settimeout(0.1)
        answer, ended = b"", False
        for _ in range(200):
            try:
                slow.sendall(b" ")
                part = slow.recv(65536)
            except TimeoutError:
                continue
            except ConnectionError:
                part = b""
            answer += part
            if not part:
                ended = True
                break
        assert ended
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"connection: close" in answer.lower()


@pytest.mark.parametrize("framing", ["a cut body", "malformed chunks"])
def test_a_broken_upload_is_a_mistake_of_the_client(here, framing):
    """It counts as 400, and leaves no traceback in the log."""
    broken = head(100) + "{"
    if framing == "malformed chunks":
        broken = head(100).replace("Content-Length: 100", "Transfer-Encoding: chunked") + "1\r\n{\r\nzz\r\n"
    with process(here) as (port, ran):
        with socket.create_connection(("127.0.0.1", port), 30) as gone:
            gone.sendall(broken.encode())
            if framing == "malformed chunks":
                assert read_all(gone).startswith(b"HTTP/1.1 400")
        until(lambda: 'route="/search",status=' in metrics_of(port))
        counted = metrics_of(port)
        assert 'kinhash_requests_total{route="/search",status="400"} 1.0' in counted
        assert 'status="500"' not in counted
        code, said = stop(ran)
    assert code == 0
    assert "Traceback" not in said


def test_what_a_vanished_client_asked_for_is_not_computed(pairs, monkeypatch):
    from kinhash.serve import jobs as batches

    app, going, real, computed = app_of(pairs / "a"), threading.Event(), batches.run, []

    def slowly(jobs):
        computed.extend(len(job) for job in jobs)
        going.wait(20)
        return real(jobs)

    monkeypatch.setattr(batches, "run", slowly)
    with listening(app) as port:
        first = threading.Thread(target=ask, args=(port, "/search", {"ids": [1]}))
        first.start()
        until(lambda: computed)
        content = json.dumps({"ids": [1, 2]}).encode()
        with socket.create_connection(("127.0.0.1", port), 30) as gone:
            gone.sendall(head(len(content)).encode() + content)
            until(lambda: app.state.service.busy == 2)
        until(lambda: app.state.service.busy == 1)
        going.set()
        first.join()
        assert ask(port, "/search", {"ids": [1, 2, 3]})[0] == 200
        assert computed == [1, 3]
        assert 'kinhash_requests_total{route="/search",status="400"} 1.0' in metrics_of(port)


def test_a_slow_reader_does_not_hold_up_others(pairs):
    """It asks for megabytes and reads none of them."""
    with listening(app_of(pairs / "a")) as port:
        content = json.dumps({"ids": list(range(400)), "k": 400, "payload": True}).encode()
        with socket.create_connection(("127.0.0.1", port), 30) as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.sendall(head(len(content)).encode() + content)
            assert lazy.recv(15) == b"HTTP/1.1 200 OK"
            for _ in range(5):
                assert ask(port, "/search", BODY)[0] == 200


def test_more_requests_than_may_be_in_progress_are_refused(pairs, monkeypatch):
    app = app_of(pairs / "a", limits=Limits(concurrent=2))
    from kinhash.serve import jobs as batches

    going, real = threading.Event(), batches.run
    monkeypatch.setattr(batches, "run", lambda jobs: (going.wait(20), real(jobs))[1])
    found = []
    with listening(app) as port:
        threads = [
            threading.Thread(target=lambda: found.append(ask(port, "/search", BODY))) for _ in range(2)
        ]
        for one in threads:
            one.start()
        until(lambda: app.state.service.busy == 2)
        status, refused = ask(port, "/search", BODY)
        assert status == 429
        assert "2 requests are in progress" in refused["error"]
        assert ask(port, "/livez")[0] == 200
        going.set()
        for one in threads:
            one.join()
        assert [status for status, _ in found] == [200, 200]
        assert ask(port, "/search", BODY)[0] == 200


def test_a_large_body_is_refused_and_the_answer_arrives(pairs):
    """Also where the client does not say how large it is."""
    with listening(app_of(pairs / "a", limits=Limits(body_bytes=100_000))) as port:
        status, said = ask(port, "/encode", b" " * 20_000_000)
        assert status == 413
        assert "at most 100,000" in said["expected"]
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/encode", (b" " * 60_000 for _ in range(4)), JSON, encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()


def test_garbage_on_the_wire(pairs):
    """Bytes that are no HTTP, and requests that break off, leave the service as it was."""
    rng = np.random.default_rng(0)
    with listening(app_of(pairs / "a")) as port:
        for size in (1, 20, 500, 5000):
            with socket.create_connection(("127.0.0.1", port), 30) as sock:
                sock.sendall(rng.integers(0, 256, size, np.uint8).tobytes())
        for text in ("POST /search HTTP/1.1\r\n\r\n", head(-3), head("x"), head(5) + "\0" * 5):
            with socket.create_connection(("127.0.0.1", port), 30) as sock:
                sock.sendall(text.encode())
        assert ask(port, "/search", BODY)[0] == 200


def odd_request(rng):
    """Bytes that are nearly a request: every part right, odd, or missing."""

    def some(*choices):
        return choices[rng.integers(len(choices)) if rng.random() < 0.12 else 0]

    body = json.dumps(
        {
            some("vectors", "ids", "codes", "where", "é"): some(
                [[0.5] * 6], [1], "AAAA", None, [[1e999]], {}
            ),
            some("k", "radius", "payload", "view"): some(1, -1, 10**30, "x", [True], 0.5),
        }
    ).encode()
    body = some(
        body, body[: rng.integers(len(body))], b"", b"\xff\x00", b"[" * 2000, b"1e5" * 50, b'"\\ud800"'
    )
    lines = [
        f"{some('POST', 'POST', 'GET', 'HEAD', 'BREW', '')} "
        f"{some('/search', '/encode', '/livez', '/metrics', '//search', '/%00', '/../x', '*', '/search?k=x&k=1')} "
        f"{some('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/9', '')}",
        some("Host: x", "Host:", "Host: a\r\nHost: b", "X: y"),
        some("Content-Type: application/json", "Content-Type: application/octet-stream", "Content-Type: ;;"),
        some(
            f"Content-Length: {len(body)}",
            "Content-Length: -1",
            "Content-Length: 1e3",
            "Transfer-Encoding: chunked",
        ),
        some("Accept: */*", "Accept: application/octet-stream", "X-API-Key: \x7f", "Expect: 100-continue"),
        "Connection: close",
    ]
    text = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
    if rng.random() < 0.2:
        place = rng.integers(len(text))
        text = text[:place] + bytes([rng.integers(256)]) + text[place + 1 :]
    return text


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_odd_requests_are_answered_or_refused_and_never_break_anything(pairs, count):
    statuses = Counter()
    with listening(app_of(pairs / "a", limits=Limits(head_seconds=1, body_seconds=1))) as port:
        for seed in range(count):
            with socket.create_connection(("127.0.0.1", port), 30) as sock:
                sock.settimeout(0.3)
                answer, text = b"", odd_request(np.random.default_rng(seed))
                with suppress(ConnectionError):
                    sock.sendall(text)
                    with suppress(TimeoutError):
                        answer = sock.recv(65536)
                    sock.settimeout(30)
                    sock.shutdown(socket.SHUT_WR)  # it waits for more than it got
                    answer += read_all(sock)
                statuses[answer[9:12].decode()] += 1
                assert not answer[9:12].startswith(b"5"), (seed, text, answer)
        assert ask(port, "/search", BODY)[0] == 200
        assert 'status="500"' not in metrics_of(port)
    print(f"{count} odd requests: {dict(statuses)}")
    assert {"200", "400", "404", "422"} <= set(statuses)


def test_answers_are_sent_without_delay():
    """asyncio sets TCP_NODELAY where the socket names its protocol; without it, an answer waits 40 ms."""
    with _listening("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
        with pytest.raises(FileProblem, match="Nothing can listen"):
            _listening("127.0.0.1", listening.getsockname()[1])
