"""Features as the maps want them: standardised or compared with RBF centres, with their moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._hasher import Training
from ..maps.moments import Standardised, moments_of_rows
from ..maps.preparation import RBF, Preparation
from ..maps.rows import Rows

__all__ = ["FeatureOptions", "first_preparation", "known_weights", "standardised_moments"]

Floats = npt.NDArray[np.float64]
GUESS_ROWS = 1024


@dataclass(frozen=True)
class FeatureOptions:
    """``kind`` is "plain" or "rbf"; centres are drawn among the training rows.

    "auto" is for whoever chooses between the two; where nobody does, it is "plain". ``n_centers`` None is
    1,000, and up to 1,500 where there are so few rows that all of them can be centres.
    """

    kind: str = "plain"
    standardize: bool = True
    n_centers: int | None = None
    width: float = 0.4


def known_weights(training: Training) -> Floats | None:
    """Row weights with zero for rows nothing is known about; None where every row counts once."""
    known = training.supervision.group_of_row >= 0
    if known.all():
        return training.weights
    return known.astype(np.float64) if training.weights is None else training.weights * known


def first_preparation(rows: Rows, options: FeatureOptions, rng: np.random.Generator) -> Preparation:
    """Statistics of some rows spread over the matrix, to keep sums accurate; draws RBF centres."""
    n = len(rows)
    rbf = None
    if options.kind == "rbf":
        wanted = options.n_centers or int(np.clip(3_000_000 // n, 1000, 1500))
        centers = np.sort(rng.choice(n, min(n, wanted), replace=False))
        rbf = RBF.of(rows.read(centers), options.width)
    some = np.unique(np.linspace(0, n - 1, min(n, GUESS_ROWS)).astype(np.int64))
    return Preparation.first_guess(rows.read(some), rbf, options.standardize)


def standardised_moments(
    training: Training,
    options: FeatureOptions,
    preparation: Preparation,
    targets: Callable[[slice], npt.NDArray[Any]],
) -> Standardised:
    """Moments of the known rows with their targets: one pass over X."""
    moments = moments_of_rows(training.rows, preparation, targets, known_weights(training), training.n_jobs)
    return moments.standardised(options.standardize)
