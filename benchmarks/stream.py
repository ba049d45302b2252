"""Learning from blocks of a memory map: peak memory beyond the block, and codes against one fit.

    python benchmarks/stream.py [--rows 1000000] [--columns 256] [--block 50000]

Writes a float32 matrix of that size to a temporary file, fits EMKSH by ``partial_fit`` block by block in a
process of its own, then by one ``fit`` on the memory map with the same anchors, and compares codes: bits that
differ must have margins within rounding error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

WORK = """
import sys, threading, time
import numpy as np
from kinhash import EMKSH
how, path, rows, columns, block = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
X = np.memmap(path, np.float32, "r", shape=(rows, columns))
y = np.load(path + ".labels.npy")
anchors = np.arange(0, min(block, rows), max(1, min(block, rows) // 1000))[:1000]
hasher = EMKSH(64, anchors=anchors, random_state=0)
EMKSH(8, random_state=0).fit(np.asarray(X[:2000]), y[:2000])  # compile and load first
def status(key):
    return int([line for line in open("/proc/self/status") if line.startswith(key)][0].split()[1]) / 1024
before = peak = status("RssAnon")
def watch():  # the peak inside a call counts, not only what is left after it
    global peak
    while True:
        peak = max(peak, status("RssAnon"))
        time.sleep(0.01)
threading.Thread(target=watch, daemon=True).start()
start = time.perf_counter()
if how == "fit":
    hasher.fit(X, y)
else:
    for first in range(0, rows, block):
        part = np.array(X[first : first + block])
        hasher.partial_fit(part, y[first : first + block])
seconds = time.perf_counter() - start
margins = hasher.decision_function(np.asarray(X[:20000]))
learned = hasher.codes_[:20000] if how == "fit" else hasher.learned_codes(y[:20000])
np.savez(path + "." + how + ".npz", margins=margins, learned=learned)
print(f"{how:12s} {seconds:6.1f} s, anonymous memory grew by {peak - before:5.0f} MB")
"""


def write_matrix(path: Path, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((20, columns)).astype(np.float32)
    y = rng.integers(0, 20, rows)
    X = np.memmap(path, np.float32, "w+", shape=(rows, columns))
    for first in range(0, rows, 50_000):
        part = slice(first, min(first + 50_000, rows))
        noise = rng.standard_normal((part.stop - first, columns), dtype=np.float32)
        X[part] = 3 * (centers[y[part]] * np.float32(0.5) + noise) + 10
    X.flush()
    np.save(str(path) + ".labels.npy", y)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--block", type=int, default=50_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "matrix.f32")
        start = time.perf_counter()
        write_matrix(path, options.rows, options.columns)
        print(
            f"{options.rows:,} × {options.columns} float32 written in {time.perf_counter() - start:.0f} s;",
            end=" ",
        )
        print(f"a block of {options.block:,} rows is {options.block * options.columns * 4 / 1e6:.0f} MB")
        for how in ("partial_fit", "fit"):
            sizes = [str(options.rows), str(options.columns), str(options.block)]
            subprocess.run([sys.executable, "-c", WORK, how, str(path), *sizes], check=True)
        one, blocks = (np.load(f"{path}.{how}.npz") for how in ("fit", "partial_fit"))
        differ = (one["margins"] > 0) != (blocks["margins"] > 0)
        worst = np.abs(one["margins"][differ]).max(initial=0.0) / np.abs(one["margins"]).mean()
        print(f"bits that differ: {differ.sum()} of {differ.size}, margins at most {worst:.1e} of the mean")
        print(f"learned codes equal: {bool((one['learned'] == blocks['learned']).all())}")


if __name__ == "__main__":
    main()
