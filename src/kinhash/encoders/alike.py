"""Look-alike bits: directions of the features, without the part that the labels predict.

Kin bits bring rows of one label together; among those, these bits rank by cosine. What all rows of a label
share would be wasted on them. So the part of a row that its labels predict (by a linear map, which new rows
have too) is mostly taken away, the rest goes through principal directions and a rotation, as in ITQ, and
gradient steps make the bits rank neighbors (`ranking`). Rows count at unit length, around their mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._internal.numerics import fit_rotation
from .._internal.rows import Rows
from .._internal.types import Bytes, Floats, Floats32, Ints, Rng
from ..codes import pack_bits, unpack_bits
from ..models import Map
from ..supervision import Labels, Training
from .codes_of_rows import mapped_codes
from .feature_transform import Preparation, prepare_rows
from .least_squares import choose_alpha, moments_of_rows, ridge_weights
from .maps import LinearMap, StackedMap
from .ranking import rank_alike

__all__ = ["AlikeMaps", "fit_alike"]

MOST_ROWS = 20_000  # enough for gradient steps
MOST_VALUES = 40_000_000  # of those rows; wide ones are fewer
MOST_COLUMNS = 1024  # wider rows go through their principal directions first
DIRECTION_ROWS, ROTATION_ROWS = 10_000, 4000  # of them, for directions and their rotation
MOST_TAGS = 2000  # whose means are subtracted, the most frequent ones: their Gram matrix takes 32 MB
ROUNDS = 20
KNOWN = 0.8  # how much is taken away of what the labels predict
FEW_ROWS = 5.0  # a label of this many rows counts half: the mean of one row would be the row
EVEN = 0.25  # 1 gives every direction the same say, 0 as much as it varies
SMALLEST = 1e-6  # directions that vary less than this share of the first are noise


@dataclass(frozen=True)
class AlikeMaps:
    """Maps to look-alike bits: ``features`` from the columns of X, ``looks`` from those of ``alike_to``.

    They are the same map unless the user passed ``alike_to``.
    """

    features: LinearMap
    looks: LinearMap

    def beside(self, kin: Map) -> StackedMap:
        """Kin bits, then look-alike bits."""
        return StackedMap((kin, self.features))

    def recoded(self, codes: Bytes, n_kin: int, looks: Rows, n_jobs: int | None) -> Bytes:
        """Packed codes with the same kin bits, and with the look-alike bits of rows given by ``alike_to``."""
        alike = unpack_bits(mapped_codes(self.looks.whole(), looks, n_jobs), self.looks.n_bits)
        return pack_bits(np.concatenate([unpack_bits(codes, n_kin), alike], axis=1))


def fit_alike(training: Training, n_bits: int) -> AlikeMaps:
    """Maps to ``n_bits`` look-alike bits, from at most `MOST_ROWS` rows.

    Where rows are compared by columns of their own (``training.looks``), their bits are predicted from the
    features by ridge regression. Memory: 16·MOST_VALUES bytes, and a matrix of MOST_COLUMNS².
    """
    looks = training.rows if training.looks is None else training.looks
    labels = training.supervision.labels
    some = _some_rows(training, looks.shape[1])
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
    found = _rotated_directions(unit[::every], labels, some[::every], n_bits, training.rng)
    indicator = None if labels is None else sp.csr_array(labels.indicator()[some])
    found = rank_alike(found, unit, indicator, training.rng)
    weights: Floats = back @ found.astype(np.float64)
    typical = float(np.sqrt((weights**2).sum(axis=0).mean())) or 1.0
    own = LinearMap(preparation, (weights / typical).astype(np.float32), np.zeros(n_bits, np.float32))
    if training.looks is None:
        return AlikeMaps(own, own)
    return AlikeMaps(_predicted(training.rows, own, training.looks, some), own)


def _rotated_directions(unit: Floats32, labels: Labels | None, some: Ints, n_bits: int, rng: Rng) -> Floats32:
    """Weights (q, d): directions of what labels do not predict, made more even, rotated to round well."""
    left_over = np.eye(unit.shape[1])
    if labels is not None:
        left_over -= KNOWN * _predictable(labels, unit, some)
    rest = unit @ left_over.astype(np.float32)
    principal, variances = _principal(rest, n_bits)
    evened = np.maximum(variances, SMALLEST * (variances[0] or 1.0)) ** (-EVEN / 2)
    seen = rest if len(rest) <= ROTATION_ROWS else rest[:: -(-len(rest) // ROTATION_ROWS)]
    along = (seen @ principal).astype(np.float64) * evened
    rotation = fit_rotation(along, n_bits, rng, ROUNDS)
    return ((left_over @ principal * evened) @ rotation).astype(np.float32)


def _some_rows(training: Training, width: int) -> Ints:
    rows = np.arange(len(training.rows))
    if training.weights is not None:
        rows = rows[training.weights > 0]
    most = int(np.clip(MOST_VALUES // width, 500, MOST_ROWS))
    return rows if len(rows) <= most else np.sort(training.rng.choice(rows, most, replace=False))


def _predictable(labels: Labels, unit: Floats32, some: Ints) -> Floats:
    """Matrix (p, p) that takes a row to what its labels, as far as they follow from it, would predict."""
    means = _label_means(sp.csr_array(labels.indicator()[some], dtype=np.float64), unit, labels.is_tags)
    width = unit.shape[1]
    gram = (unit.T @ unit).astype(np.float64)
    gram[np.diag_indices_from(gram)] += 1e-3 * (np.trace(gram) or 1.0) / width  # rows may be all the same
    return np.asarray(np.linalg.solve(gram, unit.T @ means), np.float64)


def _label_means(known: sp.csr_array, unit: Floats32, are_tags: bool) -> Floats32:
    """Rows (n, p) as predicted from their labels (n, t): shrunken means of classes, ridge on tags."""
    counts = np.bincount(known.indices, minlength=known.shape[1])
    if not are_tags:
        means = (known.T @ unit.astype(np.float64)) / (counts + FEW_ROWS)[:, None]
        return np.asarray(known @ means, np.float32)
    known = known[:, np.sort(np.argsort(-counts, kind="stable")[:MOST_TAGS])]
    gram = (known.T @ known).toarray()
    gram[np.diag_indices_from(gram)] += FEW_ROWS
    return np.asarray(known @ np.linalg.solve(gram, known.T @ unit.astype(np.float64)), np.float32)


def _principal(rows: Floats32, most: int) -> tuple[Floats32, Floats]:
    """At most ``most`` principal directions (p, r) of rows around zero, and the variances along them."""
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
    standard = moments.standardized(True)
    weights = ridge_weights(standard, choose_alpha("gcv", standard)).astype(np.float32)
    return LinearMap(standard.preparation, weights, standard.target_mean.astype(np.float32))
