"""What happens to one block, in whatever process it lies: rows are taken from it, or it is summed up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import single_blas_thread
from .._internal.rows import Rows
from .._internal.types import Features, Ints, LabelsLike, Matrix
from .._internal.validation import check_finite
from ..encoders import Moments, moments_of_block, moments_of_rows
from ..errors import InvalidInput
from ..hashers import Anchored
from ..supervision import Labels, read_labels
from .tree import merge_in_order

__all__ = ["Taken", "join", "sum_block", "take_rows"]


@dataclass(frozen=True)
class Taken:
    """Rows with their labels."""

    X: Features
    labels: Labels


def take_rows(number: int, X: Features, y: LabelsLike, places: Ints) -> Taken:
    """Some of the rows with labels; ``places`` count among those."""
    X = _features(number, X)
    labels = _labels(number, y, X.shape[0])
    rows = np.flatnonzero(labels.known)[places]
    return Taken(X[rows], labels[rows])


def join(parts: list[Taken]) -> Taken:
    """Rows of several blocks as one matrix."""
    widths = sorted({part.X.shape[1] for part in parts})
    if len(widths) > 1:
        raise InvalidInput(
            f"Blocks have {widths[0]} and {widths[-1]} columns", "one width", "Cut the features alike"
        )
    labels = merge_in_order((part.labels for part in parts), Labels.followed_by)
    if any(sp.issparse(part.X) for part in parts):
        return Taken(sp.csr_array(sp.vstack([part.X for part in parts], format="csr")), labels)
    return Taken(np.concatenate([part.X for part in parts]), labels)


def sum_block(number: int, X: Features, y: LabelsLike, *, anchored: Anchored, width: int) -> Moments:
    """Moments of a block: its rows against the targets that their labels ask for."""
    X = _features(number, X)
    if X.shape[1] != width:
        raise InvalidInput(
            f"Block {number} has {X.shape[1]} columns, and other blocks have {width}",
            "one width",
            "Cut the features alike",
        )
    with single_blas_thread():  # whatever process this is: the last digits must not follow its cores
        scores, place = anchored.scores(_labels(number, y, X.shape[0]))
        targets = anchored.targets(scores).astype(np.float32)
    weights = None if (place >= 0).all() else (place >= 0).astype(np.float64)
    if not X.shape[0]:
        return moments_of_block(anchored.preparation, np.zeros((0, width)), targets[:0], None)
    return moments_of_rows(Rows(X), anchored.preparation, lambda part: targets[place[part]], weights, 1)


def _features(number: int, X: Features) -> Matrix:
    """A block's features as a numeric matrix or CSR, checked; errors name the block."""
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise InvalidInput(
            f"Block {number} has {X.ndim} dimensions and dtype {X.dtype}",
            "a 2-D numeric matrix, one row per item",
            "Convert the features to numbers first",
        )
    try:
        check_finite(X)
    except InvalidInput as error:
        raise InvalidInput(f"In block {number}: {error.wrong}", error.expected, error.remedy) from None
    return X


def _labels(number: int, y: LabelsLike, n_rows: int) -> Labels:
    try:
        return read_labels(y, n_rows)
    except InvalidInput as error:
        raise InvalidInput(f"In block {number}: {error.wrong}", error.expected, error.remedy) from None
