"""The work: random splits of the rows, every length on each of them, and the answer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._internal.aliases import LabelsLike, Matrix
from .._internal.validation import check_finite, check_integer, check_n_bits, check_number
from ..baselines import BASELINES
from ..errors import InvalidInput, KinhashWarning
from ..hashers import EnergyHasher
from ..metrics import (
    FEWEST_FOLD_ROWS,
    ITQ,
    MOST_HELD_OUT,
    RANDOM,
    SHARE_HELD_OUT,
    Comparison,
    HeldOutJudge,
    hold_out_rows,
    label_counts,
    pooled,
    read_data,
    stratified_rows,
)
from ..supervision import Labels, from_labels, read_labels
from .advice import OURS, Advice, Measurement
from .recommend import recommend

__all__ = ["advise"]

BITS = (16, 32, 64, 128)
MOST_ITQ_COLUMNS = 4096  # its eigenvectors take minutes beyond
FEWEST_SAMPLED = 2_000
MOST_WORK = 1_000_000_000  # rows · columns · labels of one fit

Progress = Callable[[float, str], None]


def advise(
    X: Matrix,
    y: LabelsLike,
    *,
    bits: Iterable[int] = BITS,
    tolerance: float = 0.02,
    n_rows: int = 12_000,
    n_splits: int = 2,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Advice:
    """Answer how many bits these rows need, whether labels help, and what codes lose.

    Compares `EnergyHasher` at every length with ITQ, LSH, sign bits, float cosine and a classifier on rows
    held out of the fit; see docs/advise.md for the protocol.

    Parameters
    ----------
    X, y : rows (n, p), dense or sparse, and their classes or tags; rows of unknown label are left out.
    bits : the lengths to compare.
    tolerance : the mAP one is ready to lose for shorter codes.
    n_rows : rows to use at most, drawn evenly over the labels. Where columns times labels make a
        fit long, fewer are used; the answer says how many.
    n_splits : random splits into rows to fit and queries, 1 to 10. Split i holds out the rows that
        `kinhash fit --seed i` holds out.
    random_state : a whole number, the seed of the first split; the same one gives the same answer.
    progress : called with the share of the work that is done and what comes next.

    Memory beyond X: the rows used twice, and what the methods need.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> advice = advise(X[:300], y[:300], bits=(8, 32))
    >>> advice.recommendation.method, advice.recommendation.labels_help
    ('EnergyHasher', True)
    """
    start = time.perf_counter()
    lengths = _lengths(bits)
    check_number("tolerance", tolerance, 0.0, 1.0)
    check_integer("random_state", random_state, 0)
    check_integer("n_rows", n_rows, FEWEST_FOLD_ROWS)
    check_integer("n_splits", n_splits, 1, 10)
    data = read_data((X, read_labels(y)))
    check_finite(data.features)
    from_labels(data.labels, len(data.labels)).check(None)
    n_columns, n_known = int(data.features.shape[1]), int(data.labels.known.sum())
    n_used = min(n_known, n_rows, _affordable(data.labels, n_columns))
    rows = np.sort(stratified_rows(data.labels, n_used, np.random.default_rng(random_state)))
    features, labels = data.features[rows], data.labels[rows]
    found: list[dict[int, Comparison]] = []
    for split in range(n_splits):

        def tell(step: int, what: str, split: int = split) -> None:
            if progress is not None:
                steps = len(lengths) + 1
                progress((split * steps + step) / (n_splits * steps), f"{split + 1}. {what}")

        found.append(_measured(features, labels, lengths, random_state + split, tell))
    comparisons = {n_bits: pooled([one[n_bits] for one in found]) for n_bits in lengths}
    facts = comparisons[lengths[0]].facts
    measurement = Measurement(
        rows=n_known,
        rows_used=len(rows),
        columns=n_columns,
        kind=facts["labels_are"],
        labels=int((label_counts(labels) > 0).sum()),
        splits=n_splits,
        training_rows=facts["training_rows"],
        queries=facts["queries"],
        tolerance=tolerance,
        random_state=random_state,
        checksum=data.checksum,
    )
    answer = recommend(comparisons, labels, tolerance, n_columns > MOST_ITQ_COLUMNS)
    return Advice(answer, comparisons, measurement, time.perf_counter() - start)


def _lengths(bits: Iterable[int]) -> tuple[int, ...]:
    wanted = list(bits) if isinstance(bits, Iterable) else []
    if not wanted:
        raise InvalidInput(f"bits is {bits!r}", "one or more lengths", "Pass, say, bits=(16, 32, 64)")
    return tuple(sorted({check_n_bits(n_bits) for n_bits in wanted}))


def _affordable(labels: Labels, n_columns: int) -> int:
    """Rows that columns times labels allow."""
    return max(FEWEST_SAMPLED, MOST_WORK // max(1, n_columns * len(labels.names)))


def _measured(
    X: Matrix, labels: Labels, lengths: tuple[int, ...], seed: int, tell: Callable[[int, str], None]
) -> dict[int, Comparison]:
    """One split: hold rows out, fit every length, compare."""
    rng = np.random.default_rng(seed)
    train, queries = hold_out_rows(labels, MOST_HELD_OUT, SHARE_HELD_OUT, rng)
    tell(0, "float cosine, classifier")
    judge = HeldOutJudge(X, labels, train, queries, rng)
    if not len(queries) or np.isnan(judge.reference(RANDOM).measures["mAP"]).all():
        raise InvalidInput(
            f"None of the {len(queries):,} rows held out has a relevant row in the database",
            "labels that several rows share, ten or more at best",
            "Pass more rows, or merge rare labels",
        )
    found = {}
    for step, n_bits in enumerate(lengths, 1):
        tell(step, f"{n_bits} bits")
        names = (OURS, ITQ) if X.shape[1] <= MOST_ITQ_COLUMNS else (OURS,)
        ours, *others = (_fitted(name, n_bits, seed, X[train], labels[train]) for name in names)
        found[n_bits] = judge.compare(ours, *(judge.mapped(ITQ, one) for one in others))
    return found


def _fitted(method: str, n_bits: int, seed: int, X: Matrix, labels: Labels) -> Any:
    made = EnergyHasher if method == OURS else BASELINES[method]
    with warnings.catch_warnings():  # that a length is too long or too short is what we measure
        warnings.simplefilter("ignore", KinhashWarning)
        return made(n_bits, random_state=seed).fit(X, labels)
