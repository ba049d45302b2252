"""Feature maps: columns as they are, or similarities to some of the rows; their first statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._check import check_flag, check_integer, check_number
from .._types import Array, Floats, Ints
from ..errors import UnknownName
from ..rows import Rows
from ..training import Training
from .moments import Standardised, moments_of_rows
from .preparation import Preparation, UnitRBF

__all__ = [
    "FEATURES",
    "GUESS_ROWS",
    "RBF",
    "FeatureMap",
    "Plain",
    "feature_map",
    "first_preparation",
    "standardised_moments",
    "standardizes",
    "targets_by_row",
    "worth_trying",
]

GUESS_ROWS = 1024


@dataclass(repr=False, kw_only=True)
class FeatureMap(BaseEstimator):
    """Base of the two; ``standardize`` brings every column to mean 0 and deviation 1 (training rows)."""

    standardize: bool = True

    def check(self) -> None:
        """Refuse settings outside their range."""
        check_flag("standardize", self.standardize)

    def centers(self, rows: Rows, among: Ints, rng: np.random.Generator) -> UnitRBF | None:
        """Similarities in place of columns; None leaves the columns."""
        return None


@dataclass(repr=False, kw_only=True)
class Plain(FeatureMap):
    """The columns of X."""


@dataclass(repr=False, kw_only=True)
class RBF(FeatureMap):
    """Similarities ``exp(−‖u − z‖² / (2 width²))`` to ``n_centers`` training rows, all at unit length.

    ``n_centers`` None is 1,000, and up to 1,500 where there are so few rows that all of them can be centres.
    A model with RBF features holds its centres, which are training rows.
    """

    n_centers: int | None = None
    width: float = 0.4

    def check(self) -> None:
        super().check()
        if self.n_centers is not None:
            check_integer("n_centers", self.n_centers, 1)
        check_number("width", self.width, 0.0, open_low=True)

    def count(self, n_rows: int) -> int:
        """Centres for so many rows."""
        return min(n_rows, self.n_centers or int(np.clip(3_000_000 // n_rows, 1000, 1500)))

    def centers(self, rows: Rows, among: Ints, rng: np.random.Generator) -> UnitRBF | None:
        drawn = np.sort(rng.choice(among, self.count(len(among)), replace=False))
        return UnitRBF.of(rows.read(drawn), self.width)


FEATURES: dict[str, type[FeatureMap]] = {"plain": Plain, "rbf": RBF}


def feature_map(name_or_map: Any) -> FeatureMap:
    """A feature map by its name, or as it is."""
    if isinstance(name_or_map, FeatureMap):
        return name_or_map
    if isinstance(name_or_map, str) and name_or_map in FEATURES:
        return FEATURES[name_or_map]()
    raise UnknownName.among("kind of features", name_or_map, FEATURES)


def worth_trying(rows: Rows, rbf: RBF) -> list[FeatureMap]:
    """Features to choose among: similarities of rows that are mostly zeros say little."""
    return [Plain()] if rows.mostly_zero() else [Plain(), rbf]


def standardizes(features: FeatureMap, rows: Rows) -> bool:
    """Whether columns are brought to one size: as the features say, but for rows that keep their sizes."""
    return features.standardize and not rows.kept_sizes


def first_preparation(rows: Rows, features: FeatureMap, rng: np.random.Generator) -> Preparation:
    """Statistics of some rows spread over the matrix, to keep sums accurate; draws RBF centres."""
    n = len(rows)
    rbf = features.centers(rows, np.arange(n), rng)
    some = np.unique(np.linspace(0, n - 1, min(n, GUESS_ROWS)).astype(np.int64))
    return Preparation.first_guess(rows.read(some), rbf, standardizes(features, rows))


def standardised_moments(
    training: Training,
    features: FeatureMap,
    preparation: Preparation,
    targets: Callable[[slice], Array],
) -> Standardised:
    """Moments of the known rows with their targets: one pass over X."""
    moments = moments_of_rows(training.rows, preparation, targets, training.known_weights, training.n_jobs)
    return moments.standardised(standardizes(features, training.rows))


def targets_by_row(
    training: Training, targets: Floats, group_of_row: Ints | None = None
) -> Callable[[slice], Array]:
    """Targets (g, d) of groups as a function of a slice of rows; unknown rows read any group, at weight 0.

    The groups are those of the supervision unless ``group_of_row`` (n,) says otherwise.
    """
    table = targets.astype(np.float32)
    group = training.supervision.group_of_row if group_of_row is None else group_of_row
    return lambda part: table[group[part]]
