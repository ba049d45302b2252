"""Quality of the codes under the `paper` protocol, beside what the estimators promise.

    KINHASH_DATA=... python benchmarks/quality.py [--sets cifar10-gist] [--partitions 3]

mAP over the whole ranking, ties as expected values, with learned and with mapped database codes: the mean over
partitions and their standard deviation. The exit code is 1 when the mean of a promise does not hold it.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

from kinhash import EMKSH, EnergyHasher
from kinhash_bench.datasets import load
from kinhash_bench.protocols import PROTOCOLS, evaluate

SETS = {
    "cifar10-gist": "cifar10_gist512",
    "cifar10-network": "cifar10_efficientnet_lite0_pca256",
    "reuters": "reuters21578_minilm384",
    "coco117k": "coco117266_efficientnet_lite0_pca128",
    "corel5k": "mulan_corel5k",
    "mirflickr5000": "mirflickr5000_pca100",
    "bibtex": "mulan_bibtex",
    "delicious": "mulan_delicious",
}
METHODS = {
    "EMKSH": lambda bits, seed: EMKSH(bits, random_state=seed),
    "EMKSH, literal": lambda bits, seed: EMKSH(bits, literal=True, random_state=seed),
    "EnergyHasher": lambda bits, seed: EnergyHasher(bits, random_state=seed),
}
# What is promised of learned database codes: (set, method, bits) and the least mAP.
PROMISES = {
    ("cifar10-gist", "EMKSH", 8): 0.47,
    ("cifar10-gist", "EMKSH", 16): 0.56,
    ("cifar10-gist", "EMKSH", 32): 0.60,
    ("cifar10-gist", "EMKSH", 64): 0.625,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--bits", nargs="+", type=int, default=[64])
    parser.add_argument("--partitions", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["EMKSH", "EnergyHasher"])
    options = parser.parse_args()
    broken = 0
    print(f"{'set':16} {'method':15} {'bits':>4}  {'learned':18} {'mapped':18}")
    for name in options.sets:
        data = load(SETS[name])
        for method in options.methods:
            for bits in options.bits:
                found = []
                for partition in range(options.partitions):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        hasher = METHODS[method](bits, partition)
                        record = evaluate(hasher, data, PROTOCOLS["paper"], partition)
                    found.append([record.learned.value, record.mapped.value])
                means, spread = np.mean(found, axis=0), np.std(found, axis=0)
                cells = " ".join(f"{m:.4f} ± {s:.4f}   " for m, s in zip(means, spread, strict=True))
                least = PROMISES.get((name, method, bits), 0.0)
                broken += means[0] < least
                promise = f"promised {least}" if least else ""
                print(f"{name:16} {method:15} {bits:4}  {cells} {promise}", flush=True)
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
