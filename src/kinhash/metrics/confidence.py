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

    Parameters
    ----------
    scores : array of shape (queries,)
    level : float, default=0.95
    n_resamples : int, default=10_000
    random_state : int or Generator, default=0
    """
    from scipy.stats import bootstrap

    scores = _scores(scores)
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

    If the methods were exchangeable, each query's difference could as well have the other sign. The p-value
    is the share of sign patterns whose mean difference is at least as large: all ``2**n`` patterns where they
    are no more than ``n_resamples``, otherwise random ones, with the observed pattern counted among them so
    that p is never 0. Parameters as in `bootstrap_interval`.
    """
    from scipy.stats import permutation_test

    left, right = (np.asarray(one, np.float64) for one in (first, second))
    if left.shape != right.shape:
        raise InvalidInput(
            f"{left.size} scores were compared with {right.size}",
            "scores of two methods on the same queries, in the same order",
            "Evaluate both on the same queries",
        )
    differences = _scores(right - left)
    interval = bootstrap_interval(
        differences, level=level, n_resamples=n_resamples, random_state=random_state
    )
    p_value = 1.0  # of one query: either sign is as large
    if len(differences) > 1:
        p_value = permutation_test(
            (differences,),
            lambda flipped, axis: np.abs(flipped.mean(axis=axis)),
            permutation_type="samples",
            alternative="greater",
            vectorized=True,
            n_resamples=n_resamples,
            batch=max(1, DRAW_BYTES // (16 * len(differences))),
            rng=np.random.default_rng(random_state),
        ).pvalue
    better, worse = int((differences > 0).sum()), int((differences < 0).sum())
    return PairedTest(interval, float(p_value), better, worse, len(differences) - better - worse)


def _scores(scores: npt.ArrayLike) -> Floats:
    """The scores that are not NaN, at least one."""
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidInput(
            f"The scores have shape {array.shape}",
            "one score per query (1-D), NaN for queries without similar rows",
            "Pass what average_precision returns, or the per_query of a report",
        )
    array = array[~np.isnan(array)]
    if not len(array):
        raise InvalidInput(
            "No query has a score",
            "at least one score that is not NaN",
            "Evaluate queries that have similar rows in the database",
        )
    return array
