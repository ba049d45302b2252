"""Twins answer while kernels compile behind them: the same bits, and forks and exits that wait for nobody."""

from __future__ import annotations

import logging
import multiprocessing
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from kinhash._internal import compile
from kinhash._internal.compile import _queue, njit
from kinhash.errors import InvalidInput


@pytest.fixture
def behind(monkeypatch):
    """Kernels compile behind their twins, at once."""
    monkeypatch.setenv(compile.VARIABLE, "behind")
    monkeypatch.setattr(compile, "HEAD_START", 0.0)
    yield
    deadline = time.monotonic() + 60
    while _queue._tasks and time.monotonic() < deadline:
        time.sleep(0.01)


class Both:
    """A fresh kernel that adds one, and how often its twin answered."""

    def __init__(self, **options):
        self.twins = 0
        self.kernel = njit(twin=self.twin, **options)(lambda x, out: _add(x, out))

    def twin(self, x, out):
        self.twins += 1
        out[:] = x + 1

    def __call__(self, n=5, dtype=np.float64):
        x = np.arange(n, dtype=dtype)
        out = np.empty_like(x)
        self.kernel(x, out)
        assert (out == x + 1).all()

    @property
    def compiled(self):
        return len(self.kernel.signatures)


@njit()
def _add(x, out):
    for i in range(x.size):
        out[i] = x[i] + 1


