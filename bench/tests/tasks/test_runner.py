"""Cells are measured by us, in processes of their own; whatever happens to one becomes a row."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash import EMKSH
from kinhash.errors import DamagedFile, InvalidInput, NotEnoughMemory
from kinhash_bench.datasets import load
from kinhash_bench.protocols import evaluate
from kinhash_bench.tasks import Cell, Result, Store, plan, read_results, run, run_cell, runner
from kinhash_bench.tasks import cell as cell_module
from kinhash_bench.tasks.environment import watch_memory
from kinhash_bench.tasks.result import pack_shares, unpack_shares

CELL = Cell(dataset="digits", protocol="paper", method="EMKSH", n_bits=8, partition=1, sections=("a",))


def test_a_cell_says_what_evaluate_says(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (result,) = run([CELL], store)
    record = evaluate(EMKSH(8, random_state=1), load("digits"), "paper", 1)
    assert record.learned is not None
    assert result.learned is not None
    assert result.learned.value == record.learned.value
    assert result.learned.band == record.learned.band
    np.testing.assert_allclose(result.learned.per_query, record.learned.per_query, atol=1e-5)
    near = record.near_kin["learned"]
    assert (result.learned.near_kin, result.learned.nearest_found) == (near.value, near.recall)
    assert (result.learned.distinct, result.learned.distinct_of) == (near.distinct, 359)
    assert result.protocol_digest == record.protocol_digest
    assert result.checksum == load("digits").checksum
    assert set(result.seconds) == {"load", "fit", "encode", "score"}
    assert result.environment["threads"] >= 1
    assert {"kinhash", "numpy", "cpu", "load"} <= set(result.environment)
    assert result.peak_bytes is None or result.peak_bytes > 0
    assert list(np.diff(result.learned.recall) >= 0) == [True] * (len(result.learned.recall) - 1)
    again = store.find(CELL.key)
    assert again is not None
    assert again.to_json() == result.to_json()
    assert [r.key for r in read_results(tmp_path)] == [CELL.key]


def test_a_float_ranking_has_nearest_kin_too() -> None:
    result = run_cell(replace(CELL, method="Cosine", n_bits=None), load("digits"))
    assert result.mapped is not None
    assert result.mapped.near_kin is not None
    assert result.mapped.near_kin > 0.5  # it ranks by about what defines them
    assert result.mapped.distinct == result.mapped.distinct_of


def test_results_of_older_versions_have_no_nearest_kin() -> None:
    plain = json.loads(run_cell(replace(CELL, method="ITQ"), load("digits")).to_json())
    for name in ("near_kin", "nearest_found", "distinct", "distinct_of"):
        assert plain["mapped"].pop(name) is not None
        plain["learned"] = None
    read = Result.from_json(json.dumps(plain), "old.json")
    assert read.mapped is not None
    assert read.mapped.near_kin is None
    plain["mapped"]["near_kin"] = 0.5
    with pytest.raises(DamagedFile, match="all of its figures"):
        Result.from_json(json.dumps(plain), "half.json")


def test_the_gallery_shows_pictures_in_order_of_distance() -> None:
    result = run_cell(replace(CELL, gallery=True, method="ITQ"), load("digits"))
    assert result.ok, result.error
    assert len(result.gallery) == 8
    for page in result.gallery:
        assert page["query"]["png"]
        distances = [found["distance"] for found in page["found"]]
        assert distances == sorted(distances)
        assert [found["kin"] for found in page["found"]] == [
            found["label"] == page["query"]["label"] for found in page["found"]
        ]


def test_a_cell_that_fails_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    bad = replace(CELL, given={"clip": 99.0})
    wrong_bytes = replace(CELL, checksum="0" * 64)
    results = run([bad, CELL, wrong_bytes], Store(tmp_path), jobs=1)
    assert [result.status for result in results] == ["failed", "ok", "failed"]
    assert "clip" in results[0].error
    assert "checksum" in results[2].error
    assert len(read_results(tmp_path)) == 3


def test_a_process_that_is_killed_or_late_is_a_row_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (late,) = run([CELL], Store(tmp_path), timeout=0.05)
    assert late.error.startswith("timed out")
    start = subprocess.Popen

    def dying(command: list[str], **options: object) -> object:
        return start([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], **options)  # type: ignore[call-overload]

    monkeypatch.setattr(runner.subprocess, "Popen", dying)
    (killed,) = run([CELL], Store(tmp_path))
    assert killed.status == "failed"
    assert killed.error.startswith("out of memory")


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    ok, failed = run([CELL, replace(CELL, given={"clip": 99.0})], store)
    cells = [CELL, replace(CELL, given={"clip": 99.0}), replace(CELL, n_bits=16)]
    todo = plan(cells, store)
    assert [cell.n_bits for cell in todo.todo] == [16]
    assert [result.key for result in todo.done] == [ok.key, failed.key]
    assert [cell.key for cell in plan(cells, store, retry_failed=True).todo] == [failed.key, cells[2].key]
    (shared,) = plan([replace(CELL, sections=("b",))], store).adopted
    assert shared.sections == ("a", "b"), "the same work serves both tables"
    assert store.find(CELL.key).sections == ("a",), "a plan writes nothing"  # type: ignore[union-attr]
    store.path(ok.key).write_text(store.path(ok.key).read_text()[:-9])
    assert CELL in plan(cells, store).todo, "a half-written file does not count"


def test_missing_data_is_told_apart_from_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINHASH_DATA", str(tmp_path))
    found = plan([replace(CELL, dataset="nuswide"), CELL], Store(tmp_path / "runs"))
    assert list(found.missing) == ["nuswide"]
    assert found.todo == (CELL,)


def test_more_jobs_than_cores_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cores"):
        run([CELL], Store(tmp_path), jobs=10_000)


@given(st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), max_size=20))
def test_scores_survive_packing(values: list[float]) -> None:
    np.testing.assert_allclose(unpack_shares(pack_shares(np.array(values, float))), values, atol=1e-5)


def test_a_damaged_result_is_refused(tmp_path: Path) -> None:
    text = run_cell(CELL, load("digits")).to_json()
    plain = json.loads(text)
    for broken in ("", "{}", text[:50], json.dumps(plain | {"format": 2}), json.dumps(plain | {"more": 1})):
        with pytest.raises(DamagedFile, match="here"):
            Result.from_json(broken, "here")
    with pytest.raises(InvalidInput, match="no results"):
        read_results(tmp_path)
    with pytest.raises(InvalidInput, match="not found"):
        read_results(tmp_path / "none")


def test_keys_change_with_the_work_and_with_nothing_else() -> None:
    changed = [
        replace(CELL, **{name: value})  # type: ignore[arg-type]
        for name, value in {
            "dataset": "cifar10",
            "method": "LFH",
            "n_bits": 9,
            "partition": 2,
            "given": {"clip": 1.0},
            "protocol": "inductive",
            "protocol_options": {"n_queries": 7},
            "checksum": "1",
        }.items()
    ]
    assert len({CELL.key, *(cell.key for cell in changed)}) == 1 + len(changed)
    assert replace(CELL, label="x", sections=("b",)).key == CELL.key


INTERRUPTED = """
import signal, subprocess, sys, threading, time
from kinhash_bench.tasks import Cell, Store, run, runner
signal.signal(signal.SIGINT, signal.default_int_handler)
start = subprocess.Popen
def sleeping(command, **options):
    process = start([sys.executable, "-c", "import time; time.sleep(300)"], **options)
    print(process.pid, flush=True)
    if sys.argv[2] == "another thread":
        time.sleep(1)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    return process
