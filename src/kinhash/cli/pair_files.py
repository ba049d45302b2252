"""What is known between rows: pairs, triplets or similarities, read from the user's files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.types import Floats, Ints, Matrix
from ..datasets import open_matrix
from ..errors import InvalidInput, KinhashWarning
from ..supervision import Examples, Supervision, from_kin, from_pairs, from_similarity, from_triplets
from .terminal import counted

if TYPE_CHECKING:
    from .fitting import Request

__all__ = ["Between", "read_between"]

COUNTED = "Rows are numbered from 0 in the order of the features"


@dataclass(frozen=True)
class Between:
    """What is known between rows: ``examples`` in a sparse form, or a full ``matrix`` of similarities."""

    read: str
    examples: Examples | None = None
    weighted: bool = False
    matrix: Matrix = None


def read_between(request: Request, n_rows: int) -> Between | None:
    """The file of ``--pairs``, ``--triplets`` or ``--similarity``, checked; None without any."""
    if request.pairs is not None:
        return _pairs(request.pairs, n_rows)
    if request.triplets is not None:
        found = _table(request.triplets, (3,), "anchor, nearer row, further row")
        rows = _row_numbers(request.triplets, found, n_rows)
        anchor, nearer, further = rows.T
        with _named(request.triplets):
            examples = from_triplets(anchor, nearer, further, n_rows).examples[0]
        return Between(f"{len(rows):,} triplets", examples)
    if request.similarity is not None:
        S = open_matrix(request.similarity).read()
        similarities = from_similarity(S, None, n_rows)
        if not similarities.examples:
            return Between(f"similarities of all {n_rows:,} × {n_rows:,} pairs", matrix=S)
        return _counted(similarities, "listed similarities")
    return None


def _pairs(path: str, n_rows: int) -> Between:
    """Two columns are similar pairs; a third holds verdicts or grades, and a fourth weights."""
    table = _table(path, (2, 3, 4), "row, row; and verdict (1 or -1), and weight, if any")
    left, right = _row_numbers(path, table[:, :2], n_rows).T
    weights = table[:, 3] if table.shape[1] == 4 else None
    with _named(path):
        if table.shape[1] == 2:
            return _counted(from_kin(left, right, n_rows), "pairs", len(left))
        found = from_pairs(left, right, _verdicts(table[:, 2]), n_rows, weights)
    return replace(_counted(found, "pairs", len(left)), weighted=weights is not None)


def _counted(found: Supervision, what: str, n_listed: int = 0) -> Between:
    (examples,) = found.examples
    different = len(examples.ends)
    said = (
        f"{n_listed:,} {what}, {different:,} of them different"
        if n_listed > different
        else f"{different:,} {what}"
    )
    similarity = getattr(examples, "similarity", None)
    if similarity is None:
        return Between(f"{said}, all similar", examples)
    return Between(f"{said}, {int((similarity > 0).sum()):,} similar", examples)


def _verdicts(given: Floats) -> Floats:
    """Verdicts and grades; where all are whole, 0 means not similar."""
    whole = np.isin(given, (-1.0, 0.0, 1.0)).all()
    if not whole or not (given == 0).any():
        return given
    if (given < 0).any():
        warnings.warn(
            f"{int((given == 0).sum()):,} of {len(given):,} verdicts are 0 and count as -1, not similar. "
            "If 0 means unknown, leave those pairs out.",
            KinhashWarning,
            stacklevel=2,
        )
    return np.where(given == 0, -1.0, given)


def _table(path: str, widths: tuple[int, ...], expected: str) -> Floats:
    rows = np.asarray(open_matrix(path).read(), np.float64)
    if rows.shape[1] not in widths:
        raise InvalidInput(f"{path} has {counted(rows.shape[1], 'column')}", expected, COUNTED)
    broken = ~np.isfinite(rows).all(axis=1)
    if broken.any():
        raise _broken(path, rows, broken, "numbers")
    return rows


def _row_numbers(path: str, rows: Floats, n_rows: int) -> Ints:
    outside = (rows < 0) | (rows >= n_rows)
    if rows.min(initial=n_rows) >= 1 and rows.max(initial=0) == n_rows:
        outside[:] = False  # counted from 1, as the library will say
    broken = ((rows != np.floor(rows)) | outside).any(axis=1)
    if broken.any():
        raise _broken(path, rows, broken, f"whole numbers of rows, from 0 to {n_rows - 1:,}")
    return rows.astype(np.int64)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the file in errors about what it holds."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.wrong}", error.expected, error.remedy) from error


def _broken(path: str, rows: Floats, broken: Any, expected: str) -> InvalidInput:
    first = int(broken.argmax())
    return InvalidInput(
        f"Line {first} of {path} (the first is 0) holds {tuple(rows[first].tolist())}; "
        f"{int(broken.sum()):,} of {len(rows):,} are no such rows",
        expected,
        COUNTED,
    )
