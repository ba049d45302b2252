"""Features that rivals choose among: columns, similarities to training rows, or both.

Similarities are ``exp(−‖u − z‖² / (2 width²))`` of rows and centers at unit length (SDH's convention, so one
width suits all data); the centers are training rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinhash.errors import UnknownName
from kinhash.models import Builder
from kinhash.paper.maps import Preparation, prepare_rows
from kinhash.paper.similarity import Training
from kinhash.plugins import Array, Floats, Floats32, Ints, Rows, block_slices, map_blocks, require_memory

from .similar_rows import Similarities, SimilarityPreparation, guess_of_block

__all__ = [
    "BOTH",
    "PLAIN",
    "RBF",
    "ColumnsAndRBF",
    "Features",
    "HoldOut",
    "LabeledSet",
    "UnitRBF",
    "features_of_name",
    "hold_out",
    "labeled_set",
    "prepared_like",
    "worth_trying",
]

FAR = np.float32(1e15)
GUESS_ROWS = 1024
ENOUGH_ROWS = 250  # fewer than 50 held-out rows cannot tell candidates apart
MOST_ROWS = 5_000  # candidates are compared on at most this many rows
MOST_COLUMNS = 4096  # of rows that are mostly zeros, beside which similarities are tried
LABEL_ROWS = 100_000  # more rows make a fit slower, and no better
BLOCK = 4096


# -- similarities to training rows -------------------------------------------------------------


@dataclass(frozen=True)
class UnitRBF(Similarities):
    """``exp(−‖u − z‖² / (2 width²))``; with ``power=1`` the distance is not squared (SCDH)."""

    power: int = 2

    @classmethod
    def of(cls, centers: Floats, width: float, power: int = 2) -> UnitRBF:
        """Centers from raw rows."""
        return cls(_unit(centers), float(width), power)

    def __call__(self, block: Floats) -> Floats:
        """Similarities (k, centers) of raw rows (k, p)."""
        u = _unit(block)
        # A zero row stays zero and is at distance 1.
        away = _squares(u)[:, None] + _squares(self.centers) - 2 * (u @ self.centers.T)
        away = np.maximum(away, 0)
        if self.power == 1:
            away = np.sqrt(away)
        return np.exp(away / np.float32(-2 * self.width * self.width)).astype(np.float64)

    def steps(self, builder: Builder) -> int:
        return builder.unit_similarities(self.centers, self.width, self.power)

    def prepared(self, block: Floats, preparation: SimilarityPreparation) -> Floats32:
        """The same, standardized, in float32."""
        if self.power != 2:
            return preparation.standardized(self(block))
        unit = _unit(block)
        products: Floats32 = unit @ self.centers.T
        slope = np.float32(1 / np.float32(-2 * self.width * self.width))
        away = np.maximum(_squares(unit)[:, None] + _squares(self.centers) - np.float32(2) * products, 0)
        most, own = np.finfo(np.float32).max, slice(preparation.n_columns, None)
        factor = np.minimum(1 / preparation.scale[own], most)
        origin = np.clip(preparation.mean[own] * factor, -most, most).astype(np.float32)
        near = _exponential(np.maximum(away * slope, np.float32(-87)))
        found: Floats32 = np.clip(near * factor.astype(np.float32) - origin, -FAR, FAR)
        return found


@dataclass(frozen=True)
class ColumnsAndRBF(UnitRBF):
    """The columns of a row (k, p), and after them its similarities to the centers."""

    def __call__(self, block: Floats) -> Floats:
        return np.concatenate([block, super().__call__(block)], axis=1)

    def prepared(self, block: Floats, preparation: SimilarityPreparation) -> Floats32:
        columns = slice(preparation.n_columns)
        own = Preparation(preparation.mean[columns], preparation.scale[columns])
        return np.concatenate([own(block), super().prepared(block, preparation)], axis=1)


def _exponential(x: Floats32) -> Floats32:
    """eˣ for x from −87 to 0, by ``2ⁿ eʳ`` with r within ±½ ln 2: the same digits on every processor."""
    n = np.rint(x * np.float32(1.4426950408889634))
    r = (x - n * np.float32(0.693359375)) - n * np.float32(-2.12194440e-4)
    series = np.float32(1 / 5040)
    for term in (1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5):
        series = series * r + np.float32(term)
    powers = ((n.astype(np.int32) + np.int32(127)) << np.int32(23)).view(np.float32)
    found: Floats32 = ((series * r) * r + r + np.float32(1)) * powers
    return found


def _squares(rows: Floats32) -> Floats32:
    """Squared lengths, summed in float64: an error here would be common to all columns."""
    wide = rows.astype(np.float64)
    return (wide * wide).sum(axis=1).astype(np.float32)


def _unit(rows: Floats) -> Floats32:
    peak = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
    scaled = rows / peak
    length = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    return (scaled / np.where(length > 0, length, 1.0)).astype(np.float32)


@dataclass(frozen=True)
class Features:
    """Columns, similarities to ``n_centers`` training rows in their place, or both side by side."""

    name: str
    kind: type[UnitRBF] | None = None
    n_centers: int = 1000
    width: float = 0.4

    def similarities(self, rows: Rows, among: Ints, rng: np.random.Generator) -> Similarities | None:
        """Similarities to centers drawn among some rows; None leaves the columns."""
        if self.kind is None:
            return None
        count = min(len(among), self.n_centers)
        drawn = np.sort(rng.choice(among, count, replace=False))
        return self.kind.of(rows.read(drawn), self.width)


PLAIN, RBF, BOTH = Features("plain"), Features("rbf", UnitRBF), Features("both", ColumnsAndRBF, width=0.5)


def features_of_name(name: Any, n_centers: int = 1000) -> Features:
    """ "plain", "rbf" or "both"."""
    known = {one.name: one for one in (PLAIN, RBF, BOTH)}
    if not isinstance(name, str) or name not in known:
        raise UnknownName.among("kind of features", name, known)
    return replace(known[name], n_centers=n_centers)


def worth_trying(rows: Rows) -> list[Features]:
    """Features to choose among, the cheapest first.

    Similarities alone say little of rows that are mostly zeros (words, tags), and to thousands of columns they
    add little.
    """
    some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), 256)).astype(np.int64))
    if (rows.read(some) != 0).mean() < 0.2:  # as in counts of words or tags
        return [PLAIN] if rows.shape[1] > MOST_COLUMNS else [PLAIN, BOTH]
    return [PLAIN, BOTH, RBF]


# -- rows with labels, prepared in memory ------------------------------------------------------


@dataclass(frozen=True)
class LabeledSet:
    """Rows by number, their prepared features (k, q), labels (k, t) CSR, and weights (None = all count once)."""

    rows: Ints
    preparation: Preparation
    features: Floats32
    labels: sp.csr_array
    weights: Floats | None
    n_jobs: int | None = None

    @cached_property
    def gram(self) -> Floats:
        """``Zᵀ W Z`` (q, q)."""

        def one(part: slice) -> Floats:
            z = self.features[part]
            wz = z if self.weights is None else z * self.weights[part].astype(np.float32)[:, None]
            return (wz.T @ z).astype(np.float64)

        total = np.zeros((self.features.shape[1],) * 2)
        for part in map_blocks(one, block_slices(len(self.features), BLOCK), self.n_jobs):
            total += part
        counted = float(len(self.features)) if self.weights is None else float(self.weights.sum())
        return total * (counted / max(counted, 1e-300))


def labeled_set(
    training: Training, features: Features, rng: np.random.Generator, rows: Ints | None = None
) -> LabeledSet:
    """Rows with labels, given by number or drawn: all that are known, or `LABEL_ROWS` of them.

    Centers are drawn among these rows. Memory: the prepared features, 4·q bytes a row.
    """
    labels = training.supervision.labels
    assert labels is not None
    rows = _some_known_rows(training, rng, LABEL_ROWS) if rows is None else rows
    similarities = features.similarities(training.rows, rows, rng)
    spread = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), GUESS_ROWS)).astype(np.int64))]
    guess = guess_of_block(training.rows.read(spread), similarities)
    width, n_labels = len(guess.mean), len(labels.names)
    require_memory(
        4 * len(rows) * width + 16 * width**2 + 160 * width * n_labels,
        f"Features of {len(rows):,} rows, {width:,} columns and {n_labels:,} labels",
        "Use fewer columns, rows or labels",
    )
    whole = len(rows) == len(training.rows)
    prepared = prepare_rows(training.rows, guess, None if whole else rows, training.n_jobs)
    weights = None if training.weights is None else training.weights[rows]
    preparation = _center_in_place(prepared, guess, weights, training.n_jobs)
    return LabeledSet(
        rows, preparation, prepared, sp.csr_array(labels.indicator()[rows]), weights, training.n_jobs
    )


def _center_in_place(
    z: Floats32, guess: Preparation, weights: Floats | None, n_jobs: int | None
) -> Preparation:
    """Bring prepared rows from a first guess to their true mean and spread, and say how that is done."""
    w = np.ones(len(z)) if weights is None else weights

    def sums(part: slice) -> Floats:
        wide = z[part].astype(np.float64)
        weighted = w[part, None] * wide
        return np.stack([_in_order(weighted), _in_order(weighted * wide)])

    total = np.zeros((2, z.shape[1]))
    for found in map_blocks(sums, block_slices(len(z), BLOCK), n_jobs):
        total += found
    shift, squares = total / w.sum()
    preparation, ratio, varies = guess.corrected(shift, squares, squares - shift**2, True)
    z -= shift.astype(np.float32)
    z *= np.where(varies, 1 / ratio, 0.0).astype(np.float32)
    return preparation


def _in_order(values: Array) -> Any:
    """Sums of columns, added up from the first row to the last."""
    total = np.zeros(values.shape[1])
    for row in values:
        total += row
    return total


def prepared_like(training: Training, like: LabeledSet, rows: Ints) -> Floats32:
    """Features of other rows, prepared as those of a labeled set."""
    return prepare_rows(training.rows, like.preparation, rows, training.n_jobs)


# -- rows held out to choose by ----------------------------------------------------------------


@dataclass(frozen=True)
class HoldOut:
    """Row numbers: ``part`` to fit candidates on, in random order, and ``held`` to compare them by."""

    part: Ints
    held: Ints


def hold_out(training: Training) -> HoldOut | None:
    """A fifth of at most `MOST_ROWS` labeled rows; None if there are fewer than `ENOUGH_ROWS`.

    No class loses its last row.
    """
    rows = _some_known_rows(training, training.rng, MOST_ROWS)
    if len(rows) < ENOUGH_ROWS:
        return None
    order = training.rng.permutation(rows)
    labels = training.supervision.labels
    spare = np.ones(len(order), bool)
    if labels is not None and labels.classes is not None:
        spare[np.unique(labels.classes[order], return_index=True)[1]] = False
    held = np.flatnonzero(spare)[: len(order) // 5]
    return HoldOut(np.delete(order, held), order[held]) if len(held) else None


def _some_known_rows(training: Training, rng: np.random.Generator, most: int) -> Ints:
    rows = training.known_rows
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
