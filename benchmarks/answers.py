"""What a person sees in the answers: relevance, exact tag sets, look-alikes, rows that find themselves.

    KINHASH_DATA=... python benchmarks/answers.py [coco corel5k ...] [--partitions 5] [--first 0] [--bits 64]
        [--set trust=0.6 alike=0 ...] [--json out.json]

One line for each data set, means and standard deviations over partitions:

learned, later   mAP of queries that no fit saw, whole rankings, expected value over ties; the database is the
                 training rows with their learned codes, or rows that came after the fit with mapped codes
p10, p10-later   share of relevant rows (a shared tag, the same class) among the first ten
exact, jac       tags: share of the first ten with the query's own tag set, their mean Jaccard index
near             share of the ten nearest relevant rows (by cosine) among the first hundred
self             share of training rows whose features, encoded as a new row, find that row first; a tie
                 between n rows counts 1/n
mix              share of the first ten taken by rows with mapped codes, which are 15 % of the database
seconds          of `fit`

Equal distances count as the expected value over all orders; in "mix" they fall at random.
Partitions are drawn from (SEED, number): nothing in the package was chosen on these rows as queries.
"""

from __future__ import annotations

import argparse
import ast
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from kinhash import EnergyHasher
from kinhash.errors import KinhashWarning
from kinhash.metrics.answers import AnswerSheet, self_retrieval
from kinhash.supervision import Labels, read_labels
from kinhash_bench.datasets import data_folder, load

SEED = 34_118
SETS = {
    "coco": ("coco117266_efficientnet_lite0_pca128", 7500),
    "corel5k": ("mulan_corel5k", 3500),
    "mirflickr25k": ("mirflickr25k_usertags", 7500),
    "reuters": ("reuters21578_minilm384", 7500),
    "bibtex": ("mulan_bibtex", 5000),
    "newsgroups": ("newsgroups20_tree_minilm384", 7500),
    "cifar10-network": ("cifar10_efficientnet_lite0_pca256", 8000),
    "cifar10-gist": ("cifar10_gist512", 8000),
    "digits": ("digits", 1200),
}
QUERIES, LATER, SELF = 500, 2000, 1000
FIGURES = ("learned", "later", "p10", "p10-later", "exact", "jac", "near", "self", "mix", "seconds")


def read(name: str) -> tuple[Any, Labels]:
    if name.startswith("newsgroups"):
        with np.load(data_folder() / f"{name}.npz") as file:
            return file["features"] * file["scale"] + file["offset"], read_labels(file["leaf"].astype(int))
    data = load(name)
    return data.features, data.labels


def measure(name: str, partition: int, n_bits: int, settings: dict[str, Any]) -> dict[str, float]:
    X, labels = read(SETS[name][0])
    tagged = np.flatnonzero(np.diff(labels.indicator().indptr) > 0)
    rows = np.random.default_rng((SEED, partition)).permutation(tagged)
    query, later, train = np.split(rows[: QUERIES + LATER + SETS[name][1]], [QUERIES, QUERIES + LATER])
    if name == "digits":
        query, later, train = np.split(rows, [300, 600])
    start = time.perf_counter()
    hasher = EnergyHasher(n_bits, random_state=partition, **settings).fit(X[train], labels[train])
    seconds = time.perf_counter() - start
    asked, unseen, learned = hasher.encode(X[query]), hasher.encode(X[later]), hasher.codes_
    sheet = AnswerSheet(labels[query], labels[train], features=(X[query], X[train]))
    seen = sheet.of_codes(asked, learned)
    new = AnswerSheet(labels[query], labels[later]).of_codes(asked, unseen)
    some = np.arange(min(SELF, len(train)))
    mapped = hasher.encode(X[train])
    found = {
        "learned": np.nanmean(seen["mAP"]),
        "later": np.nanmean(new["mAP"]),
        "p10": np.nanmean(seen["p10"]),
        "p10-later": np.nanmean(new["p10"]),
        "exact": np.nanmean(seen.get("exact", seen["p10"])),
        "jac": np.nanmean(seen.get("Jaccard", seen["p10"])),
        "near": np.nanmean(seen["near"]),
        "self": self_retrieval(mapped[some], learned, some),
        "mix": np.nan if hasher.fitted_.mapped_share is None else hasher.fitted_.mapped_share,
        "seconds": seconds,
    }
    return {key: float(value) for key, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument("--partitions", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    settings = {key: _value(text) for key, text in (one.split("=", 1) for one in given.set)}
    warnings.simplefilter("ignore", KinhashWarning)
    print(f"{'':16}" + "".join(f"{name:>15}" for name in FIGURES))
    everything = {}
    for name in given.sets or SETS:
        runs = [measure(name, given.first + i, given.bits, settings) for i in range(given.partitions)]
        everything[name] = runs
        cells = [(np.mean([one[key] for one in runs]), np.std([one[key] for one in runs])) for key in FIGURES]
        print(f"{name:16}" + "".join(f"{mean:8.3f} ± {spread:.3f}" for mean, spread in cells), flush=True)
        if given.json:
            given.json.write_text(json.dumps(everything, indent=1))


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


if __name__ == "__main__":
    main()
