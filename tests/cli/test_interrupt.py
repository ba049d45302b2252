"""Ctrl-C: exit code 130, one line, no temporary files, and what was there before is there unchanged."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import kinhash

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of this kind are a Unix matter")
STOPPED = "Stopped. What was there before is as it was."
LONG = 30  # seconds after which we give up waiting; none of these commands would end by itself


def started(*argv: str, stdin: int | None = None) -> subprocess.Popen[bytes]:
    """The command, listening for signals: before that, Ctrl-C is the interpreter's own affair."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kinhash", *argv], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    threads, deadline = Path(f"/proc/{process.pid}/task"), time.monotonic() + LONG
    while threads.exists() and len(list(threads.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    return process


def interrupt(process: subprocess.Popen[bytes], folder: Path, before: dict[str, bytes]) -> None:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == 130, err
    assert err.decode().strip() == STOPPED
    assert out == b""
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def contents(folder: Path) -> dict[str, bytes]:
    for name in ("out.kin", "codes.kin"):
        (folder / name).write_bytes(b"what was there before")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("seconds", [1.0, 2.5, 4.0])
def test_during_fit(seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 400)).astype(np.float32)
    y = rng.integers(0, 50, 40_000)
    X[:, 0] += 3 * y  # labels that features predict: no warning
    np.save("X.npy", X)
    np.save("y.npy", y)
    before = contents(tmp_path)
    process = started("fit", "X.npy", "--labels", "y.npy", "-o", "out.kin", "--codes", "codes.kin")
    time.sleep(seconds)
    interrupt(process, tmp_path, before)


def test_during_encode(folder: Path) -> None:
    before = contents(folder)
    process = started("encode", "model.kin", "-", "-o", "out.kin", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b".3,.6,.9,1.2,1.5,1.8\n" * 20_000)  # more than a pipe holds: it is reading by now
    process.stdin.flush()
    time.sleep(0.5)
    interrupt(process, folder, before)


PROGRAM = """
import os, sys
from kinhash.cli import main
from kinhash.cli import inputs
import kinhash._internal.container as container

{how}

main(["index", "db.kin", "-o", "out.kin"])
"""
LONG_PRODUCT = """
import numpy as np
square = np.zeros((9000, 9000))
def slow(*args):
    print("now", flush=True)
    while True:
        square @ square  # many seconds during which Python sees no signal
inputs.open_codes = slow
"""
LONG_WRITE = """
import threading
real = os.fsync
def slow(handle):
    print("now", flush=True)
    lock = threading.Lock()
    lock.acquire()
    while True:  # a disk that does not answer, and will not be interrupted
        try:
            lock.acquire()
        except KeyboardInterrupt:
            pass
os.fsync = slow
"""


@pytest.mark.parametrize("how", [LONG_PRODUCT, LONG_WRITE], ids=["computing", "writing"])
def test_when_nothing_listens(how: str, folder: Path) -> None:
    before = contents(folder)
    program = PROGRAM.format(how=how)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"now\n"
    interrupt(process, folder, before)


def test_others_temporary_files_are_left_alone(folder: Path) -> None:
    others = folder / ".out.kin.0123456789ab.kinhash-tmp"
    others.write_bytes(b"another process is writing this")
    before = contents(folder)
    with open(others) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _interrupt_while_writing(folder, before)


def _interrupt_while_writing(folder: Path, before: dict[str, bytes]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(how=LONG_WRITE)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    interrupt(process, folder, before)


EXPORT = """
import os, sys, time, duckdb
from kinhash.cli import main
import kinhash.engines.sql as engine

def turned_into(error):
    def slow(*args):
        try:
            print("now", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            raise error from None
    return slow

query = turned_into(RuntimeError("Query interrupted"))  # as DuckDB has it
conversion = turned_into(duckdb.InvalidInputException("KeyboardInterrupt:"))

def deaf(*args):
    words = ["now"]
    while True:
        try:
            if words:
                print(words.pop(), flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            pass

engine.{where} = {how}
main(["export", "db.kin", "--to", "{engine}", "-o", "out.db"])
"""


def exporting(engine: str, where: str, how: str) -> subprocess.Popen[bytes]:
    pytest.importorskip("duckdb")
    program = EXPORT.format(engine=engine, where=where, how=how)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"now\n"
    return process


@pytest.mark.parametrize("how", ["query", "conversion", "deaf"])
def test_while_duckdb_writes(how: str, folder: Path) -> None:
    """DuckDB turns Ctrl-C into errors of its own; a database that was begun is removed."""
    before = contents(folder)
    interrupt(exporting("duckdb", "block_slices", how), folder, before)


@pytest.mark.parametrize("engine", ["duckdb", "parquet"])
@pytest.mark.parametrize("how", ["query", "conversion", "deaf"])
def test_while_the_answers_of_an_export_are_checked(engine: str, how: str, folder: Path) -> None:
    """The export is complete by then, and the line says so."""
    process = exporting(engine, "sql_reader", how)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == 130, err
    assert err.decode().strip() == "Stopped. out.db is written, and its answers are not checked."
    assert out == b""
    from kinhash.engines import check

    assert check(engine, kinhash.load(folder / "db.kin"), folder / "out.db").passed
