"""One fold: every method at every length learns from the training rows; the held-out rows are the queries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._types import Floats
from ..baselines import BASELINES
from ..codes import Codes, n_bytes
from ..errors import InvalidInput, KinhashWarning
from ..evaluation import (
    Cosine,
    Interval,
    NearestKin,
    NearKin,
    average_precision,
    average_precision_from_scores,
    bootstrap_interval,
    score_rows,
    some_queries,
)
from ..evaluation.hold_out import Split
from ..hashers.energy import EnergyHasher
from ..labels import Labels
from ._advice import COSINE, OURS, RIVALS, Figure, Looks, Search, Way
from ._speed import cosine_search, encode_seconds, hamming_search

__all__ = ["MeasuringPlan", "Scores", "interval", "measure_fold", "ways", "work_of"]

MOST_ITQ_COLUMNS = 4096  # its eigenvectors take minutes beyond
TIMED_ROWS = 2000
TABLE_NAMES = {"sign bits": "SignBits"}

Tell = Callable[[Way], None]


@dataclass(frozen=True)
class MeasuringPlan:
    """The settings of an advice."""

    bits: tuple[int, ...]
    tolerance: float
    precision: float
    random_state: int
    timings: bool


def interval(per_query: Floats) -> Interval:
    """Mean and 95 % interval; all methods are drawn the same queries, as their numbers are equal."""
    return bootstrap_interval(per_query, n_resamples=1000)


@dataclass
class Scores:
    """Average precision of single queries, fold after fold, in one order for all methods."""

    n_columns: int
    mapped: dict[Way, list[Floats]] = field(default_factory=dict)
    learned: dict[Way, list[Floats]] = field(default_factory=dict)
    chance: list[Floats] = field(default_factory=list)
    encode: dict[Way, float] = field(default_factory=dict)
    search: dict[Way, Search] = field(default_factory=dict)
    looks: dict[Way, list[tuple[int, NearKin]]] = field(default_factory=dict)  # kin bits, and what is found
    kin_at_random: list[float] = field(default_factory=list)  # what kin in random order would find

    def of(self, way: Way, which: str = "mapped") -> Floats:
        """Scores (q,) of all queries so far; NaN where a query has no kin."""
        return np.concatenate(getattr(self, which)[way])

    def by_chance(self) -> Floats:
        """What a ranking at random would score, query by query."""
        return np.concatenate(self.chance)

    def widest(self) -> float:
        """Half the width of the widest 95 % interval of our codes so far, taken as normal."""
        found = [self.of(way, which) for way in self.learned for which in ("mapped", "learned")]
        return max(1.96 * float(np.nanstd(one)) / float(np.sqrt((~np.isnan(one)).sum())) for one in found)

    def figures(self) -> tuple[Figure, ...]:
        """All that was measured, with intervals."""
        return tuple(
            Figure(
                method,
                n_bits,
                4 * self.n_columns if n_bits is None else n_bytes(n_bits),
                interval(self.of((method, n_bits))),
                interval(self.of((method, n_bits), "learned")) if (method, n_bits) in self.learned else None,
                self.encode.get((method, n_bits)),
                self.search.get((method, n_bits)),
                self.looks_of((method, n_bits)) if (method, n_bits) in self.looks else None,
            )
            for method, n_bits in self.mapped
        )

    def looks_of(self, way: Way) -> Looks:
        """How well our codes of one length find the nearest kin, over all folds so far."""
        kin_bits, near = zip(*self.looks[way], strict=True)
        value, found = (
            float(np.nanmean([getattr(one, name) for one in near])) for name in ("value", "recall")
        )
        return Looks((min(kin_bits), max(kin_bits)), value, found, float(np.mean(self.kin_at_random)))


def ways(bits: tuple[int, ...], n_columns: int) -> Iterator[Way]:
    """Everything that is compared, in the order of the work."""
    yield COSINE, None
    for method in (*RIVALS, OURS):
        if method != "ITQ" or n_columns <= MOST_ITQ_COLUMNS:
            yield from ((method, n_bits) for n_bits in bits)


def work_of(way: Way) -> float:
    """About how long a step takes, in steps of a short code of ours, to move the bar evenly."""
    method, n_bits = way
    share = (n_bits or 0) / 120
    return {OURS: 1 + share, "ITQ": share}.get(method, 0.1)


def measure_fold(
    scores: Scores, X: Any, labels: Labels, split: Split, plan: MeasuringPlan, tell: Tell
) -> None:
    """Add the scores of one fold, and with the first one the times.

    Peak memory beyond X: its rows once more, a search index of a million codes, and the method's own.
    """
    number = len(scores.chance)
    seed = int(np.random.SeedSequence([plan.random_state, number]).generate_state(1)[0])
    timed = plan.timings and number == 0
    y, y_fit = labels[split.held_out], labels[split.train]
    scores.chance.append(_chance(y))
    X_fit, X_out = X[split.train], X[split.held_out]
    asked = some_queries(len(y))
    nearest = NearestKin.of(y[asked], y_fit, X_out[asked], X_fit)
    scores.kin_at_random.append(nearest.kin_at_random(y[asked], y_fit))
    for way in ways(plan.bits, scores.n_columns):
        tell(way)
        method, n_bits = way
        if n_bits is None:
            _measure_cosine(scores, X_out, y, timed)
            continue
        hasher = _fitted(method, n_bits, seed, X_fit, y_fit)
        new = hasher.encode(X_out)
        scores.mapped.setdefault(way, []).append(average_precision(new, new, y, y, exclude_self=True))
        if timed:
            scores.encode[way] = encode_seconds(hasher, X_out[:TIMED_ROWS])
        if method != OURS:
            continue
        learned = average_precision(new, hasher.codes_, y, y_fit)
        scores.learned.setdefault(way, []).append(learned)
        near = nearest.score_codes(new[asked], hasher.codes_)
        scores.looks.setdefault(way, []).append((new.fields.kin(n_bits), near))
        if timed:
            database = hasher.encode(X_fit)
            scores.search[way] = hamming_search(new, database, np.random.default_rng(seed))


def _measure_cosine(scores: Scores, X: Any, y: Labels, timed: bool) -> None:
    ranking, way = Cosine().fit(X), (COSINE, None)
    unit = ranking.prepare(X)
    found = average_precision_from_scores(score_rows(ranking, unit, unit), y, y, exclude_self=True)
    scores.mapped.setdefault(way, []).append(found)
    if timed:
        scores.search[way] = cosine_search(unit)


def _fitted(method: str, n_bits: int, seed: int, X: Any, labels: Labels) -> Any:
    made = EnergyHasher if method == OURS else BASELINES[TABLE_NAMES.get(method, method)]
    with warnings.catch_warnings():  # a bit to spare at 256 bits is no news for who asks how many it takes
        warnings.simplefilter("ignore", KinhashWarning)
        return made(n_bits, random_state=seed).fit(X, labels)


def _chance(y: Labels) -> Floats:
    """Average precision where all rows tie: the mean over all orders."""
    alike = Codes(np.zeros((len(y), 1), np.uint8), 8)
    found = average_precision(alike, alike, y, y, exclude_self=True)
    if np.isnan(found).all():
        raise InvalidInput(
            f"Among the {len(y):,} rows that would be kept out no two are kin",
            "labels that several rows share, ten or more at best",
            "Pass more rows, merge rare labels, or set n_folds=2 (--folds 2)",
        )
    return found
