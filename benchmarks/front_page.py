"""The numbers on the front page: CIFAR-10 network features, three partitions, 64 bits.

    KINHASH_DATA=/data python benchmarks/front_page.py

Protocol ("paper"): 1,000 random rows are queries, 1,000 further rows are set aside, the rest is training set
and database at once; kin = same class; full ranking; ties: expected value over all orders. Unsupervised lines
take the columns as they are (sign bits and LSH: centred). The supervised float line ranks by the class scores
of a logistic regression: the probability it gives to each row's class, the most one can get out of labels.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from kinhash import EnergyHasher
from kinhash.datasets import load
from kinhash.errors import FileProblem
from kinhash.evaluation import CodeReferences, Cosine, score_rows
from kinhash.evaluation.float_rankings import unit_rows
from kinhash.metrics import average_precision, average_precision_from_scores, near_kin

NAME = "cifar10_efficientnet_lite0_pca256"


def partition(X: np.ndarray, y: np.ndarray, n_bits: int, seed: int) -> dict[str, float]:
    order = np.random.default_rng(seed).permutation(len(X))
    queries, train = np.sort(order[:1000]), np.sort(order[2000:])
    start = time.perf_counter()
    hasher = EnergyHasher(n_bits, random_state=seed).fit(X[train], y[train])
    seconds = time.perf_counter() - start
    new, mapped = hasher.encode(X[queries]), hasher.encode(X[train])
    references = CodeReferences(X, train, n_bits, np.random.default_rng(seed))
    cosines = score_rows(Cosine(), unit_rows(X, queries), unit_rows(X, train))
    scaler = StandardScaler().fit(X[train])
    model = LogisticRegression(C=0.01, max_iter=300).fit(scaler.transform(X[train]), y[train])
    classes = model.predict_proba(scaler.transform(X[queries]))
    kin = y[queries], y[train]
    signs, lsh = (
        [make(rows) for rows in (queries, train)] for make in (references.sign_bits, references.lsh)
    )

    def mean(per_query: np.ndarray) -> float:
        return float(np.nanmean(per_query))

    near = {
        name: near_kin(new[:500], codes, y[queries[:500]], y[train], X[queries[:500]], X[train])
        for name, codes in (("learned", hasher.codes_), ("mapped", mapped))
    }
    print(f"  partition {seed}: {new.fields}, {near['learned'].distinct} different first tens of 500")
    return {
        "learned database": mean(average_precision(new, hasher.codes_, *kin)),
        "mapped database": mean(average_precision(new, mapped, *kin)),
        "float cosine": mean(average_precision_from_scores(cosines, *kin)),
        "class scores, float": mean(
            average_precision_from_scores(lambda rows: classes[rows][:, y[train]], *kin)
        ),
        "sign bits": mean(average_precision(*signs, *kin, n_bits=X.shape[1])),
        "LSH": mean(average_precision(*lsh, *kin)),
        "near kin, learned": near["learned"].value,
        "near kin, mapped": near["mapped"].value,
        "r100, learned": near["learned"].recall,
        "r100, mapped": near["mapped"].recall,
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bits", type=int, nargs="+", default=[64])
    parser.add_argument("--partitions", type=int, default=3)
    options = parser.parse_args()
    try:
        data = load(NAME)
    except FileProblem as missing:
        print(missing)
        return
    for n_bits in options.bits:
        found = [
            partition(data.features, data.labels.classes, n_bits, seed) for seed in range(options.partitions)
        ]
        print(f"{NAME}, {n_bits} bits, {options.partitions} partitions: mean (standard deviation)")
        for name in found[0]:
            values = [one[name] for one in found]
            print(
                f"  {name:<22} {np.mean(values):.3f} ({np.std(values, ddof=1) if len(values) > 1 else 0:.3f})"
            )


if __name__ == "__main__":
    main()
