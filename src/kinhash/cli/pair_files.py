"""What is known between rows: pairs, triplets or similarities, read from the user's files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .._internal.types import Floats, Matrix
from ..datasets import open_matrix
from ..errors import InvalidInput, KinhashWarning
from ..supervision import (
    Examples,
    PairSupervision,
    Supervision,
    from_kin,
    from_pairs,
    from_similarity,
    from_triplets,
)
from .pair_table import expect_file, read_pair_table

if TYPE_CHECKING:
    from .fitting import Request

__all__ = ["Between", "read_between"]

PAIR = "row, row; and verdict (1 or -1), and weight, if any"


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
        return _triplets(request.triplets, n_rows)
    if request.similarity is not None:
        return _similarity(request.similarity, n_rows)
    return None


def _pairs(path: str, n_rows: int) -> Between:
    """Two columns are similar pairs; a third holds verdicts or grades, and a fourth weights."""
    table = read_pair_table(path, "pairs", 2, (2, 3, 4), PAIR)
    left, right = table.row_numbers(n_rows).T
    if table.values.shape[1] == 2:
        with _named(path):
            return _counted(from_kin(left, right, n_rows), "pairs", len(left))
    verdicts, weights = table.verdicts(), table.weights()
    with _named(path):
        found = from_pairs(left, right, _plain_verdicts(verdicts), n_rows, weights)
    return replace(_counted(found, "pairs", len(left)), weighted=weights is not None)


def _triplets(path: str, n_rows: int) -> Between:
    table = read_pair_table(path, "triplets", 3, (3,), "anchor, nearer row, further row")
    anchor, nearer, further = rows = table.row_numbers(n_rows).T
    twice = (anchor == further) | (nearer == further)
    held = ", ".join(map(str, rows[:, twice.argmax()].tolist()))
    table.refuse(twice, held, "name a row twice", "three different rows", "Remove these lines")
    with _named(path):
        examples = from_triplets(anchor, nearer, further, n_rows).examples[0]
    return Between(f"{len(examples.ends):,} triplets", examples)


def _similarity(path: str, n_rows: int) -> Between:
    expect_file(path, "similarities", f"a matrix of {n_rows:,} × {n_rows:,} numbers from −1 to 1")
    S = open_matrix(path).read()
    with _named(path):
        found = from_similarity(S, None, n_rows)
    if not isinstance(found, PairSupervision):
        return Between(f"similarities of all {n_rows:,} × {n_rows:,} pairs", matrix=S)
    listed = found.pairs  # learned as pairs, and checked as such
    with _named(path):
        return _counted(
            from_pairs(listed.left, listed.right, listed.similarity, n_rows), "listed similarities"
        )


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


def _plain_verdicts(given: Floats) -> Floats:
    """Verdicts and grades; where all are whole, and not all 0, 0 means not similar."""
    whole = np.isin(given, (-1.0, 0.0, 1.0)).all()
    if not whole or not (given == 0).any() or not given.any():
        return given
    if (given < 0).any():
        warnings.warn(
            f"{int((given == 0).sum()):,} of {len(given):,} verdicts are 0 and count as -1, not similar. "
            "If 0 means unknown, leave those pairs out.",
            KinhashWarning,
            stacklevel=2,
        )
    return np.where(given == 0, -1.0, given)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the file in errors about what it holds."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.wrong}", error.expected, error.remedy) from error
