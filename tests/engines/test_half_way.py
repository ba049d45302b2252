"""Stopped or out of space half-way: one clear error, and what was there before is as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from kinhash import Codes
from kinhash.engines import ENGINES, check, search, write
from kinhash.errors import EngineProblem, InvalidInput

from .cases import LOCAL, NEW, OLD, asked_of, assert_answers, contents
from .conftest import NewTarget, absent
from .servers import server_or_skip


@pytest.mark.parametrize("name", ["duckdb", "sqlite", "postgres", "pgvector"])
@pytest.mark.parametrize("fault", [(OSError, 28, "No space left on device"), (KeyboardInterrupt,)])
def test_a_fault_after_the_first_block_leaves_nothing(
    name: str, fault: tuple[Any, ...], new_target: NewTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once into a new table, once over an old one."""

    def blocks(n_rows: int, rows: int) -> Any:
        yield slice(0, n_rows // 2)
        raise fault[0](*fault[1:])

    target = new_target(name)
    module = sys.modules[ENGINES[name].write.__module__]
    with monkeypatch.context() as patch:
        patch.setattr(module, "block_slices", blocks)
        with pytest.raises((EngineProblem, KeyboardInterrupt)):
            write(name, NEW, target)
    assert not contents(tmp_path)
    with pytest.raises((InvalidInput, EngineProblem)):
        check(name, NEW, target)
    write(name, OLD, target)
    with monkeypatch.context() as patch:
        patch.setattr(module, "block_slices", blocks)
        with pytest.raises((EngineProblem, KeyboardInterrupt)):
            write(name, NEW, target, overwrite=True)
    assert_answers(name, target, OLD, asked_of(OLD, 3), 60)
    assert not [path for path in contents(tmp_path) if "tmp" in path or "journal" in path]


FULL_DISK = """
import json, resource, sys
import numpy as np
from kinhash import Codes
from kinhash.engines import write
from kinhash.errors import KinhashError
home, *names = sys.argv[1:]
for name in names:
    write(name, Codes(np.zeros((3, 4), np.uint8), 32), f"{home}/spare-{name}")  # imports and compiles
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
rows = np.random.default_rng(0).integers(0, 256, (8_000, 32), dtype=np.uint8)
said = {}
for name in names:
    for place in ("new", "old"):
        try:
            write(name, Codes(rows, 256), f"{home}/{name}-{place}/target", overwrite=True)
        except KinhashError as error:
            said[f"{name}-{place}"] = type(error).__name__ + ": " + str(error)
sys.stdout.write(json.dumps(said))
"""


class FullDisk(NamedTuple):
    home: Path
    said: dict[str, str]
    before: dict[str, dict[str, bytes | None]]


@pytest.fixture(scope="module")
def full_disk(tmp_path_factory: pytest.TempPathFactory) -> FullDisk:
    """All engines in one process to which the system refuses writes beyond 150 kB of any file."""
    if os.name == "nt":
        pytest.skip("limits on the size of files are a matter of Unix")
    home = tmp_path_factory.mktemp("full")
    names = [name for name in LOCAL if not absent(name)]
    before = {}
    for name in names:
        for place in ("new", "old"):
            (home / f"{name}-{place}").mkdir()
        write(name, OLD, home / f"{name}-old" / "target")
        before |= {f"{name}-{place}": contents(home / f"{name}-{place}") for place in ("new", "old")}
    command = [sys.executable, "-c", FULL_DISK, str(home), *names]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0, ran.stderr
    return FullDisk(home, json.loads(ran.stdout), before)


@pytest.mark.parametrize("place", ["new", "old"])
@pytest.mark.parametrize("name", LOCAL)
def test_a_disk_that_fills_up_leaves_what_was_there(name: str, place: str, full_disk: FullDisk) -> None:
    """Real writes of the engine's own files fail, not those of a stand-in."""
    key = f"{name}-{place}"
    assert full_disk.said[key].startswith(("EngineProblem: ", "FileProblem: "))
    assert "could not be written" in full_disk.said[key]
    assert "\n" not in full_disk.said[key]
    left = contents(full_disk.home / key)
    left = {path: left[path] for path in left if left[path] != b""}  # DuckDB leaves an empty log
    if place == "old":
        assert check(name, OLD, full_disk.home / key / "target").passed
    if key != "lance-old":  # an unfinished version of a Lance table leaves a file nobody reads
        assert left == full_disk.before[key]


@pytest.mark.parametrize("name", ["postgres", "pgvector"])
def test_a_database_server_out_of_space_leaves_what_was_there(name: str) -> None:
    """A server of its own that may write files of 4 MB at most: the table does not fit."""
    server = server_or_skip(name, largest_file=4_000_000)
    try:
        target = server.new_schema()
        write(name, OLD, target)
        rows = np.random.default_rng(0).integers(0, 256, (40_000, 128), dtype=np.uint8)
        for table, overwrite in (("codes", True), ("others", False)):
            with pytest.raises(EngineProblem, match=r"could not (extend|write) .*disk space"):
                write(name, Codes(rows, 1024), target, table=table, overwrite=overwrite)
        assert_answers(name, target, OLD, asked_of(OLD, 3), 60)
        with pytest.raises(InvalidInput, match="no table 'others'"):
            search(name, target, OLD, 3, table="others")
    finally:
        server.stop()