runner.subprocess.Popen = sleeping
cell = Cell(dataset="digits", protocol="paper", method="EMKSH", n_bits=8, partition=0)
run([cell], Store(sys.argv[1]))
"""


@pytest.mark.parametrize("reaches", ["the main thread", "another thread"])  # which does not wake the main one
def test_an_interrupted_cell_leaves_neither_a_process_nor_a_row(tmp_path: Path, reaches: str) -> None:
    # In a process of its own: a signal to this one would reach whatever runs the tests.
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, tmp_path, reaches],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    if reaches == "the main thread":
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=60)
    finally:
        process.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
    assert not list(tmp_path.iterdir()), "what was interrupted has not failed, and is run on resuming"


def test_a_worker_that_died_between_cells_is_replaced(tmp_path: Path) -> None:
    worker = runner._Worker(sorted(os.sched_getaffinity(0))[:1], None)
    try:
        assert worker.run(CELL).ok
        assert worker._process is not None
        worker._process.kill()
        worker._process.wait()
        assert worker.run(CELL).ok, "the cell has done nothing wrong"
    finally:
        worker.stop()


def test_workers_end_with_a_parent_that_was_killed() -> None:
    child = (
        "import os, time; from kinhash_bench.tasks.worker import end_with; end_with(os.getppid());"
        " print(os.getpid(), flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    number = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    assert parent.stdout.read() == ""  # the pipe ends when the last process that holds it does
    for _ in range(100):  # whoever inherited it may take a moment to reap it
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, 0)
            time.sleep(0.1)
            continue
        break
    else:
        pytest.fail("the worker goes on without its parent")


def test_too_little_memory_is_called_so_whoever_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (NotEnoughMemory("BSH needs about 90.0 GB", "", "Use fewer rows"), MemoryError("90 GB")):

        def too_much(*_: object, problem: BaseException = error, **__: object) -> None:
            raise problem

        monkeypatch.setattr(cell_module, "evaluate", too_much)
        assert run_cell(CELL, load("digits")).error.startswith("out of memory: ")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from Linux")
def test_peak_memory_does_not_depend_on_what_was_freed_before() -> None:
    before = [b"x" * 100_000 for _ in range(1000)]
    pinned = before[-1]  # keeps the allocator from giving back all of it by itself
    del before
    with watch_memory() as peak:
        again = [b"y" * 100_000 for _ in range(500)]
    assert len(again) == 500
    assert len(pinned) == 100_000
    assert peak.bytes is not None
    assert peak.bytes > 40e6


def test_a_failure_names_no_place_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object, **__: object) -> None:
        raise DamagedFile("/home/me/data/digits.npz: ends too early", "a whole file", "Fetch it again")

    monkeypatch.setattr(cell_module, "evaluate", damaged)
    error = run_cell(CELL, load("digits")).error
    assert error.startswith("DamagedFile: digits.npz: ends too early.")


def test_nearest_kin_of_a_partition_are_found_once_for_all_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    found, digits = cell_module.nearest_kin_of, load("digits")
    monkeypatch.setattr(cell_module, "nearest_kin_of", lambda *args: asked.append(args[2]) or found(*args))
    known: cell_module.Known = {}
    for partition, method, looked_for in ((0, "ITQ", [0]), (0, "LSH", [0]), (1, "LSH", [0, 1])):
        here = replace(CELL, method=method, partition=partition)
        result = run_cell(here, digits, 0.0, known)
        assert asked == looked_for
        alone = run_cell(here, digits)
        asked.pop()
        assert result.mapped is not None
        assert alone.mapped is not None
        assert result.mapped.near_kin == alone.mapped.near_kin
