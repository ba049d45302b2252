"""A million rows encoded in many ways: how many digests of the codes are there? One, or something is wrong.

    KINHASH_DATA=... python benchmarks/same_bits.py [--rows 1000000] [--kinds classes,tags,ridge,emksh,rbf]

Models of 64 bits are fitted once on 5,000 rows, of CIFAR-10's network features or of COCO's (tags), and
written to files. The rows to encode are all rows of the set, then midpoints of two of them, block by block of
10,000. They are encoded in batches of 10,000, and shares of them in batches of 256, 7 and 1, under every
kernel of OpenBLAS that this processor runs, on one and on two threads, by the command line, by Numba for a
processor without newer instructions, by onnxruntime and in a headless Chromium. Every way gives a digest
of each block that it encodes. Printed are encodings, ways, and the most digests that a block has.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

import kinhash
from kinhash.codes import pack_bits
from kinhash.models import to_onnx

CORES = ("SkylakeX", "Haswell", "Zen", "Sandybridge", "Nehalem", "Prescott")
ALSO = {"Zen": "Haswell", "Prescott": "Katmai"}  # what OpenBLAS calls the kernels these share
BLOCK = 10_000
BATCHES = {10_000: 1.0, 256: 0.1, 7: 0.03, 1: 0.02}  # size: share of the rows
BY_FILE, BY_ONNX, BY_BROWSER = 60_000, 100_000, 10_000  # rows
FIT_ROWS = 5000
CIFAR, COCO = "cifar10_efficientnet_lite0_pca256", "coco117266_efficientnet_lite0_pca128"
SCORES = """(text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  const rows = new Float32Array(bytes), width = facts.model.features;
  const bits = new Uint8Array((rows.length / width) * facts.bits);
  for (let k = 0; k * width < rows.length; k++) {
    const scores = scoresOf(Float64Array.from(rows.subarray(k * width, (k + 1) * width)));
    bits.set(scores.map((s) => (s > 0 ? 1 : 0)), k * facts.bits);
  }
  const parts = [], n = 8192;
  for (let at = 0; at < bits.length; at += n) parts.push(String.fromCharCode(...bits.subarray(at, at + n)));
  return btoa(parts.join(""));
}"""


def hashers():
    return {
        "classes": kinhash.EnergyHasher(64, random_state=0),
        "tags": kinhash.EnergyHasher(64, random_state=0),
        "emksh": kinhash.EMKSH(64, random_state=0),
    }


def prepare(folder, kind):
    """The files of a model, and the rows of its set."""
    from kinhash_bench.datasets import load

    data = load(COCO if kind == "tags" else CIFAR)
    X = np.ascontiguousarray(data.features, np.float32)
    hasher = hashers()[kind].fit(X[:FIT_ROWS], data.labels[:FIT_ROWS])
    hasher.save(folder / "model.kin")
    to_onnx(hasher, folder / "model.onnx")
    kinhash.explore(hasher.encode(X[:200]), model=hasher, features=X[:200]).save(folder / "page.html")
    np.save(folder / "rows.npy", X)


def blocks(folder, n_rows):
    """Blocks of rows, always the same: real rows, then midpoints of row i and row i + k for k = 1, 2, …"""
    X = np.load(folder / "rows.npy", mmap_mode="r")
    for start in range(0, n_rows, BLOCK):
        places = np.arange(start, min(start + BLOCK, n_rows))
        times, own = places // len(X), places % len(X)
        yield (X[own] + X[(own + times) % len(X)]) * np.float32(0.5)  # of a row and itself: the row


def digest(codes):
    return hashlib.sha256(np.ascontiguousarray(codes)).hexdigest()


def by_batches(folder, n_rows, size):
    """Digests of blocks, encoded in batches of this size."""
    hasher = kinhash.load(folder / "model.kin")
    for block in blocks(folder, n_rows):
        yield digest(
            np.concatenate([hasher.encode(block[at : at + size]).packed for at in range(0, len(block), size)])
        )


def by_onnx(folder, n_rows, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    for block in blocks(folder, n_rows):
        yield digest(session.run(["codes"], {"X": block})[0])


def by_browser(folder, n_rows):
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=program, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_context(offline=True).new_page()
        page.goto((folder / "page.html").as_uri())
        for block in blocks(folder, n_rows):
            told = page.evaluate(SCORES, base64.b64encode(block.tobytes()).decode("ascii"))
            bits = np.frombuffer(base64.b64decode(told), np.uint8).reshape(len(block), -1)
            yield digest(pack_bits(bits > 0))
        browser.close()


def by_command_line(folder, n_rows, core):
    """Digests of blocks that `kinhash encode` reads from one file."""
    source, out = folder / "some.npy", folder / f"{core}.npy"
    np.save(source, np.concatenate(list(blocks(folder, n_rows))))
    command = ["encode", folder / "model.kin", source, "-o", out]
    run([sys.executable, "-m", "kinhash", *map(str, command)], OPENBLAS_CORETYPE=core)
    codes = np.load(out)
    return [digest(codes[at : at + BLOCK]) for at in range(0, n_rows, BLOCK)]


def run(arguments, **variables):
    ran = subprocess.run(arguments, env=os.environ | variables, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return ran.stdout


def child(folder, sizes):
    """Print the kernels of BLAS that run, and the digests of the ways of one process."""
    from threadpoolctl import threadpool_info

    warnings.simplefilter("ignore")
    cores = {lib["architecture"] for lib in threadpool_info() if lib.get("internal_api") == "openblas"}
    found = [[n_rows, list(by_batches(folder, n_rows, size))] for size, n_rows in sizes]
    print(json.dumps({"cores": sorted(cores), "found": found}))


def ways(folder, n_rows):
    """(name, rows, digests) of every way."""
    whole_blocks = {size: BLOCK * math.ceil(share * n_rows / BLOCK) for size, share in BATCHES.items()}
    sizes = json.dumps([[size, min(rows, n_rows)] for size, rows in whole_blocks.items()])
    call = [sys.executable, __file__, "--child", str(folder)]
    for core in CORES:
        for threads in ("1", "2"):
            told = json.loads(run([*call, sizes], OPENBLAS_CORETYPE=core, OMP_NUM_THREADS=threads))
            if not {core, ALSO.get(core)} & set(told["cores"]):
                print(f"{core} does not run here", file=sys.stderr)
                break
            for size, (rows, digests) in zip(BATCHES, told["found"], strict=True):
                yield f"{core}, {threads} threads, batches of {size}", rows, digests
        else:
            rows = min(n_rows, BY_FILE)
            yield f"{core}, command line", rows, by_command_line(folder, rows, core)
    told = json.loads(run([*call, sizes], NUMBA_CPU_NAME="generic"))
    for size, (rows, digests) in zip(BATCHES, told["found"], strict=True):
        yield f"Numba for a generic processor, batches of {size}", rows, digests
    rows = min(n_rows, BY_ONNX)
    for threads in (1, 2):
        yield f"onnxruntime, {threads} threads", rows, list(by_onnx(folder, rows, threads))
    rows = min(n_rows, BY_BROWSER)
    yield "Chromium", rows, list(by_browser(folder, rows))


def measure(folder, kind, n_rows):
    """Encodings, ways, and the most digests of a block (its number and length)."""
    prepare(folder, kind)
    seen, encodings, n_ways = defaultdict(set), 0, 0
    for name, rows, digests in ways(folder, n_rows):
        for number, one in enumerate(digests):
            seen[number, min(BLOCK, rows - number * BLOCK)].add(one)
        encodings, n_ways = encodings + rows, n_ways + 1
        most = max(map(len, seen.values()))
        print(f"  {kind}: {name}: {rows:,} rows, digests so far {most}", file=sys.stderr, flush=True)
    return encodings, n_ways, max(map(len, seen.values()))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kinds", default="classes,tags,ridge,emksh,rbf")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(Path(options.child[0]), json.loads(options.child[1]))
    warnings.simplefilter("ignore", kinhash.errors.KinhashWarning)
    print(f"{'kind':8} {'rows':>10} {'encodings':>12} {'ways':>5} {'digests':>8}", flush=True)
    all_equal = True
    for kind in options.kinds.split(","):
        with tempfile.TemporaryDirectory() as place:
            encodings, n_ways, most = measure(Path(place), kind, options.rows)
        all_equal &= most == 1
        print(f"{kind:8} {options.rows:10,} {encodings:12,} {n_ways:5} {most:8}", flush=True)
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
