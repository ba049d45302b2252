"""Bits that say what a row looks like: directions of its features, less what the labels say already.

Kin bits bring kin together; among kin these bits rank. So what all kin share is wasted on them: the part of a
row that its labels would predict (by a linear map, so that new rows have it too) is mostly taken away,
the rest goes through principal directions and a rotation, as in ITQ; from there, gradient steps make the bits
rank kin (`near_kin`). Rows are compared by cosine, so they count at unit length, around their mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._linalg import fit_rotation
from .._types import Floats, Floats32, Ints
from ..rows import Rows
from ..training import Training
from .least_squares import choose_alpha, ridge_weights
from .linear import LinearMap
from .moments import moments_of_rows
from .near_kin import rank_near_kin
from .preparation import Preparation
from .prepared import prepare_rows

__all__ = ["AlikeMaps", "Looks"]

MOST_ROWS = 20_000  # enough for gradient steps
MOST_VALUES = 40_000_000  # of those rows; wide ones are fewer
MOST_COLUMNS = 1024  # wider rows go through their principal directions first
DIRECTION_ROWS, ROTATION_ROWS = 10_000, 4000  # of them, for directions and their rotation
ROUNDS = 20
KNOWN = 0.8  # how much is taken away of what the labels predict
FEW_ROWS = 5.0  # a label of so many rows counts half: the mean of one row would be the row
EVEN = 0.25  # 1 gives every direction the same say, 0 as much as it varies
SMALLEST = 1e-6  # directions that vary less than this share of the first are noise


@dataclass(frozen=True)
class AlikeMaps:
    """``features`` gives the alike bits of any row; ``looks`` gives those of rows whose looks are known.

    They are one unless the user said by other columns who looks alike.
    """

    features: LinearMap
    looks: LinearMap


@dataclass(frozen=True)
class Looks:
    """Principal directions of what rows look like: alike bits of any number up to theirs are made of them.

    ``unit`` (k, q) are some rows, at unit length and of no more than `MOST_COLUMNS` columns, ``back`` (p, q)
    leads from weights of theirs to weights of prepared rows. ``directions`` (q, r) come with the variance
    along each, and ``seen`` (j, r) are rows along them.
    """

    training: Training
    some: Ints
    preparation: Preparation
    unit: Floats32
    back: sp.dia_array | Floats
    directions: Floats
    variances: Floats
    seen: Floats

    @classmethod
    def of(cls, training: Training, most_bits: int, among: Ints | None = None) -> Looks:
        """From at most `MOST_ROWS` rows (of ``among``, or all).

        Memory: 16·MOST_VALUES bytes, and a matrix of MOST_COLUMNS².
        """
        looks = training.rows if training.looks is None else training.looks
        some = _some_rows(training, looks.shape[1], among)
        preparation = Preparation.first_guess(looks.read(some), None, True)
        scale = (preparation.scale / preparation.scale.max()).astype(np.float32)  # columns as they came
        unit = prepare_rows(looks, preparation, some, training.n_jobs) * scale
        size = np.linalg.norm(unit, axis=1, keepdims=True)
        unit /= np.where(size > 0, size, 1)
        back: sp.dia_array | Floats = sp.diags_array(scale.astype(np.float64))
        if unit.shape[1] > MOST_COLUMNS:
            basis = _principal(unit, MOST_COLUMNS)[0]
            unit, back = unit @ basis, back @ basis
        every = -(-len(unit) // DIRECTION_ROWS)
        left_over = np.eye(unit.shape[1]) - KNOWN * _predictable(training, unit[::every], some[::every])
        rest = unit[::every] @ left_over.astype(np.float32)
        principal, variances = _principal(rest, most_bits)
        seen = rest if len(rest) <= ROTATION_ROWS else rest[:: -(-len(rest) // ROTATION_ROWS)]
        along = (seen @ principal).astype(np.float64)
        return cls(training, some, preparation, unit, back, left_over @ principal, variances, along)

    def maps(self, n_bits: int, *, rough: bool = False) -> AlikeMaps:
        """Maps to so many bits, ``rough`` ones without gradient steps.

        Where rows are alike by columns of their own (``training.looks``), their bits are predicted from the
        features by ridge regression.
        """
        found = self._rotated(n_bits)
        if not rough:
            found = rank_near_kin(found, self.unit, self._labels, self.training.rng)
        weights: Floats = self.back @ found.astype(np.float64)
        typical = float(np.sqrt((weights**2).sum(axis=0).mean())) or 1.0
        zeros = np.zeros(n_bits, np.float32)
        own = LinearMap(self.preparation, (weights / typical).astype(np.float32), zeros)
        if self.training.looks is None:
            return AlikeMaps(own, own)
        return AlikeMaps(_predicted(self.training.rows, own, self.training.looks, self.some), own)

    def _rotated(self, n_bits: int) -> Floats32:
        """Weights (q, d): directions made more even, and turned so that they round well."""
        variances = self.variances[:n_bits]
        evened = np.maximum(variances, SMALLEST * (variances[0] or 1.0)) ** (-EVEN / 2)
        rotation = fit_rotation(self.seen[:, :n_bits] * evened, n_bits, self.training.rng, ROUNDS)
        return ((self.directions[:, :n_bits] * evened) @ rotation).astype(np.float32)

    @property
    def _labels(self) -> sp.csr_array | None:
        labels = self.training.supervision.labels
        return None if labels is None else sp.csr_array(labels.indicator()[self.some])


def _some_rows(training: Training, width: int, among: Ints | None) -> Ints:
    rows = np.arange(len(training.rows)) if among is None else among
    if training.weights is not None:
        rows = rows[training.weights[rows] > 0]
    most = int(np.clip(MOST_VALUES // width, 500, MOST_ROWS))
    return rows if len(rows) <= most else np.sort(training.rng.choice(rows, most, replace=False))


def _predictable(training: Training, unit: Floats32, some: Ints) -> Floats:
    """Matrix (p, p) that takes a row to what its labels, as far as they can be told from it, would say."""
    width = unit.shape[1]
    labels = training.supervision.labels
    if labels is None:
        return np.zeros((width, width))
    known = sp.csr_array(labels.indicator()[some], dtype=np.float64)
    counts = (known.T @ known).toarray()
    counts[np.diag_indices_from(counts)] += FEW_ROWS
    usual = np.linalg.solve(counts, known.T @ unit.astype(np.float64))  # the look of each label
    told = np.asarray(known @ usual, np.float32)
    gram = (unit.T @ unit).astype(np.float64)
    gram[np.diag_indices_from(gram)] += 1e-3 * (np.trace(gram) or 1.0) / width  # rows may be all the same
    return np.asarray(np.linalg.solve(gram, unit.T @ told), np.float64)


def _principal(rows: Floats32, most: int) -> tuple[Floats32, Floats]:
    """At most so many principal directions (p, r) of rows around zero, and the variances along them."""
    n, width = rows.shape
    if width <= n:
        variances, directions = np.linalg.eigh((rows.T @ rows).astype(np.float64) / n)
    else:
        variances, left = np.linalg.eigh((rows @ rows.T).astype(np.float64) / n)
        keep = variances >= SMALLEST * variances[-1]  # all of them where rows are all the same
        variances, left = variances[keep], left[:, keep]
        directions = rows.T @ (left / np.sqrt(np.maximum(n * variances, np.finfo(np.float64).tiny)))
    variances, directions = variances[::-1][:most], directions[:, ::-1][:, :most]
    # A fixed sign, so that the same data give the same bits under any LAPACK.
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])])
    return (directions * np.where(signs == 0, 1, signs)).astype(np.float32), np.maximum(variances, 0)


def _predicted(rows: Rows, own: LinearMap, looks: Rows, some: Ints) -> LinearMap:
    """Ridge regression from the features of some rows onto the scores that their looks have."""
    X, targets = rows.read(some), own.scores(looks.read(some))
    preparation = Preparation.first_guess(X, None, True)
    moments = moments_of_rows(Rows(X), preparation, lambda part: targets[part], None)
    standard = moments.standardised(True)
    weights = ridge_weights(standard, choose_alpha("gcv", standard)).astype(np.float32)
    return LinearMap(standard.preparation, weights, standard.target_mean.astype(np.float32))
