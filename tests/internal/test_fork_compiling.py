"""A fork waits for kernels that other threads compile, so that a child inherits no lock of the compiler."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

START = """
import os, signal, sys, threading, time, warnings
import numba, numpy as np
from numba.core.compiler_lock import global_compiler_lock
from kinhash import HammingIndex
from kinhash._internal import compile
from kinhash._internal.compile import _queue
warnings.simplefilter("ignore", DeprecationWarning)

def compile_one():
    return numba.njit(lambda x: x + 1)(1) == 2

def being_compiled():
    return _queue._compiling.locked()

def until(holds):
    while not holds():
        time.sleep(0.001)

def forked(work):
    child = os.fork()
    if not child:
        signal.alarm(60)  # a child that hangs is killed
        os._exit(0 if work() else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, status
"""

MARGINS = """
compile.HEAD_START = 0.0
index = HammingIndex.from_codes(np.arange(64, dtype=np.uint64).view(np.uint8).reshape(-1, 8))
margins = np.random.default_rng(0).normal(size=(2, 64))
def search():
    return index.search(None, 3, margins=margins).ids.tolist()
thread = threading.Thread(target=search)
thread.start()
until(being_compiled)
forked(lambda: len(search()) == 2)
thread.join()
assert len(search()) == 2
"""

FROM_A_THREAD = """
stop = threading.Event()
def over_and_over():
    while not stop.is_set():
        compile_one()
def fork():
    try:
        for _ in range(5):
            forked(compile_one)
    except BaseException as error:
        found.append(error)
found = []
compiling, forking = threading.Thread(target=over_and_over), threading.Thread(target=fork)
compiling.start()
forking.start()
forking.join()
stop.set()
compiling.join()
assert not found, found
"""

# The thread that forks compiles itself, while the thread of the queue waits for it.
WHILE_COMPILING = """
compile.HEAD_START = 0.0
twins = []
def twin(x):
    twins.append(x)
kernel = compile.njit(twin=twin)(lambda x: x + 1)
with global_compiler_lock:
    kernel(1.0)
    until(_queue._compiling.locked)
    def child():
        until(lambda: kernel(2) == 3)  # compiled by the thread of the child
        return compile_one()
    def freed():
        global_compiler_lock.release()
        try:
            return child()
        finally:
            global_compiler_lock.acquire()
    forked(freed)
until(lambda: kernel.signatures)
assert 1.0 in twins
"""


@pytest.mark.parametrize("what", ["MARGINS", "FROM_A_THREAD", "WHILE_COMPILING"])
def test_a_fork_in_the_middle_of_a_compilation(what, tmp_path):
    kept = {name: value for name, value in os.environ.items() if name != "KINHASH_COMPILE"}
    ran = subprocess.run(
        [sys.executable, "-c", START + globals()[what]],
        env={**kept, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
