"""The work: rows, folds until the intervals are narrow, and the answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._check import check_finite, check_integer, check_n_bits, check_number
from ..errors import InvalidInput
from ..evaluation import Data, read_data
from ..evaluation.hold_out import FEWEST_FOLD_ROWS, Split, folds, label_counts, stratified_rows
from ..hashers.base import check_supervision
from ..labels import Labels, read_labels
from ..supervision import from_labels
from ._advice import Advice, Measurement, Way
from ._measure import MeasuringPlan, Scores, interval, measure_fold, ways, work_of
from ._recommend import recommend

__all__ = ["advise"]

BITS = (8, 16, 32, 64, 128, 256)
FEWEST_FOLDS, MOST_FOLDS = 2, 20  # two, so that more than one fit has a say
FEWEST_SAMPLED = 2_000
MOST_WORK = 1_000_000_000  # rows · columns · labels of one fit: a minute or less on two cores
USUAL_SPREAD = 0.6  # twice the deviation of average precisions over queries, as one often meets it

Progress = Callable[[float, str], None]


def advise(
    X: Any,
    y: Any,
    *,
    bits: Iterable[int] = BITS,
    tolerance: float = 0.02,
    precision: float = 0.01,
    n_rows: int = 12_000,
    n_folds: int = 5,
    random_state: int = 0,
    timings: bool = True,
    progress: Progress | None = None,
) -> Advice:
    """Answer how many bits these rows need, whether labels help, and what codes lose.

    Cross-validates `EnergyHasher` at every length beside ITQ, LSH, sign bits and float cosine on the same
    rows; see docs/advise.md for the protocol.

    Parameters
    ----------
    X, y : rows (n, p), dense or sparse, and their classes or tags; rows of unknown label are left out.
    bits : the lengths to compare.
    tolerance : the mAP one is ready to lose for shorter codes.
    precision : no further fold once the intervals of our codes are within ± this (two folds at least).
    n_rows : rows to use at most, drawn evenly over the labels. Where columns times labels make a
        fit long, fewer are used by default; the answer says how many.
    n_folds : folds the rows are dealt to; one of them is kept out at a time.
    random_state : a whole number; the same one gives the same answer, but for the times.
    timings : measure seconds of encoding and searching, too.
    progress : called with the share of the work that is done and what comes next.

    Memory beyond X: the rows used twice, a search index of a million codes, and what the methods need.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> advice = advise(X[:300], y[:300], bits=(8, 32), timings=False)
    >>> advice.recommendation.method, advice.recommendation.labels_help
    ('EnergyHasher', True)
    """
    start = time.perf_counter()
    plan = MeasuringPlan(
        _lengths(bits),
        check_number("tolerance", tolerance, 0.0, 1.0),
        check_number("precision", precision, 0.0, 1.0),
        check_integer("random_state", random_state, 0),
        timings,
    )
    check_integer("n_rows", n_rows, FEWEST_FOLD_ROWS)
    check_integer("n_folds", n_folds, FEWEST_FOLDS, MOST_FOLDS)
    data = read_data((X, read_labels(y)))
    features, labels = data.features, data.labels
    check_finite(features)
    check_supervision(from_labels(labels, len(labels)), None)
    n_used = _rows_for(labels, features.shape[1], n_rows)
    rows = stratified_rows(labels, n_used, np.random.default_rng(random_state))
    scores, splits = Scores(int(features.shape[1])), folds(len(rows), n_folds)
    _until_narrow(scores, features[rows], labels[rows], splits, plan, progress)
    return Advice(
        recommend(scores, labels, plan),
        scores.figures(),
        interval(scores.by_chance()),
        _measurement(data, scores, splits, plan),
        time.perf_counter() - start,
    )


def _lengths(bits: Iterable[int]) -> tuple[int, ...]:
    wanted = list(bits) if isinstance(bits, Iterable) else []
    if not wanted:
        raise InvalidInput(f"bits is {bits!r}", "one or more lengths", "Pass, say, bits=(16, 32, 64)")
    return tuple(sorted({check_n_bits(n_bits) for n_bits in wanted}))


def _rows_for(labels: Labels, n_columns: int, most: int) -> int:
    """How many rows to use: ``most``, or fewer where columns times labels make a fit long."""
    n_labels = max(1, len(labels.names))
    affordable = max(FEWEST_SAMPLED, MOST_WORK // max(1, n_columns * n_labels))
    return int(min(most, affordable, labels.known.sum()))


def _until_narrow(
    scores: Scores,
    X: Any,
    labels: Labels,
    splits: list[Split],
    plan: MeasuringPlan,
    progress: Progress | None,
) -> None:
    """Measure fold after fold until the intervals are narrow enough, or there is none left."""
    bar = _Bar(sum(map(work_of, ways(plan.bits, scores.n_columns))), progress)
    bar.folds = _folds_needed(USUAL_SPREAD / len(splits[0].held_out) ** 0.5, 1, plan.precision, len(splits))
    for done, split in enumerate(splits, 1):
        bar.fold = done
        measure_fold(scores, X, labels, split, plan, bar)
        width = scores.widest()
        if done >= FEWEST_FOLDS and width <= plan.precision:
            return
        bar.folds = max(done + 1, _folds_needed(width, done, plan.precision, len(splits)))


def _folds_needed(width: float, n_folds: int, precision: float, most: int) -> int:
    """How many folds bring intervals of this half width, seen after ``n_folds``, down to the precision."""
    needed = math.ceil(n_folds * (width / max(precision, 1e-9)) ** 2)
    return min(max(FEWEST_FOLDS, needed), most)


class _Bar:
    """Tells how far the work is, as far as one can know while the number of folds is a guess."""

    fold = folds = 1

    def __init__(self, work_per_fold: float, progress: Progress | None) -> None:
        self._per_fold, self._progress = work_per_fold, progress
        self._begun = self._shown = 0.0

    def __call__(self, way: Way) -> None:
        share = min(1.0, self._begun / (self._per_fold * self.folds))
        self._shown = max(self._shown, share)  # a bar must not run backwards
        self._begun += work_of(way)
        if self._progress is not None:
            method, n_bits = way
            self._progress(self._shown, f"{self.fold}. {method}" + (f", {n_bits} bits" if n_bits else ""))


def _measurement(data: Data, scores: Scores, splits: list[Split], plan: MeasuringPlan) -> Measurement:
    chance, labels = scores.by_chance(), data.labels
    return Measurement(
        rows=int(labels.known.sum()),
        rows_used=len(splits[0].train) + len(splits[0].held_out),
        columns=scores.n_columns,
        kind="tags" if labels.is_tags else "classes",
        labels=int((label_counts(labels) > 0).sum()),
        folds=len(scores.chance),
        folds_possible=len(splits),
        training_rows=len(splits[0].train),
        queries=int((~np.isnan(chance)).sum()),
        queries_without_kin=int(np.isnan(chance).sum()),
        tolerance=plan.tolerance,
        precision=plan.precision,
        random_state=plan.random_state,
        checksum=data.checksum,
    )
