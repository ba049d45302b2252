"""What rounding a model to whole numbers costs: mAP of the codes of the rounded and of the unrounded map.

    KINHASH_DATA=... python benchmarks/rounding.py [--sets reuters,bibtex] [--partitions 5] [--rows 10000]

Default settings, 64 bits. A partition is a random sample of the rows, of which a tenth are queries; the
others are learned from and are the database. Both sides are mapped. Rows at equal distance
count by their mean.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace

import numpy as np

from kinhash import EnergyHasher
from kinhash._internal.rows import Rows
from kinhash.encoders.codes_of_rows import mapped_codes
from kinhash.errors import KinhashWarning
from kinhash.metrics import mean_average_precision
from kinhash_bench.datasets import data_folder, load

NEWSGROUPS = "newsgroups20_tree_minilm384"
SETS = {
    "cifar10-network": "cifar10_efficientnet_lite0_pca256",
    "cifar10-gist": "cifar10_gist512",
    "newsgroups": NEWSGROUPS,
    "reuters": "reuters21578_minilm384",
    "coco117k": "coco117266_efficientnet_lite0_pca128",
    "mirflickr25k": "mirflickr25k_usertags",
    "bibtex": "mulan_bibtex",
}


def read(name):
    """Features and labels; of newsgroups the leaves of their tree."""
    if name == NEWSGROUPS:
        with np.load(data_folder() / f"{name}.npz") as file:
            return (file["features"] * file["scale"] + file["offset"]).astype(np.float32), file["leaf"]
    data = load(name)
    return data.features, data.labels


def compare(X, y, n_rows, seed):
    """mAP of the rounded and of the unrounded map, and the share of bits that differ."""
    order = np.random.default_rng(seed).permutation(X.shape[0])[:n_rows]
    queries, database = np.sort(order[: len(order) // 10]), np.sort(order[len(order) // 10 :])
    hasher = EnergyHasher(64, random_state=seed).fit(X[database], y[database])
    rounded = [hasher.encode(X[rows]) for rows in (queries, database)]
    unrounded = [
        replace(codes, packed=mapped_codes(hasher.fitted_.unrounded, Rows(X[rows]), None))
        for codes, rows in zip(rounded, (queries, database), strict=True)
    ]
    scores = [mean_average_precision(*codes, y[queries], y[database]) for codes in (rounded, unrounded)]
    differ = [np.mean(a.bits() != b.bits()) for a, b in zip(rounded, unrounded, strict=True)]
    return *scores, np.average(differ, weights=[len(queries), len(database)])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--partitions", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore", KinhashWarning)
    print(f"{'set':16} {'mAP':>7} {'mean Δ':>9} {'worst |Δ|':>10} {'bits that differ':>17}", flush=True)
    for short in options.sets.split(","):
        X, y = read(SETS[short])
        cells = np.array([compare(X, y, options.rows, seed) for seed in range(options.partitions)])
        change = cells[:, 0] - cells[:, 1]
        print(
            f"{short:16} {cells[:, 0].mean():7.4f} {change.mean():+9.5f} {np.abs(change).max():10.5f} "
            f"{cells[:, 2].mean():17.4%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
