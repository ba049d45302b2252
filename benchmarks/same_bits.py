"""Real rows encoded in many ways: does any bit differ from the one the fixed order gives?

    KINHASH_DATA=... python benchmarks/same_bits.py [--rows 30000] [--models default,linear,rbf,tags]

Models of CIFAR-10's network features (64 bits; tags: COCO's) are fitted once and written to files. The
reference is every row in `FIXED` arithmetic alone. Against it stand rows in shuffled order in batches of 1,
7, 256 and 10,000, on one and on two threads, under every kernel of OpenBLAS that this processor runs, and the
command line under each. Batches of 1 and 7 take a share of the rows, since calls dominate them.
Printed are encodings, bits that differ, and the share of rows that were decided again.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import kinhash

CORES = ("SkylakeX", "Haswell", "Zen", "Sandybridge", "Nehalem", "Prescott")
ALSO = {"Zen": "Haswell", "Prescott": "Katmai"}  # what OpenBLAS calls the kernels these share
BATCHES = {10_000: 1.0, 256: 0.33, 7: 0.1, 1: 0.02}  # size: share of the rows
FIT_ROWS = 5000
CIFAR, COCO = "cifar10_efficientnet_lite0_pca256", "coco117266_efficientnet_lite0_pca128"


def fitted(name, X, y):
    from kinhash.encoders.features import RBF
    from kinhash.encoders.ridge import Ridge

    settings = {
        "default": {},
        "linear": {"encoder": Ridge(features="plain"), "alike": 0},
        "rbf": {"encoder": Ridge(features=RBF()), "alike": 0},
        "tags": {},
    }
    return kinhash.EnergyHasher(64, random_state=0, **settings[name]).fit(X, y)


def prepare(folder, name, n_rows):
    """A model file, rows, and the codes that the fixed order gives."""
    from kinhash._arithmetic import FIXED
    from kinhash.codes import pack_bits
    from kinhash_bench.datasets import load

    data = load(COCO if name == "tags" else CIFAR)
    X = np.ascontiguousarray(data.features[:n_rows], np.float32)
    hasher = fitted(name, np.asarray(data.features[:FIT_ROWS], np.float32), data.labels[:FIT_ROWS])
    hasher.save(folder / f"{name}.kin")
    np.save(folder / f"{name}.npy", X)
    blocks = [X[start : start + 256].astype(np.float64) for start in range(0, len(X), 256)]
    scores = [hasher.fitted_.map.evaluate(block, FIXED)[0] for block in blocks]
    np.save(folder / f"{name}.codes.npy", pack_bits(np.concatenate(scores) > 0))


def child(folder, name, seed):
    """Encode by batches, and print what was found."""
    from threadpoolctl import threadpool_info

    again = []
    handler = logging.Handler()
    handler.emit = lambda record: again.append(record.args[0]) if "decided again" in record.msg else None
    log = logging.getLogger("kinhash")
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    hasher = kinhash.load(folder / f"{name}.kin")
    X, codes = np.load(folder / f"{name}.npy"), np.load(folder / f"{name}.codes.npy")
    rng, differ, encoded = np.random.default_rng(seed), 0, 0
    for size, share in BATCHES.items():
        order = rng.permutation(len(X))[: int(share * len(X))]
        for start in range(0, len(order), size):
            some = order[start : start + size]
            differ += int(np.unpackbits(hasher.encode(X[some]).packed ^ codes[some]).sum())
        encoded += len(order)
    cores = sorted(
        {lib["architecture"] for lib in threadpool_info() if lib.get("internal_api") == "openblas"}
    )
    print(json.dumps({"cores": cores, "encoded": encoded, "differ": differ, "again": int(sum(again))}))


def run(arguments, **variables):
    ran = subprocess.run(arguments, env=os.environ | variables, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return ran.stdout


def by_command_line(folder, name, core):
    """Bits of `kinhash encode` that differ, and rows."""
    out = folder / "out.npy"
    command = ["encode", folder / f"{name}.kin", folder / f"{name}.npy", "-o", out]
    run([sys.executable, "-m", "kinhash", *map(str, command)], OPENBLAS_CORETYPE=core)
    found, codes = np.load(out), np.load(folder / f"{name}.codes.npy")
    return int(np.unpackbits(found ^ codes).sum()), len(codes)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--models", default="default,linear,rbf,tags")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(Path(options.child[0]), options.child[1], int(options.child[2]))
    warnings.simplefilter("ignore", kinhash.errors.KinhashWarning)
    total = {"encoded": 0, "differ": 0, "by command line": 0}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in options.models.split(","):
            prepare(folder, name, options.rows)
            for number, core in enumerate(CORES):
                for threads in ("1", "2"):
                    call = [
                        sys.executable,
                        __file__,
                        "--child",
                        str(folder),
                        name,
                        str(2 * number + int(threads)),
                    ]
                    found = json.loads(run(call, OPENBLAS_CORETYPE=core, OMP_NUM_THREADS=threads))
                    if not {core, ALSO.get(core)} & set(found["cores"]):
                        print(f"{name}: {core} does not run here")
                        break
                    total["encoded"] += found["encoded"]
                    total["differ"] += found["differ"]
                    print(
                        f"{name:8} {core:12} threads {threads}: {found['encoded']:7,} encodings, "
                        f"{found['differ']} bits differ, "
                        f"{found['again'] / found['encoded']:.2%} of rows decided again",
                        flush=True,
                    )
                else:
                    differ, rows = by_command_line(folder, name, core)
                    total["differ"] += differ
                    total["by command line"] += rows
                    print(
                        f"{name:8} {core:12} command line: {rows:,} encodings, {differ} bits differ",
                        flush=True,
                    )
    print(", ".join(f"{what} {count:,}" for what, count in total.items()))
    return None


if __name__ == "__main__":
    main()
