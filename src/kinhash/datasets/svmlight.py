"""SVMlight / LIBSVM text by scikit-learn: ``target position:value position:value ... # comment``.

Targets are numbers; there may be several, parted by commas, or none. Positions rise along a line and count
from 1, unless a position 0 shows that they count from 0.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import FIT_ROWS
from ..errors import FileProblem
from .files import damaged, inflated
from .row_blocks import Matrix
from .text import Lines

__all__ = ["svmlight_matrix", "svmlight_targets"]

KIND = "lines of 'target position:value ...' (SVMlight)"


def svmlight_matrix(path: Path, n_columns: int | None = None) -> Matrix:
    """Open the features. A first pass counts rows and columns; nothing is kept in memory."""
    n_rows, low, high = 0, 1, -1
    for X, _ in _blocks(path, FIT_ROWS):
        n_rows += X.shape[0]
        low, high = X.indices.min(initial=low), X.indices.max(initial=high)
    if high < 0:
        raise damaged(path, "it has no rows with features", KIND)
    found = int(high) + 1 - int(low)
    width = found if n_columns is None else n_columns
    if found > width:
        raise FileProblem(f"{path} has {found} columns", f"at most {width}", "Pass the matching file")

    def blocks(rows: int) -> Iterator[sp.csr_array]:
        for X, _ in _blocks(path, rows):
            yield sp.csr_array((X.data, X.indices - low, X.indptr), shape=(X.shape[0], width))

    return Matrix(str(path), blocks, n_rows, width)


def svmlight_targets(path: Path) -> list[tuple[float, ...]]:
    """The targets of every line."""
    return [targets for _, block in _blocks(path, FIT_ROWS) for targets in block]


def _blocks(path: Path, rows: int) -> Iterator[tuple[sp.csr_matrix, list[tuple[float, ...]]]]:
    """Features and targets of at most ``rows`` lines that are not blank."""
    with inflated(path, KIND) as stream:
        cut = ((number, line.partition("#")[0]) for number, line in enumerate(Lines(stream), 1))
        filled = ((number, line) for number, line in cut if line.strip())
        while part := list(islice(filled, rows)):
            yield _parsed(part, path)


def _parsed(numbered: list[tuple[int, str]], path: Path) -> tuple[sp.csr_matrix, list[tuple[float, ...]]]:
    from sklearn.datasets import load_svmlight_file

    text = "\n".join(line for _, line in numbered)
    try:
        if "_" in text:
            raise ValueError("a number with an underscore")  # Python reads 1_000 as one
        X, targets = load_svmlight_file(io.BytesIO(text.encode()), multilabel=True, zero_based=True)
    except (ValueError, OverflowError) as error:
        if len(numbered) > 1:  # which of the lines is it?
            for one in numbered:
                _parsed([one], path)
        number, line = numbered[0]
        what = f"line {number} holds {line.strip()[:60]!r}: {' '.join(str(error).split())[:100]}"
        raise damaged(path, what, KIND, "Mend that line") from error
    assert X.dtype == np.float64
    return X, targets
