"""The door of an explicit similarity matrix: shape, range, symmetry, and whether it says anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._blocks import block_slices
from ._types import Ints
from .errors import InvalidInput

__all__ = ["all_alike", "check_similarity", "check_symmetric", "check_varies", "has_unknown"]


def check_similarity(matrix: Any, anchors: Any, n_rows: int | None) -> int:
    """Number of rows of S, whose shape and range were checked."""
    if matrix.ndim != 2 or (anchors is None and matrix.shape[0] != matrix.shape[1]):
        raise InvalidInput(
            f"S has shape {matrix.shape}",
            "n × n, or n × m with the m rows its columns stand for",
            "Pass anchors= for a matrix with fewer columns than rows",
        )
    n = int(matrix.shape[0])
    if n_rows is not None and n != n_rows:
        raise InvalidInput(
            f"S has {n} rows and X has {n_rows}", "one row of S per row of X", "Pass S and X that match"
        )
    if anchors is not None and len(np.asarray(anchors)) != matrix.shape[1]:
        raise InvalidInput(
            f"S has {matrix.shape[1]} columns and {len(np.asarray(anchors))} anchors were given",
            "one anchor row per column",
            "Pass the row number each column stands for",
        )
    values = matrix.data if sp.issparse(matrix) else matrix
    low, high = (values.min(), values.max()) if values.size else (0, 0)
    if not (low >= -1 and high <= 1):  # also refuses NaN
        raise InvalidInput(
            f"S holds values from {low} to {high}",
            "numbers in [-1, 1]: 1 kin, -1 strangers, 0 unknown",
            "Rescale S; write 0 for what is unknown instead of NaN",
        )
    return n


def check_symmetric(matrix: Any, anchors: Ints) -> None:
    """Refuse an S that says one thing of (i, j) and another of (j, i)."""
    if sp.issparse(matrix):
        block = matrix[anchors]
        difference = abs(block - block.T)
        worst = difference.max() if difference.nnz else 0.0
    else:
        worst = 0.0
        for rows in block_slices(len(anchors), 1024):
            upper, lower = matrix[anchors[rows]], matrix[anchors, rows].T
            worst = max(worst, float(np.abs(upper - lower).max(initial=0.0)))
    if worst > 1e-6:
        raise InvalidInput(
            f"S is not symmetric: entries (i, j) and (j, i) differ by up to {worst:.3g}",
            "the same verdict in both directions",
            "Pass (S + S.T) / 2, or decide which direction holds",
        )


def check_varies(matrix: npt.NDArray[Any], anchors: Ints) -> None:
    """Refuse an S that says the same about every pair."""
    n, m = matrix.shape
    own = matrix[anchors, np.arange(m)]
    value = matrix[0 if anchors[0] else n - 1, 0]
    if int((matrix == value).sum()) - int((own == value).sum()) == n * m - m:
        raise all_alike(value)


def all_alike(value: Any) -> InvalidInput:
    """The error for an S that tells nobody apart."""
    return InvalidInput(
        f"S says {value} about every pair, so nobody can be told apart",
        "some pairs more similar than others",
        "Add pairs of the other kind; random pairs of rows are usually strangers",
    )


def has_unknown(matrix: npt.NDArray[Any], anchors: Ints) -> bool:
    """Whether some entry off the diagonal is 0."""
    zeros = int((matrix == 0).sum())
    return zeros > int((matrix[anchors, np.arange(len(anchors))] == 0).sum())
