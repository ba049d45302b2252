"""Data of many shapes: classes × rows per class × bits, beside cosine and logistic regression.

Rows are Gaussian clouds around random centers; rows per class are equal, or fall as 1 / rank (Zipf) with the
same mean and at least two each. Queries are new rows, as many of every class. The default hasher is fitted
to each shape, and a line says how it did: seconds, distinct codes, classes that share one, warnings, top-1
and mAP with learned and mapped database, float cosine on the same rows, and the accuracy of scikit-learn's
logistic regression (standardized columns, its defaults).

    python benchmarks/shapes.py             # all of them: about ten minutes on two cores
    python benchmarks/shapes.py 300         # those with 300 classes at most
    python benchmarks/shapes.py --markdown  # the table of docs/shapes.md
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np

from kinhash import EnergyHasher
from kinhash.errors import KinhashWarning
from kinhash.metrics import average_precision_from_scores, mean_average_precision, precision_at_k
from kinhash.solvers.codewords import comfortable

COLUMNS = 32
NOISE = 1.2
QUERIES = 600
MOST_SOFTMAX = 40_000_000  # rows × classes: beyond this, logistic regression would take minutes


class Shape(NamedTuple):
    """Classes, mean rows of each, equal or Zipf, and bits."""

    classes: int
    rows: int
    zipf: bool
    bits: int


SHAPES = [
    *(
        Shape(2, rows, zipf, bits)
        for rows, zipf in ((2, False), (10, True), (100, False))
        for bits in (16, 64)
    ),
    *(
        Shape(10, rows, zipf, bits)
        for rows, zipf in ((2, False), (10, True), (100, True))
        for bits in (16, 64)
    ),
    *(Shape(10, 100, False, bits) for bits in (16, 64, 256)),
    *(
        Shape(100, rows, zipf, bits)
        for rows, zipf in ((2, False), (10, False), (100, True))
        for bits in (16, 64)
    ),
    *(Shape(100, 10, True, bits) for bits in (16, 64, 256)),
    *(Shape(200, rows, zipf, 64) for rows in (2, 10, 100) for zipf in (False, True)),
    *(Shape(200, 10, False, bits) for bits in (16, 256)),
    *(Shape(500, rows, zipf, 64) for rows, zipf in ((2, False), (10, False), (10, True), (100, True))),
    *(Shape(500, 10, True, bits) for bits in (16, 256)),
    *(Shape(1000, rows, zipf, 64) for rows, zipf in ((2, False), (10, False), (10, True), (100, False))),
    *(Shape(1000, 10, False, bits) for bits in (16, 256)),
    *(Shape(3000, rows, zipf, 64) for rows, zipf in ((2, False), (10, False), (10, True))),
    *(Shape(3000, 2, False, bits) for bits in (16, 256)),
]
HEADER = [
    "classes", "rows each", "bits", "s", "codes", "shared", "warned",
    "top-1", "mapped", "cosine", "logistic", "mAP", "mapped", "cosine",
]  # fmt: skip


def sizes(shape: Shape) -> np.ndarray:
    """Rows of every class."""
    if not shape.zipf:
        return np.full(shape.classes, shape.rows)
    share = 1 / np.arange(1, shape.classes + 1)
    return np.maximum(2, shape.rows * shape.classes * share / share.sum()).astype(int)


def draw(shape: Shape) -> tuple[np.ndarray, ...]:
    """Rows and classes to learn from, and to ask with."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(shape.classes, COLUMNS))
    y = rng.permutation(np.repeat(np.arange(shape.classes), sizes(shape)))
    asked = rng.permutation(np.arange(max(QUERIES, shape.classes)) % shape.classes)[: 2 * QUERIES]
    X, Q = (centers[of] + NOISE * rng.normal(size=(len(of), COLUMNS)) for of in (y, asked))
    return X.astype(np.float32), y, Q.astype(np.float32), asked


def logistic(X: np.ndarray, y: np.ndarray, Q: np.ndarray, asked: np.ndarray) -> float:
    """Accuracy of logistic regression; NaN where it would take minutes."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if len(X) * (y.max() + 1) > MOST_SOFTMAX:
        return float("nan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(StandardScaler(), LogisticRegression())
        return float(model.fit(X, y).score(Q, asked))


def measure(shape: Shape) -> list[str]:
    """One line of the table."""
    X, y, Q, asked = draw(shape)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hasher = EnergyHasher(shape.bits, alike=0, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    warned = sum(issubclass(one.category, KinhashWarning) for one in caught)
    queries, mapped, learned = hasher.encode(Q), hasher.encode(X), hasher.codes_
    first = [precision_at_k(queries, codes, asked, y, k=1) for codes in (learned, mapped)]
    ranked = [mean_average_precision(queries, codes, asked, y) for codes in (learned, mapped)]
    nearest, by_cosine = cosine(Q, X, asked, y)
    figures = [*first, nearest, logistic(X, y, Q, asked), *ranked, by_cosine]
    form = "Zipf" if shape.zipf else "equal"
    texts = [f"{float(figure):.3f}" if not np.isnan(float(figure)) else "–" for figure in figures]
    shared = hasher.report_.classes_sharing_a_code
    holds = "" if shape.classes <= comfortable(shape.bits) else "*"
    return [
        f"{shape.classes:,}", f"{shape.rows} {form}", f"{shape.bits}{holds}", f"{seconds:.1f}",
        f"{hasher.report_.unique_codes:,}", str(shared), str(warned), *texts,
    ]  # fmt: skip


def cosine(Q: np.ndarray, X: np.ndarray, asked: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """How often the nearest row by cosine is of the query's class, and mAP."""
    unit, queries = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, Q))
    hits = [float(y[(unit @ query).argmax()] == own) for query, own in zip(queries, asked, strict=True)]
    ranked = average_precision_from_scores(lambda rows: queries[rows] @ unit.T, asked, y)
    return float(np.mean(hits)), float(np.nanmean(ranked))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("most", nargs="?", type=int, default=10**9, help="classes at most")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    if given.markdown:
        print("| " + " | ".join(HEADER) + " |\n|" + "---|" * len(HEADER))
    else:
        print("".join(name.rjust(11) for name in HEADER))
    for shape in SHAPES:
        if shape.classes <= given.most:
            line = measure(shape)
            row = "| " + " | ".join(line) + " |"
            print(row if given.markdown else "".join(cell.rjust(11) for cell in line), flush=True)


if __name__ == "__main__":
    main()
