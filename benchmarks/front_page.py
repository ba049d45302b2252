"""The table on the front page: CIFAR-10 network features, 64 bits, two databases.

    KINHASH_DATA=... python benchmarks/front_page.py [--bits 64] [--partitions 3]

Protocol: 1,000 random rows are queries, 10,000 others come after the fit, the other 49,000 are trained on.
The queries search the training rows (for ours: learned codes) and the rows that came later (mapped codes).
Relevant: the same class; whole ranking; equal distances count as the expected value over all orders. Ours
chooses its settings inside `fit`; the classifier is a logistic regression that ranks rows by the probability
of their class: the true one of training rows, the predicted one of later rows, one byte each.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from kinhash import EnergyHasher
from kinhash.errors import FileProblem
from kinhash.metrics import CodeReferences, cosine_scores, unit_rows
from kinhash.metrics.answers import AnswerSheet, hamming_scores, self_retrieval
from kinhash.metrics.label_model import Classifier
from kinhash.supervision import read_labels
from kinhash_bench.datasets import load

NAME = "cifar10_efficientnet_lite0_pca256"
FIGURES = ("mAP", "p10", "near")


def partition(X: np.ndarray, y: np.ndarray, n_bits: int, seed: int) -> dict[str, dict[str, float]]:
    order = np.random.default_rng(seed).permutation(len(X))
    queries, later, train = np.split(order, [1000, 11_000])
    labels = read_labels(y)
    start = time.perf_counter()
    hasher = EnergyHasher(n_bits, random_state=seed).fit(X[train], y[train])
    seconds = time.perf_counter() - start
    references = CodeReferences(X, train, n_bits, np.random.default_rng(seed))
    chances = (classifier := Classifier.fit(X[train], labels[train]))(X[queries])
    stored = {"training": y[train], "later": classifier(X[later]).argmax(axis=1)}
    found: dict[str, dict[str, float]] = {"fit": {"seconds": seconds}}
    for name, rows, codes in (("training", train, hasher.codes_), ("later", later, hasher.encode(X[later]))):
        sheet = AnswerSheet(labels[queries], labels[rows], features=(X[queries], X[rows]))
        classes = stored[name]
        ways = {
            "kinhash": hamming_scores(hasher.encode(X[queries]), codes),
            "classifier": lambda wanted, classes=classes: chances[wanted][:, classes],
            "float cosine": cosine_scores(unit_rows(X, queries), unit_rows(X, rows)),
            "sign bits": hamming_scores(references.sign_bits(queries), references.sign_bits(rows)),
            "LSH": hamming_scores(references.lsh(queries), references.lsh(rows)),
        }
        for way, scores in ways.items():
            measured = sheet.of_scores(scores)
            found.setdefault(way, {})
            found[way] |= {f"{figure}, {name}": float(np.nanmean(measured[figure])) for figure in FIGURES}
    some = np.arange(1000)
    found["kinhash"]["self"] = self_retrieval(hasher.encode(X[train[some]]), hasher.codes_, some)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--partitions", type=int, default=3)
    given = parser.parse_args()
    try:
        data = load(NAME)
    except FileProblem as missing:
        print(missing)
        return
    runs = [partition(data.features, data.labels.classes, given.bits, i) for i in range(given.partitions)]
    print(f"{NAME}, {given.bits} bits, {given.partitions} partitions: mean (standard deviation)")
    for way, figures in runs[0].items():
        cells = ((name, [run[way][name] for run in runs]) for name in figures)
        print(f"{way:14}" + "  ".join(f"{name} {np.mean(of):.3f} ({np.std(of):.3f})" for name, of in cells))


if __name__ == "__main__":
    main()
