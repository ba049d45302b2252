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

The first ten are read off in the index's order after the rows were shuffled, so ties fall at random.
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
import scipy.sparse as sp

from kinhash import EnergyHasher, HammingIndex
from kinhash.datasets import data_folder, load
from kinhash.errors import KinhashWarning
from kinhash.evaluation import NearestKin, average_precision, mean_average_precision
from kinhash.labels import Labels, read_labels

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
    y, y_later, y_train = labels[query], labels[later], labels[train]
    found: dict[str, float] = {
        "learned": mean_average_precision(asked, learned, y, y_train),
        "later": mean_average_precision(asked, unseen, y, y_later),
        "p10-later": _first_ten(asked, unseen, y, y_later)[0],
        "near": NearestKin.of(y, y_train, X[query], X[train]).score_codes(asked, learned).recall,
        "seconds": seconds,
    }
    found["p10"], found["exact"], found["jac"] = _first_ten(asked, learned, y, y_train)
    found["self"] = _self_retrieval(hasher.encode(X[train[:SELF]]), learned)
    n_new = int(0.15 * len(train))
    found["mix"] = _share_of_mapped(asked, learned, hasher.encode(X[train[-n_new:]]))
    return {key: float(value) for key, value in found.items()}


def _first_ten(queries: Any, database: Any, y: Labels, y_database: Labels) -> tuple[float, float, float]:
    ids = HammingIndex.from_codes(database).search(queries, k=10).ids
    own, theirs = (sp.csr_array(one.indicator(), dtype=np.float64) for one in (y, y_database))
    precision, exact, jaccard = [], [], []
    for place, found in enumerate(ids):
        shared = np.asarray((theirs[found] @ own[[place]].T).todense()).ravel()
        sizes = np.diff(theirs.indptr)[found] + np.diff(own.indptr)[place] - shared
        precision.append((shared > 0).mean())
        jaccard.append((shared / sizes).mean())
        exact.append((shared == sizes).mean())
    return float(np.mean(precision)), float(np.mean(exact)), float(np.mean(jaccard))


def _self_retrieval(mapped: Any, learned: Any) -> float:
    """Relevant: the row itself alone; a tie of n at distance d counts 1/n if nothing is nearer."""
    index = HammingIndex.from_codes(learned)
    found = index.search(mapped, k=200)
    hits = []
    for place, (ids, distances) in enumerate(zip(found.ids, found.distances, strict=True)):
        nearest = ids[distances == distances[0]]
        hits.append(1 / len(nearest) if place in nearest else 0.0)
    return float(np.mean(hits))


def _share_of_mapped(queries: Any, learned: Any, mapped: Any) -> float:
    """The last rows of the database take their mapped codes in place of the learned ones."""
    packed = np.asarray(learned).copy()
    packed[-len(mapped) :] = np.asarray(mapped)
    mixed = type(learned)(packed, learned.n_bits, fields=learned.fields)
    ids = HammingIndex.from_codes(mixed).search(queries, k=10).ids
    return float((ids >= len(packed) - len(mapped)).mean())


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
