"""The numbers in docs/faq.md: bits, learned or mapped, unseen classes, old and new rows in one index.

    KINHASH_DATA=/data python benchmarks/faq.py

CIFAR-10 network features, one partition: 1,000 queries, 10,000 later rows that no fit sees, the rest is
trained on.
Expected-tie mAP over the whole ranking.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kinhash import Codes, EnergyHasher
from kinhash.errors import FileProblem
from kinhash.metrics import (
    CodeReferences,
    average_precision_from_scores,
    cosine_scores,
    mean_average_precision,
    unit_rows,
)
from kinhash_bench.datasets import load

NAME = "cifar10_efficientnet_lite0_pca256"
UNSEEN = ([2, 4, 9], [0, 5, 7])  # classes left out of the fit

MIXES = {
    "default": {},
    "for unseen kinds": {"encoder": "ridge", "alike": 0.5, "kin_weight": 1},
    "labels alone": {"alike": 0},
}


def together(old: Codes, new: Codes) -> Codes:
    return replace(old, packed=np.concatenate([old.packed, new.packed]))


def bits_and_mixtures(X: np.ndarray, y: np.ndarray) -> None:
    order = np.random.default_rng(0).permutation(len(X))
    queries, later, train = order[:1000], order[1000:11_000], order[11_000:]
    some = np.sort(train[:10_000])  # old rows, as many as later ones
    place = np.searchsorted(np.sort(train), some)
    train = np.sort(train)
    print(
        "bits; database: learned and mapped (rows of the fit), unseen (mapped, rows no fit saw), "
        "mixed (old learned, new mapped), all mapped (the same rows)"
    )
    for n_bits in (8, 16, 32, 64, 128):
        hasher = EnergyHasher(n_bits, random_state=0).fit(X[train], y[train])
        new, old, fresh = hasher.encode(X[queries]), hasher.codes_[place], hasher.encode(X[later])
        cases = {
            "learned": (old, y[some]),
            "mapped": (hasher.encode(X[some]), y[some]),
            "unseen": (fresh, y[later]),
            "mixed": (together(old, fresh), np.concatenate([y[some], y[later]])),
            "all mapped": (
                together(hasher.encode(X[some]), fresh),
                np.concatenate([y[some], y[later]]),
            ),
        }
        found = [
            f"{name} {mean_average_precision(new, codes, y[queries], labels):.3f}"
            for name, (codes, labels) in cases.items()
        ]
        print(f"  {n_bits:>4}: " + ", ".join(found))


def unseen_classes(X: np.ndarray, y: np.ndarray) -> None:
    print("classes never trained on, 64 bits, mapped: queries and database from them")
    for left_out in UNSEEN:
        strange = np.isin(y, left_out)
        train = np.flatnonzero(~strange)
        rows = np.random.default_rng(0).permutation(np.flatnonzero(strange))
        queries, database = rows[:1000], rows[1000:]
        kin = y[queries], y[database]
        found = []
        for name, settings in MIXES.items():
            hasher = EnergyHasher(64, random_state=0, **settings).fit(X[train], y[train])
            codes = [hasher.encode(X[part]) for part in (queries, database)]
            found.append(f"{name} {mean_average_precision(*codes, *kin):.3f}")
        references = CodeReferences(X, train, 64, np.random.default_rng(0))
        lsh = [references.lsh(part) for part in (queries, database)]
        scores = cosine_scores(unit_rows(X, queries), unit_rows(X, database))
        cosine = average_precision_from_scores(scores, *kin)
        found += [f"LSH {mean_average_precision(*lsh, *kin):.3f}", f"cosine {np.nanmean(cosine):.3f}"]
        print(f"  without {left_out}: " + ", ".join(found))


def price_of_looks(X: np.ndarray, y: np.ndarray) -> None:
    order = np.random.default_rng(0).permutation(len(X))
    queries, train = order[:1000], np.sort(order[2000:])
    for name, settings in MIXES.items():
        hasher = EnergyHasher(64, random_state=0, **settings).fit(X[train], y[train])
        new = hasher.encode(X[queries])
        scores = [
            mean_average_precision(new, codes, y[queries], y[train])
            for codes in (hasher.codes_, hasher.encode(X[train]))
        ]
        print(f"  known classes, {name}: learned {scores[0]:.3f}, mapped {scores[1]:.3f}")


def main() -> None:
    try:
        data = load(NAME)
    except FileProblem as missing:
        print(missing)
        return
    for part in (bits_and_mixtures, unseen_classes, price_of_looks):
        part(data.features, data.labels.classes)


if __name__ == "__main__":
    main()
