"""`kinhash serve` on loopback: requests per second and latency, and answers while files are replaced.

    python benchmarks/serve.py                    # a million codes: 1, 8 and 64 clients
    python benchmarks/serve.py --soak 120         # files replaced for two minutes, every answer checked

*Load*: a million random 64-bit codes with a payload column of 100 values. A request is one row of 64 float32
numbers as bytes, k = 10; with a filter, 1 % of the rows pass. Each client keeps one connection and asks again
when it has its answer. Clients are one process of asyncio, on the cores of the server. Latency is what a
client waits. Memory is the server's resident set after the load.

*Soak*: two pairs of model and index in turn, the two files of a pair replaced one after the other, 8 clients.
An answer counts as mixed unless it equals that of one pair, whose model id it names.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from kinhash import Codes, EnergyHasher, HammingIndex, load

N_FEATURES = 64


def rows(n, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 10
    return (rng.normal(size=(n, N_FEATURES)) + 3 * np.eye(10, N_FEATURES)[y]).astype("<f4"), y


def make_pair(folder, n_rows, seed):
    """A model, and an index of random codes that carry its id."""
    folder.mkdir()
    hasher = EnergyHasher(64, random_state=seed).fit(*rows(2000, 0))
    hasher.save(folder / "model.kin")
    rng = np.random.default_rng(seed)
    packed = rng.integers(0, 256, (n_rows, 8), dtype=np.uint8)
    codes = Codes(packed, 64, None, hasher.model_id_)
    payload = {"group": rng.integers(0, 100, n_rows)}
    HammingIndex.from_codes(codes, payload=payload).save(folder / "index.kin")


class Server:
    """A process of `kinhash serve` on files in a folder."""

    def __init__(self, folder, *options):
        argv = [sys.executable, "-m", "kinhash", "serve", "model.kin", "index.kin", "--port", "0", "--json"]
        self.process = subprocess.Popen(
            [*argv, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.port = int(json.loads(self.process.stdout.readline())["url"].rpartition(":")[2])

    def memory(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def cpu(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


def request(body, kind, path):
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def ask(reader, writer, message):
    """Status and body of one request over an open connection."""
    writer.write(message)
    head = await reader.readuntil(b"\r\n\r\n")
    size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    return int(head[9:12]), await reader.readexactly(size)


async def client(port, messages, until, heard):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = 0
    while time.perf_counter() < until:
        message = messages[number % len(messages)]
        start = time.perf_counter()
        status, body = await ask(reader, writer, message)
        heard(number % len(messages), status, body, time.perf_counter() - start)
        number += 1
    writer.close()


async def load_of(port, clients, messages, seconds):
    took = []

    def heard(number, status, body, one):
        assert status == 200, body
        took.append(one)

    until = time.perf_counter() + seconds
    await asyncio.gather(
        *(client(port, messages[i::clients] or messages, until, heard) for i in range(clients))
    )
    return np.array(took)


def measure(folder, n_rows, seconds):
    make_pair(folder / "one", n_rows, 0)
    server = Server(folder / "one")
    X = rows(1000, 1)[0]
    for title, path in (("no filter", "/search?k=10"), ("filter", "/search?k=10")):
        if title == "filter":
            bodies = [json.dumps({"vectors": [row.tolist()], "where": {"group": 7}}).encode() for row in X]
            messages = [request(body, "application/json", path) for body in bodies]
        else:
            messages = [request(row.tobytes(), "application/octet-stream", path) for row in X]
        asyncio.run(load_of(server.port, 1, messages, 0.5))
        for clients in (1, 8, 64):
            cpu = server.cpu()
            took = 1e3 * asyncio.run(load_of(server.port, clients, messages, seconds))
            cpu = 1e3 * (server.cpu() - cpu) / len(took)
            middle, late = np.percentile(took, [50, 99])
            print(
                f"{title:10} {clients:3d} clients {len(took) / seconds:7.0f} requests/s   "
                f"p50 {middle:6.2f} ms   p99 {late:6.2f} ms   {cpu:.2f} CPU ms per request",
                flush=True,
            )
    print(f"memory {server.memory():.0f} MB, exit code {server.stop()}")


async def replaced(folder, server, seconds, X):
    """Counts of answers by model, with those that are wrong, and how often files were replaced."""
    wanted = {}
    for name in "ab":
        hasher, index = load(folder / name / "model.kin"), load(folder / name / "index.kin")
        found = index.search(hasher.encode(X), 10)
        wanted[hasher.model_id_] = [(one.ids.tolist(), one.distances.tolist()) for one in found]
    counts = Counter()

    def heard(number, status, body, one):
        if status != 200:
            counts[f"status {status}"] += 1
            return
        answer = json.loads(body)
        (result,) = answer["results"]
        right = (result["ids"], result["distances"]) == wanted[answer["model_id"]][number]
        counts[f"of model {answer['model_id'][:8]}" if right else "mixed"] += 1

    messages = [request(row.tobytes(), "application/octet-stream", "/search?k=10") for row in X]
    until = time.perf_counter() + seconds

    async def replace():
        turn = 0
        while time.perf_counter() < until:
            turn += 1
            for name in ("model.kin", "index.kin") if turn % 4 < 2 else ("index.kin", "model.kin"):
                shutil.copy(folder / "ab"[turn % 2] / name, folder / "served" / f".{name}")
                os.replace(folder / "served" / f".{name}", folder / "served" / name)
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.3)
        counts["pairs of files put in place"] = turn

    await asyncio.gather(replace(), *(client(server.port, messages, until, heard) for _ in range(8)))
    return counts


def soak(folder, seconds):
    for number, name in enumerate("ab"):
        make_pair(folder / name, 100_000, number)
    shutil.copytree(folder / "a", folder / "served")
    server = Server(folder / "served", "--reload-seconds", "0.1")
    before = server.memory()
    counts = asyncio.run(replaced(folder, server, seconds, rows(100, 1)[0]))
    for name, count in sorted(counts.items()):
        print(f"{name}: {count:,}")
    print(f"mixed answers: {counts['mixed']}; memory {before:.0f} MB before, {server.memory():.0f} MB after")
    print(f"exit code {server.stop()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=4, help="of each load")
    parser.add_argument("--soak", type=float, help="seconds to replace files for, instead of the load")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if options.soak:
            soak(Path(name), options.soak)
        else:
            measure(Path(name), options.rows, options.seconds)


if __name__ == "__main__":
    main()