def until(holds, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_twin_answers_until_the_kernel_does(behind):
    both = Both()
    both()
    assert both.twins == 1
    until(lambda: both.compiled)
    both()
    assert both.twins == 1
    both(dtype=np.float32)  # other types are another kernel
    assert both.twins == 2
    until(lambda: both.compiled == 2)


def test_a_kernel_is_asked_for_once(behind, monkeypatch):
    monkeypatch.setattr(compile, "HEAD_START", 0.2)
    both, compiled = Both(), []
    compile_now = compile._Task.compile
    monkeypatch.setattr(compile._Task, "compile", lambda task: (compiled.append(task), compile_now(task)))
    workers = [threading.Thread(target=both) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    until(lambda: both.compiled)
    until(lambda: not _queue._tasks)
    assert len(compiled) <= 8 + 1  # a look into the cache each at most, and one compilation
    assert both.twins == 8


def test_much_work_waits_for_the_kernel(behind, monkeypatch):
    monkeypatch.setattr(compile, "HEAD_START", 60.0)  # cut short by those who wait
    both = Both(steps=lambda x, out: compile.MOST_STEPS + 1)
    both()
    assert (both.twins, both.compiled) == (0, 1)


def test_sizes_of_arrays_are_work(behind, monkeypatch):
    monkeypatch.setattr(compile, "MOST_STEPS", 100)
    both = Both()
    both(50)
    assert both.twins == 1
    until(lambda: both.compiled)
    more = Both()
    more(51)
    assert more.twins == 0


@pytest.mark.parametrize(("mode", "twins", "compiled"), [("first", 0, 1), ("never", 1, 0)])
def test_the_variable_chooses(monkeypatch, mode, twins, compiled):
    monkeypatch.setenv(compile.VARIABLE, mode)
    both = Both()
    both()
    assert (both.twins, both.compiled) == (twins, compiled)


def test_other_values_of_the_variable_are_refused(monkeypatch):
    monkeypatch.setenv(compile.VARIABLE, "later")
    with pytest.raises(InvalidInput, match="KINHASH_COMPILE is 'later'"):
        Both()()


def test_the_twin_goes_on_where_the_compiler_fails(behind, caplog):
    answers = []

    def unknown(x):
        return answers.nothing(x)

    kernel = njit(twin=lambda x: answers.append(x))(unknown)  # a function of Python, numba wants no other
    kernel(1.0)
    until(lambda: "could not be compiled" in caplog.text)
    kernel(2.0)
    assert answers == [1.0, 2.0]
    assert caplog.text.count("could not be compiled") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_children_compile_although_the_parent_was_compiling(behind):
    context, both = multiprocessing.get_context("fork"), [Both() for _ in range(4)]

    def child(pipe):
        both[-1]()
        until(lambda: both[-1].compiled)
        pipe.send(both[-1].compiled)

    for one in both:
        one()
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(there,), daemon=True)
    process.start()
    try:
        assert here.poll(60)
        assert here.recv() >= 1
    finally:
        process.kill()
        process.join()
    until(lambda: all(one.compiled for one in both))  # the parent goes on after the fork


SEARCH = """
import logging, sys, time
logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s")
import numpy as np
from kinhash import HammingIndex
from kinhash.index.kernels import top_k
from kinhash._internal.compile import _queue
codes = np.arange(1000, dtype=np.uint64).view(np.uint8).reshape(-1, 8)
found = HammingIndex.from_codes(codes).search(codes[:20], k=7)
wait = float(sys.argv[1])
while _queue._tasks and wait > 0:
    time.sleep(0.1)
    wait -= 0.1
print(found.ids.sum(), found.distances.sum(), len(top_k.signatures))
"""


def run(folder, wait, **variables):
    kept = {name: value for name, value in os.environ.items() if name != compile.VARIABLE}
    begin = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", SEARCH, str(wait)],
        env={**kept, "NUMBA_CACHE_DIR": str(folder), **variables},
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    *answer, compiled = map(int, ran.stdout.split())
    return answer, compiled, ran.stderr.split("\n")[:-1], time.monotonic() - begin


def test_a_cold_process_answers_ends_at_any_time_and_a_warm_one_loads(tmp_path):
    answers = set()
    for wait in (0.0, 1.2, 2.5):  # before compiling begins, and in the middle of it
        answer, _, said, _ = run(tmp_path, wait)
        assert said == ["kinhash INFO"]
        answers.add(tuple(answer))
    answer, compiled, said, _ = run(tmp_path, 200)
    assert (compiled, said) == (1, ["kinhash INFO"])
    answers.add(tuple(answer))
    answer, compiled, said, _ = run(tmp_path, 0)
    assert (compiled, said) == (1, [])  # from the cache, with nothing to say
    answers.add(tuple(answer))
    assert len(answers) == 1


def test_nothing_is_logged_where_kernels_come_first(behind, caplog, monkeypatch):
    monkeypatch.setenv(compile.VARIABLE, "first")
    with caplog.at_level(logging.INFO, "kinhash"):
        Both()()
    assert not caplog.records


SLOW = pytest.mark.slow  # each compiles twice


@pytest.mark.parametrize(
    ("mode", "damage"),
    [
        ("first", "truncated"),
        pytest.param("behind", "noise", marks=SLOW),
        pytest.param("behind", "truncated", marks=SLOW),
        pytest.param("first", "index", marks=SLOW),
    ],
)
def test_a_cache_that_cannot_be_read_counts_as_absent_and_is_written_anew(tmp_path, mode, damage):
    """Every search failed with an UnpicklingError."""
    answer, _, _, _ = run(tmp_path, 0, KINHASH_COMPILE="first")
    ending = "*.nbi" if damage == "index" else "*.nbc"
    for path in tmp_path.rglob(ending):
        raw = path.read_bytes()
        path.write_bytes(b"\x80" + bytes(200) if damage == "noise" else raw[: len(raw) // 2])
    again, compiled, _, _ = run(tmp_path, 200, KINHASH_COMPILE=mode)
    assert (again, compiled) == (answer, 1)
    third, compiled, said, _ = run(tmp_path, 0, KINHASH_COMPILE=mode)
    assert (third, compiled) == (answer, 1)
    assert not any("WARNING" in line for line in said)  # what was written anew is read


def test_no_private_attribute_of_numba_is_used():
    import inspect
    import re

    source = inspect.getsource(compile)
    assert not re.search(r"(dispatcher|kernel|global_compiler_lock|numba|event)\._[a-z]", source)
