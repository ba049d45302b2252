"""How sure is a mean over queries, and is one method better than another on the same queries?

Both take scores per query, such as `average_precision` returns; NaN (no relevant rows) is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._internal.types import Floats, Seed
from .._internal.validation import check_integer
from ..errors import InvalidInput

__all__ = ["Interval", "PairedTest", "bootstrap_interval", "paired_test"]

DRAW_BYTES = 16 << 20


@dataclass(frozen=True)
class Interval:
    """A mean over ``n_queries`` queries and the interval that other queries of the kind would give."""

    value: float
    low: float
    high: float
    level: float
    n_queries: int

    def __str__(self) -> str:
        interval = f"{self.level:.0%} interval {self.low:.4f} .. {self.high:.4f}"
        return f"{self.value:.4f} ({interval}, {self.n_queries} queries)"


@dataclass(frozen=True)
class PairedTest:
    """Mean difference ``second - first`` over the queries both have, and how often chance would match it."""

    difference: Interval
    p_value: float
    n_better: int
    n_worse: int
    n_equal: int

    def __str__(self) -> str:
        return (
            f"difference {self.difference}, p = {self.p_value:.3g}; "
            f"better on {self.n_better} queries, worse on {self.n_worse}, equal on {self.n_equal}"
        )


def bootstrap_interval(
    scores: npt.ArrayLike, *, level: float = 0.95, n_resamples: int = 10_000, random_state: Seed = 0
) -> Interval:
    """Percentile interval of the mean when queries are drawn again with replacement.

    Covers the choice of queries, not the choice of partition or the randomness of training.
    Peak memory: 16 MB of draws.
    """
    from scipy.stats import bootstrap

    scores = _scores(scores)
    scores = scores[~np.isnan(scores)]
    _require_queries(len(scores))
    if not 0 < level < 1:
        raise InvalidInput(f"level is {level!r}", "a share between 0 and 1", "Choose, say, 0.95")
    check_integer("n_resamples", n_resamples, 1)
    value, n = float(scores.mean()), len(scores)
    if n == 1:  # whatever is drawn, it is that query
        return Interval(value, value, value, level, n)
    drawn = bootstrap(
        (scores,),
        np.mean,
        method="percentile",
        confidence_level=level,
        n_resamples=n_resamples,
        batch=max(1, DRAW_BYTES // (16 * n)),
        rng=np.random.default_rng(random_state),
    ).confidence_interval
    return Interval(value, float(drawn.low), float(drawn.high), level, n)


def paired_test(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 10_000,
    random_state: Seed = 0,
) -> PairedTest:
    """Is ``second`` better than ``first`` by more than the luck of the queries? (Two-sided.)

    If the methods were exchangeable, each query's difference could as well have the other sign. The
    p-value is the share of sign patterns whose mean difference is at least as large: all ``2**n``
    patterns where they are no more than ``n_resamples``, otherwise random ones, with the observed
    pattern counted among them so that p is never 0. Peak memory: 16 MB of draws.
    """
    first, second = _scores(first), _scores(second)
    if len(first) != len(second):
        raise InvalidInput(
            f"{len(first)} scores were compared with {len(second)}",
            "scores of two methods on the same queries, in the same order",
            "Evaluate both on the same queries",
        )
    differences = second - first
    differences = differences[~np.isnan(differences)]
    _require_queries(len(differences))
    interval = bootstrap_interval(
        differences, level=level, n_resamples=n_resamples, random_state=random_state
    )
    return PairedTest(
        difference=interval,
        p_value=_sign_flip_p(differences, n_resamples, random_state),
        n_better=int((differences > 0).sum()),
        n_worse=int((differences < 0).sum()),
        n_equal=int((differences == 0).sum()),
    )


def _sign_flip_p(differences: Floats, n_resamples: int, random_state: Seed) -> float:
    from scipy.stats import permutation_test

    if len(differences) == 1:  # either sign is as large
        return 1.0
    return float(
        permutation_test(
            (differences,),
            lambda flipped, axis: np.abs(flipped.mean(axis=axis)),
            permutation_type="samples",
            alternative="greater",
            vectorized=True,
            n_resamples=n_resamples,
            batch=max(1, DRAW_BYTES // (16 * len(differences))),
            rng=np.random.default_rng(random_state),
        ).pvalue
    )


def _scores(scores: npt.ArrayLike) -> Floats:
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidInput(
            f"The scores have shape {array.shape}",
            "one score per query (1-D), NaN for queries without similar rows",
            "Pass what average_precision returns, or the per_query of a report",
        )
    return array


def _require_queries(n: int) -> None:
    if n == 0:
        raise InvalidInput(
            "No query has a score",
            "at least one score that is not NaN",
            "Evaluate queries that have similar rows in the database",
        )
