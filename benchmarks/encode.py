"""Encoding beside the bare product: what it costs that bits are the same on every machine.

    KINHASH_DATA=... python benchmarks/encode.py [--rows 20000] [--rounds 7]

For each width: processor time per row of `encode`, and of the same network as float32 products of NumPy, in
whatever order these add. Taken in turns on one thread, the best round of each.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits

from kinhash import EMKSH, EnergyHasher
from kinhash_bench.datasets import load

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

SETS = {
    "64": ("cifar10_efficientnet_lite0_pca256", 64),
    "256": ("cifar10_efficientnet_lite0_pca256", 256),
    "512": ("cifar10_gist512", 512),
    "tags 64": ("coco117266_efficientnet_lite0_pca128", 64),
    "tags 512": ("coco20770_gist512", 512),
}
METHODS = {"EnergyHasher": (EnergyHasher, (512,)), "EMKSH": (EMKSH, ())}  # and widths of their hidden layers
FIT_ROWS = 5000


def bare_product(width, hidden, n_bits):
    """A network of this shape with random weights, as NumPy would run it."""
    rng = np.random.default_rng(0)
    sizes = (width, *hidden, n_bits)
    layers = [rng.standard_normal(shape, dtype=np.float32) for shape in pairwise(sizes)]

    def run(X):
        for start in range(0, len(X), 4096):
            block = X[start : start + 4096]
            for weights in layers[:-1]:
                block = np.maximum(block @ weights, 0)
            np.packbits(block @ layers[-1] > 0, axis=1)

    return run


def processor_seconds(work, X):
    start = time.process_time()
    work(X)
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(f"{'columns':10}{'method':15}{'bare':>9}{'encode':>9}{'ratio':>7}   processor µs a row")
    for name, (source, columns) in SETS.items():
        data = load(source)
        X = np.ascontiguousarray(data.features[: options.rows, :columns], np.float32)
        for method, (make, hidden) in METHODS.items():
            hasher = make(64, random_state=0, n_jobs=1).fit(X[:FIT_ROWS], data.labels[:FIT_ROWS])
            bare, taken = bare_product(columns, hidden, 64), np.empty((options.rounds, 2))
            hasher.encode(X)  # compiled and warm
            with threadpool_limits(1):
                for turn in range(options.rounds):
                    taken[turn] = processor_seconds(hasher.encode, X), processor_seconds(bare, X)
            encode, plain = taken.min(axis=0) / len(X) * 1e6
            print(f"{name:10}{method:15}{plain:9.2f}{encode:9.2f}{encode / plain:7.2f}", flush=True)


if __name__ == "__main__":
    main()
