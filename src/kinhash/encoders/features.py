"""Features of rows: columns, similarities to some of the rows, or both; prepared in memory with labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .._internal.blocks import block_slices, map_blocks, require_memory
from .._internal.rows import Rows
from .._internal.types import Array, Floats, Floats32, Ints, Rng
from .._internal.validation import check_flag, check_integer, check_number
from ..errors import UnknownName
from ..supervision import Training
from .feature_transform import ColumnsAndRBF, Preparation, Similarities, UnitRBF, prepare_rows
from .least_squares import Standardized, moments_of_rows

__all__ = [
    "FEATURES",
    "GUESS_ROWS",
    "LABEL_ROWS",
    "RBF",
    "Both",
    "FeatureMap",
    "LabeledSet",
    "Plain",
    "feature_map",
    "first_preparation",
    "labeled_set",
    "prepared_like",
    "standardized_moments",
    "standardizes",
    "targets_by_row",
    "worth_trying",
]

GUESS_ROWS = 1024
MOST_COLUMNS = 4096  # of rows that are mostly zeros, beside which similarities are tried
LABEL_ROWS = 100_000  # more rows make a label model slower, and no better (.001 mAP on COCO-117k)
GRAM_ROWS = 12_000  # enough to say how columns are correlated, which only speeds up the fit
BLOCK = 4096


@dataclass(repr=False, kw_only=True)
class FeatureMap(BaseEstimator):
    """Base of all; ``standardize`` brings every column to mean 0 and deviation 1 (training rows)."""

    standardize: bool = True
    name: ClassVar[str]
    has_centers: ClassVar[bool] = False  # whether rows are compared with training rows

    def check(self) -> None:
        """Refuse settings outside their range."""
        check_flag("standardize", self.standardize)

    def count_centers(self, n_rows: int) -> int:
        """Number of centers for ``n_rows`` rows."""
        return 0

    def centers(self, rows: Rows, among: Ints, rng: Rng) -> Similarities | None:
        """Similarities in place of columns; None leaves the columns."""
        return None


@dataclass(repr=False, kw_only=True)
class Plain(FeatureMap):
    """The columns of X."""

    name = "plain"


@dataclass(repr=False, kw_only=True)
class RBF(FeatureMap):
    """Similarities ``exp(−‖u − z‖² / (2 width²))`` to ``n_centers`` training rows, all at unit length.

    A model with RBF features holds its centers, which are training rows.
    """

    n_centers: int = 1000
    width: float = 0.4
    name = "rbf"
    has_centers = True
    _similarities: ClassVar[type[UnitRBF]] = UnitRBF

    def check(self) -> None:
        super().check()
        check_integer("n_centers", self.n_centers, 1)
        check_number("width", self.width, 0.0, open_low=True)

    def count_centers(self, n_rows: int) -> int:
        return min(n_rows, self.n_centers)

    def centers(self, rows: Rows, among: Ints, rng: Rng) -> Similarities | None:
        drawn = np.sort(rng.choice(among, self.count_centers(len(among)), replace=False))
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


def feature_map(name_or_map: str | FeatureMap) -> FeatureMap:
    """A feature map from its name; an instance is returned as it is."""
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


def first_preparation(rows: Rows, features: FeatureMap, rng: Rng) -> Preparation:
    """Statistics of some rows spread over the matrix, to keep sums accurate; draws RBF centers."""
    n = len(rows)
    rbf = features.centers(rows, np.arange(n), rng)
    some = np.unique(np.linspace(0, n - 1, min(n, GUESS_ROWS)).astype(np.int64))
    return Preparation.first_guess(rows.read(some), rbf, standardizes(features, rows))


def standardized_moments(
    training: Training,
    features: FeatureMap,
    preparation: Preparation,
    targets: Callable[[slice], Array],
) -> Standardized:
    """Moments of the known rows with their targets: one pass over X."""
    moments = moments_of_rows(training.rows, preparation, targets, training.known_weights, training.n_jobs)
    return moments.standardized(standardizes(features, training.rows))


def targets_by_row(
    training: Training, targets: Floats, group_of_row: Ints | None = None
) -> Callable[[slice], Array]:
    """Targets (g, d) of groups as a function of a slice of rows; unknown rows read any group, at weight 0.

    The groups are those of the supervision unless ``group_of_row`` (n,) says otherwise.
    """
    table = targets.astype(np.float32)
    group = training.supervision.group_of_row if group_of_row is None else group_of_row
    return lambda part: table[group[part]]


@dataclass(frozen=True)
class LabeledSet:
    """Rows by number, their prepared features (k, q), labels (k, t) CSR, and weights (None = all count once).

    ``exclusive`` labels are classes, of which a row has one; others are tags.
    """

    rows: Ints
    preparation: Preparation
    features: Floats32
    labels: sp.csr_array
    weights: Floats | None
    exclusive: bool
    n_jobs: int | None = None

    @property
    def total_weight(self) -> float:
        """Number of rows, or the sum of their weights."""
        return float(len(self.features) if self.weights is None else self.weights.sum())

    @cached_property
    def label_means(self) -> Floats:
        """Share of the rows with each label (t,)."""
        ones = np.ones(len(self.features)) if self.weights is None else self.weights
        return np.asarray(self.labels.T @ ones, np.float64) / ones.sum()

    @cached_property
    def cross(self) -> Floats:
        """``Zᵀ W Y`` (q, t): all a logistic fit needs to know of the labels."""

        def one(part: slice) -> Floats:
            labels = sp.csr_array(self.labels[part], dtype=np.float32)
            features = self.features[part]
            if self.weights is not None:
                features = features * self.weights[part].astype(np.float32)[:, None]
            return np.asarray(labels.T @ features, np.float64).T

        total = np.zeros((self.features.shape[1], self.labels.shape[1]))
        for part in map_blocks(one, block_slices(len(self.features), BLOCK), self.n_jobs):
            total += part
        return total

    @cached_property
    def gram(self) -> Floats:
        """``Zᵀ W Z`` (q, q)."""
        return self._gram(np.arange(len(self.features)))

    @cached_property
    def gram_estimate(self) -> Floats:
        """About the same, from `GRAM_ROWS` rows where there are more: enough to speed up a fit."""
        n = len(self.features)
        return self.gram if n <= GRAM_ROWS else self._gram(np.linspace(0, n - 1, GRAM_ROWS).astype(np.int64))

    def _gram(self, some: Ints) -> Floats:
        weights = None if self.weights is None else self.weights[some].astype(np.float32)

        def one(part: slice) -> Floats:
            z = self.features[some[part]]
            wz = z if weights is None else z * weights[part][:, None]
            return (wz.T @ z).astype(np.float64)

        total = np.zeros((self.features.shape[1],) * 2)
        for part in map_blocks(one, block_slices(len(some), BLOCK), self.n_jobs):
            total += part
        counted = float(len(some)) if weights is None else float(weights.sum())
        return total * (self.total_weight / max(counted, 1e-300))

    def some(self, rng: Rng, most: int) -> Ints:
        """Sorted positions of at most ``most`` rows with positive weight."""
        places = np.arange(len(self.rows)) if self.weights is None else np.flatnonzero(self.weights > 0)
        return places if len(places) <= most else np.sort(rng.choice(places, most, replace=False))


def labeled_set(
    training: Training,
    features: FeatureMap,
    rng: Rng,
    rows: Ints | None = None,
    rbf: Similarities | None = None,
) -> LabeledSet:
    """Rows for a label model, given by number or drawn: all that are known, or `LABEL_ROWS` of them.

    RBF centers are drawn among these rows, unless they are handed in. Memory: the prepared features,
    4·q bytes a row.
    """
    labels = training.supervision.labels
    assert labels is not None
    rows = training.some_known_rows(rng, LABEL_ROWS) if rows is None else rows
    rbf = features.centers(training.rows, rows, rng) if rbf is None else rbf
    spread = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), GUESS_ROWS)).astype(np.int64))]
    scales = standardizes(features, training.rows)
    guess = Preparation.first_guess(training.rows.read(spread), rbf, scales)
    width = len(guess.mean)
    n_labels = len(labels.names)
    require_memory(
        4 * len(rows) * width + 16 * width**2 + 160 * width * n_labels,
        f"A label model of {len(rows):,} rows, {width:,} columns and {n_labels:,} labels",
        "Use fewer columns, rows or labels",
    )
    whole = len(rows) == len(training.rows)
    prepared = prepare_rows(training.rows, guess, None if whole else rows, training.n_jobs)
    weights = None if training.weights is None else training.weights[rows]
    preparation = center_in_place(prepared, guess, weights, scales, training.n_jobs)
    indicator = sp.csr_array(labels.indicator()[rows])
    return LabeledSet(rows, preparation, prepared, indicator, weights, not labels.is_tags, training.n_jobs)


def center_in_place(
    z: Floats32, guess: Preparation, weights: Floats | None, standardize: bool, n_jobs: int | None
) -> Preparation:
    """Bring prepared rows from a first guess to their true mean and spread, and say how that is done.

    A column that does not vary carries nothing but rounding error and becomes 0.
    """
    from .fit_kernels import column_sums, shift_and_scale

    parts = block_slices(len(z), BLOCK)
    w = np.ones(len(z)) if weights is None else weights
    total = np.zeros((2, z.shape[1]))
    for found in map_blocks(lambda part: column_sums(z[part], w[part]), parts, n_jobs):
        total += found
    shift, squares = total / w.sum()
    variance = np.maximum(squares - shift**2, 0.0)
    varies = variance > guess.least_variance(squares, standardize)
    ratio = np.where(varies, np.sqrt(variance), 1.0) if standardize else np.ones(len(shift))
    factor = np.where(varies, 1 / ratio, 0.0).astype(np.float32)
    offset = shift.astype(np.float32)
    for _ in map_blocks(lambda part: shift_and_scale(z[part], offset, factor), parts, n_jobs):
        pass
    spread = None if standardize else guess.scale * np.sqrt(variance)
    return Preparation(guess.mean + guess.scale * shift, guess.scale * ratio, guess.rbf, spread)


def prepared_like(training: Training, like: LabeledSet, rows: Ints) -> Floats32:
    """Features of other rows, prepared as those of a labeled set."""
    return prepare_rows(training.rows, like.preparation, rows, training.n_jobs)
