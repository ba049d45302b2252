"""Merge equal rows before a fit, so that a row of weight k and the same row k times are one problem.

Rows with the same features and the same labels become one row whose weight is the sum of theirs. Rows of
weight 0 are left out. If the remaining weights differ, rows are sorted by a hash of their content, so that
draws of anchors, centers and held-out rows depend neither on how rows were repeated nor on their order. Rows
that are all different and count the same are left exactly as they came.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .._internal.blocks import block_slices
from .._internal.rows import PickedRows, Rows
from .._internal.types import Array, Features, Floats, Ints, Numbers, Rng
from .._internal.validation import check_weights
from ..encoders import Fitted
from ..supervision import Labels, Training

__all__ = ["merge_equal_rows", "names_rows", "of_all_rows"]

Keys = npt.NDArray[np.uint64]
SUMS = 2  # ways to hash by sums, before bytes are hashed
HASHED_VALUES = 1 << 17  # values of a block: 1 MB, which stays in the cache


def names_rows(hasher: BaseEstimator) -> bool:
    """Whether a setting holds row numbers, which refer to the rows as they were given."""
    settings = hasher.get_params(deep=True).items()
    return any(name.rsplit("__", 1)[-1] == "anchors" and value is not None for name, value in settings)


def merge_equal_rows(training: Training, sample_weight: Numbers | None) -> tuple[Training, Ints | None]:
    """Training with every (row, labels) once, and the position (n,) of each given row in it.

    ``sample_weight`` are the weights as the user gave them. Positions are −1 for rows of weight 0, and None
    if nothing was merged, left out or reordered. Pairs and similarities are between rows as they were given,
    so these are not merged. Memory: 8 bytes a row; dense rows are not copied.
    """
    n = len(training.rows)
    kept = np.arange(n) if training.weights is None else np.flatnonzero(training.weights > 0)
    supervision = training.supervision.of_rows(kept)
    if supervision is None:
        return training, None
    given = replace(training, rows=PickedRows(training.rows, kept), supervision=supervision)
    if training.looks is not None:
        given = replace(given, looks=PickedRows(training.looks, kept))
    first, which = _equal_rows(given)
    weights = _summed(which, None if training.weights is None else np.asarray(sample_weight)[kept])
    if weights is None:  # all count the same: in the order in which they came
        order = np.argsort(first, kind="stable")
        first, which = first[order], np.argsort(order)[which]
    if len(first) < 2 or (weights is None and len(first) == n):
        return training, None
    of_distinct = supervision.of_rows(first)
    assert of_distinct is not None
    merged = replace(
        training,
        rows=PickedRows(training.rows, kept[first]),
        supervision=of_distinct,
        weights=weights,
        looks=None if training.looks is None else PickedRows(training.looks, kept[first]),
    )
    place = np.full(n, -1, np.int64)
    place[kept] = which
    return merged, place


def of_all_rows(fitted: Fitted, place: Ints | None) -> Fitted:
    """The fit with codes and groups of all given rows; rows of weight 0 have group −1."""
    if place is None or fitted.group_of_row is None:
        return fitted
    group = np.where(place >= 0, fitted.group_of_row[place], -1)
    return replace(fitted, codes=None if fitted.codes is None else fitted.codes[place], group_of_row=group)


def _summed(which: Ints, weights: Array | None) -> Floats | None:
    """Weight of each distinct row with the mean 1; None if all are equal."""
    if weights is not None:
        weights = weights.astype(np.float64)
        weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]))  # sums cannot overflow; exact
    sums = np.bincount(which, weights).astype(np.float64)
    return check_weights(sums, len(sums))


def _equal_rows(training: Training) -> tuple[Ints, Ints]:
    """First row of each kind, sorted by a hash of its content, and the kind of each row.

    That rows with equal hashes are equal is checked, and they are hashed again in another way if not.
    """
    for seed in itertools.count():
        keys = _keys(training, seed)
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        repeated = np.flatnonzero(first[which] != np.arange(len(which)))
        if _are_equal(training, repeated, first[which[repeated]]):
            return first, which
    raise AssertionError


def _are_equal(training: Training, rows: Ints, others: Ints) -> bool:
    group = training.supervision.group_of_row
    if not np.array_equal(group[rows], group[others]):
        return False
    for one in (training.rows, training.looks):
        if one is not None and not _same_content(one.X, rows, others):
            return False
    return True


def _same_content(X: Features, rows: Ints, others: Ints) -> bool:
    for part in block_slices(len(rows), 256):
        left, right = X[rows[part]], X[others[part]]
        if (left != right).nnz if sp.issparse(left) else not np.array_equal(left, right):
            return False
    return True


def _keys(training: Training, seed: int) -> Keys:
    """A hash of each row: of its features, its looks and its labels.

    Sums are fast, and can be made to collide on purpose; after that, rows are hashed byte by byte.
    """
    rng = np.random.default_rng(seed)
    of_values = _keys_of_values if seed < SUMS else _keys_of_bytes
    keys = of_values(training.rows, rng)
    if training.looks is not None:
        keys += of_values(training.looks, rng)
    if training.supervision.labels is not None:
        keys += _keys_of_labels(training.supervision.labels, seed)
    return keys


def _keys_of_values(rows: Rows, rng: Rng) -> Keys:
    """``Σ_j factor_j · bits(x_j)`` modulo 2⁶⁴, where zeros add nothing, dense or sparse."""
    factors = rng.integers(2**63, size=rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if sp.issparse(rows.X):
        X = rows.X
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return _sums(_bits(X.data.astype(np.float64)) * factors[X.indices], X.indptr)
    keys = np.empty(len(rows), np.uint64)
    for part in block_slices(len(rows), max(1, HASHED_VALUES // rows.shape[1])):
        keys[part] = _bits(rows.read(part)) @ factors
    return keys


def _keys_of_bytes(rows: Rows, rng: Rng) -> Keys:
    """Keys by a cryptographic hash, for which collisions cannot be made; slow."""
    salt, keys = rng.bytes(16), np.empty(len(rows), np.uint64)
    for part in block_slices(len(rows), max(1, HASHED_VALUES // rows.shape[1])):
        block = rows.read(part) + 0.0  # 0 and −0 are equal
        found = [hashlib.blake2b(row.tobytes(), digest_size=8, salt=salt).digest() for row in block]
        keys[part] = np.frombuffer(b"".join(found), np.uint64)
    return keys


def _bits(values: Floats) -> Keys:
    """The digits of numbers, with the upper half also in the lower one; 0 and −0 give 0."""
    values += 0.0
    bits = values.view(np.uint64)
    bits ^= bits >> np.uint64(32)
    return bits


def _keys_of_labels(labels: Labels, seed: int) -> Keys:
    """By the names of labels and not by their numbers, which depend on what other rows have."""
    known = labels.indicator()
    names = np.array([_key_of_name(name, seed) for name in labels.names.tolist()], np.uint64)
    return _sums(names[known.indices], known.indptr) + labels.known.astype(np.uint64)


def _key_of_name(name: object, seed: int) -> int:
    digest = hashlib.blake2b(
        repr(name).encode("utf-8", "surrogatepass"), digest_size=8, key=bytes([seed % 256])
    )
    return int.from_bytes(digest.digest(), "little")


def _sums(values: Keys, indptr: Ints) -> Keys:
    """Sum of the values of each row; differences of running sums are exact modulo 2⁶⁴."""
    running = np.zeros(len(values) + 1, np.uint64)
    np.cumsum(values, out=running[1:])
    return running[indptr[1:]] - running[indptr[:-1]]
