"""Feature maps: columns as they are, similarities to some of the rows, or both; their first statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from .._check import check_flag, check_integer, check_number
from .._types import Array, Floats, Ints
from ..errors import UnknownName
from ..rows import Rows
from ..training import Training
from .moments import Standardised, moments_of_rows
from .preparation import ColumnsAndRBF, Preparation, UnitRBF

__all__ = [
    "FEATURES",
    "GUESS_ROWS",
    "RBF",
    "Both",
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
MOST_COLUMNS = 4096  # of rows that are mostly zeros, beside which similarities are tried


@dataclass(repr=False, kw_only=True)
class FeatureMap(BaseEstimator):
    """Base of all; ``standardize`` brings every column to mean 0 and deviation 1 (training rows)."""

    standardize: bool = True
    name: ClassVar[str]

    def check(self) -> None:
        """Refuse settings outside their range."""
        check_flag("standardize", self.standardize)

    def centers(self, rows: Rows, among: Ints, rng: np.random.Generator) -> UnitRBF | None:
        """Similarities in place of columns; None leaves the columns."""
        return None


@dataclass(repr=False, kw_only=True)
class Plain(FeatureMap):
    """The columns of X."""

    name = "plain"


@dataclass(repr=False, kw_only=True)
class RBF(FeatureMap):
    """Similarities ``exp(−‖u − z‖² / (2 width²))`` to ``n_centers`` training rows, all at unit length.

    A model with RBF features holds its centres, which are training rows.
    """

    n_centers: int = 1000
    width: float = 0.4
    name = "rbf"
    _similarities: ClassVar[type[UnitRBF]] = UnitRBF

    def check(self) -> None:
        super().check()
        check_integer("n_centers", self.n_centers, 1)
        check_number("width", self.width, 0.0, open_low=True)

    def centers(self, rows: Rows, among: Ints, rng: np.random.Generator) -> UnitRBF | None:
        drawn = np.sort(rng.choice(among, min(len(among), self.n_centers), replace=False))
        return self._similarities.of(rows.read(drawn), self.width)


@dataclass(repr=False, kw_only=True)
class Both(RBF):
    """The columns of X, and beside them similarities to training rows, as those of `RBF`.

    Embeddings of networks are served best by both: columns tell kin apart on the whole, similarities where
    they are mixed.
    """

    width: float = 0.5
    name = "both"
    _similarities = ColumnsAndRBF


FEATURES: dict[str, type[FeatureMap]] = {kind.name: kind for kind in (Plain, RBF, Both)}


def feature_map(name_or_map: Any) -> FeatureMap:
    """A feature map by its name, or as it is."""
    if isinstance(name_or_map, FeatureMap):
        return name_or_map
    if isinstance(name_or_map, str) and name_or_map in FEATURES:
        return FEATURES[name_or_map]()
    raise UnknownName.among("kind of features", name_or_map, FEATURES)


def worth_trying(rows: Rows) -> list[FeatureMap]:
    """Features to choose among, the cheapest first.

    Similarities alone say little of rows that are mostly zeros (words, tags). Columns that keep their sizes
    do not go together with similarities, and to thousands of columns they add little.
    """
    if rows.kept_sizes or (rows.mostly_zero() and rows.shape[1] > MOST_COLUMNS):
        return [Plain()]
    return [Plain(), Both()] if rows.mostly_zero() else [Plain(), Both(), RBF()]


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
