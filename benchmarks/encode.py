"""Encoding beside the bare product: what it costs that bits are the same on every machine.

    KINHASH_DATA=... python benchmarks/encode.py [--rows 20000] [--rounds 7] [--only TEXT] [--keep FOLDER]

For each map and width: processor time per row of `encode`, and of the same blocks through the same formulas
in plain NumPy and BLAS, in whatever order these add, with no bound of an error and nothing decided again.
Both check their input first.
Taken in turns on one thread, the best round of each. Beside it the share of rows decided again.
Columns are those of CIFAR-10 (network features, the first 64 of them, GIST) and, for tags, of COCO. With
``--keep`` models, rows and codes are written to a folder, or compared where they are there already.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
import warnings
from pathlib import Path

import numpy as np

import kinhash
from kinhash import EnergyHasher
from kinhash._internal.blocks import map_rows
from kinhash._internal.rows import Rows
from kinhash._internal.validation import check_features
from kinhash.codes import pack_bits
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.features import RBF
from kinhash.encoders.maps import ExpectedMap, StackedMap
from kinhash.encoders.ridge import Ridge
from kinhash.solvers import SOLVERS
from kinhash_bench.datasets import load

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

SETS = {
    "64": ("cifar10_efficientnet_lite0_pca256", 64),
    "256": ("cifar10_efficientnet_lite0_pca256", 256),
    "512": ("cifar10_gist512", 512),
    "tags 64": ("coco117266_efficientnet_lite0_pca128", 64),
    "tags 512": ("coco20770_gist512", 512),
}
PLAIN = ExpectedLabels(features="plain")
MAPS = {
    "linear": {"encoder": Ridge(features="plain"), "alike": 0},
    "rbf": {"encoder": Ridge(features=RBF()), "alike": 0},
    "expected": {"encoder": PLAIN, "alike": 0},
    "expected, rbf": {"encoder": ExpectedLabels(features="rbf"), "alike": 0},
    "expected, polish": {"encoder": PLAIN, "alike": 0, "solver": SOLVERS["coordinate"]()},
    "expected, alike bits": {"encoder": PLAIN, "alike": 0.5},
}
FIT_ROWS = 5000


def bare(found, block):
    """Scores of raw rows without a word on how good they are."""
    if isinstance(found, StackedMap):
        return np.concatenate([bare(part, block) for part in found.parts], axis=1)
    z = found.preparation(block)
    if isinstance(found, ExpectedMap):
        return found.readout.scores(found.expected.similarity(z)) - found.threshold
    return z @ found.weights + found.intercept


def processor_seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


class Again(logging.Handler):
    """How many rows the last call decided again, from what it logs."""

    rows = 0

    def emit(self, record):
        if "decided again" in record.msg:
            self.rows = int(record.args[0])


def race(hasher, X, rounds, again):
    def bare_codes():
        rows = Rows(check_features(hasher, X, reset=False))
        return map_rows(lambda block: pack_bits(bare(found, block) > 0), rows.read, len(X), 1)

    found = hasher.fitted_.map
    codes, others = hasher.encode(X).packed, bare_codes()  # compiled and warm
    share, taken = again.rows / len(X), np.empty((rounds, 2))
    for turn in range(rounds):
        taken[turn] = processor_seconds(lambda: hasher.encode(X)), processor_seconds(bare_codes)
    return codes, int(np.unpackbits(codes ^ others).sum()), taken.min(axis=0) / len(X), share


def kept(folder, name, hasher, X, codes):
    """Write what was encoded by what; bits that differ from those written before, or None."""
    path = folder / f"{name}.kin"
    if path.exists():
        return int(np.unpackbits(np.load(path.with_suffix(".npy"))[: len(codes)] ^ codes).sum())
    hasher.save(path)
    np.save(path.with_suffix(".npy"), codes)
    return None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", kinhash.errors.KinhashWarning)
    again = Again()
    log = logging.getLogger("kinhash")
    log.addHandler(again)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    print(f"{'columns':10}{'map':22}{'bare':>9}{'encode':>9}{'ratio':>7}{'again':>8}   processor µs a row")
    for width, (source, columns) in SETS.items():
        data = load(source)
        X = np.ascontiguousarray(data.features[: options.rows, :columns], np.float32)
        for name, settings in MAPS.items():
            if options.only not in f"{name} {width}":
                continue
            path = None if options.keep is None else options.keep / f"{name} {width}.kin"
            if path is not None and path.exists():
                hasher = kinhash.load(path).set_params(n_jobs=1)
            else:
                fresh = EnergyHasher(64, random_state=0, n_jobs=1, **settings)
                hasher = fresh.fit(X[:FIT_ROWS], data.labels[:FIT_ROWS])
            codes, differ, (encode, plain), share = race(hasher, X, options.rounds, again)
            line = (
                f"{width:10}{name:22}{plain * 1e6:9.2f}{encode * 1e6:9.2f}{encode / plain:7.2f}{share:8.2%}"
            )
            line += f"   {differ} bits differ from the bare product's"
            if options.keep is not None:
                changed = kept(options.keep, f"{name} {width}", hasher, X, codes)
                line += "" if changed is None else f", {changed} from those kept"
            print(line, flush=True)


if __name__ == "__main__":
    main()
