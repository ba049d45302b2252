"""A fit over blocks of rows in one process, and the functions that Dask, Spark or others run on a block."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from .. import load
from .._internal.blocks import block_slices, map_blocks
from .._internal.types import Bytes, Features, Ints, LabelsLike
from .._internal.validation import check_integer, check_rows, make_rng
from ..errors import InvalidInput

N_ROWS = 200_000  # rows that a fit draws from all blocks
H = TypeVar("H")
Block = tuple[Features, LabelsLike]  # either may be a function that loads it; labels may be None


def fit_blocks(hasher: H, blocks: Sequence[Block], *, n_rows: int = N_ROWS, n_jobs: int | None = None) -> H:
    """Fit a hasher to a list of blocks (X, y) in this process, and return it.

    Rows are drawn evenly over all blocks and passed to ``hasher.fit``. If the blocks have at most ``n_rows``
    rows, this is exactly the model of ``fit``. ``codes_`` are those of the drawn rows. Blocks are read twice.
    Memory: the drawn rows, what ``fit`` needs for them, and two blocks per thread.

    Parameters
    ----------
    hasher : EnergyHasher
        The hasher to fit; ``random_state`` decides which rows are drawn.
    blocks : list of pairs (X, y)
        Rows and their labels; y is None if there are none. Either part may be a function without arguments
        that loads it, so the rows need never be in memory at once; see `cut_rows`.
    n_rows : int, default=200000
        Rows to draw.
    n_jobs : int, default=None
        Threads that read blocks; None for one per core.

    Examples
    --------
    >>> from kinhash import EnergyHasher
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    >>> hasher = fit_blocks(EnergyHasher(8, random_state=0), cut_rows(X + y[:, None], y, rows=100))
    """
    if not hasattr(blocks, "__getitem__") or not len(blocks):
        raise InvalidInput(
            f"The blocks are {'empty' if hasattr(blocks, '__len__') else type(blocks).__name__}",
            "a list of pairs (X, y), or of pairs of functions that load them",
            "Blocks are read twice, so pass functions instead of a generator",
        )
    for number, block in enumerate(blocks):
        if not isinstance(block, (tuple, list)) or len(block) != 2:
            raise InvalidInput(
                f"Block {number} is a {type(block).__name__}",
                "a pair (X, y)",
                "Pass None where labels are missing",
            )
    numbers = range(len(blocks))
    sizes = list(map_blocks(lambda number: count_rows(*map(_loaded, blocks[number])), numbers, n_jobs))
    wanted = choose_rows(sizes, n_rows, getattr(hasher, "random_state", None))

    def take(number: int) -> Block:
        X, y = map(_loaded, blocks[number])
        return take_rows(X, y, wanted[number])

    return fit_drawn(hasher, map_blocks(take, sorted(wanted), n_jobs))


def cut_rows(X: Features, y: LabelsLike = None, rows: int = 65_536) -> list[Block]:
    """Cut a matrix and its labels into consecutive blocks; of a memory map, nothing is read yet.

    Parameters
    ----------
    X : array, memory map, sparse matrix or data frame (n, p)
        The rows.
    y : array-like (n,) or (n, tags), default=None
        Their labels.
    rows : int, default=65536
        Rows of a block.
    """
    check_integer("rows", rows, 1)
    n_rows = count_rows(X, y)
    X, y = (part.tocsr() if sp.issparse(part) else getattr(part, "iloc", part) for part in (X, y))
    return [(X[part], None if y is None else y[part]) for part in block_slices(n_rows, rows)]


# ---- for engines: what happens to one block, and what happens to what comes back -------------------------


def count_rows(X: Features, y: LabelsLike = None) -> int:
    """Rows of a block, which must have as many labels."""
    n_rows = int(X.shape[0])
    if y is not None:
        check_rows(y.shape[0] if hasattr(y, "shape") else len(y), "labels", n_rows)
    return n_rows


def choose_rows(sizes: Sequence[int], n_rows: int = N_ROWS, random_state: Any = None) -> dict[int, Ints]:
    """Draw rows evenly over blocks of these sizes: by number of the block, sorted positions in it.

    >>> choose_rows([2, 0, 3])
    {0: array([0, 1]), 2: array([0, 1, 2])}
    """
    check_integer("n_rows", n_rows, 1)
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    if not starts[-1]:
        raise InvalidInput("The blocks have no rows", "rows to learn from", "Pass other blocks")
    picked = np.arange(starts[-1])
    if n_rows < starts[-1]:
        rng = make_rng(random_state).spawn(1)[0]  # a child, so that fit draws the same as without blocks
        picked = np.sort(rng.choice(int(starts[-1]), n_rows, replace=False))
    block = np.searchsorted(starts, picked, side="right") - 1
    return {int(number): picked[block == number] - starts[number] for number in np.unique(block)}


def take_rows(X: Features, y: LabelsLike, rows: Ints) -> Block:
    """These rows of a block, with their labels."""
    return _rows_of(X, rows), None if y is None else _rows_of(y, rows)


def fit_drawn(hasher: H, drawn: Iterable[Block]) -> H:
    """Fit a hasher to what `take_rows` took, in the order of the blocks, and return it."""
    Xs, ys = zip(*drawn, strict=True)
    if any((y is None) != (ys[0] is None) for y in ys):
        raise InvalidInput(
            "Some blocks have labels and some have none",
            "labels for all blocks or for none",
            "Pass None inside labels",
        )
    X = _joined(Xs)
    return hasher.fit(X) if ys[0] is None else hasher.fit(X, _joined(ys))  # type: ignore[attr-defined]


def packed_model(hasher: Any) -> bytes:
    """The model file of a fitted hasher, to send to workers."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.kin")
        hasher.save(path)
        with open(path, "rb") as file:
            return file.read()


@lru_cache(2)
def _unpacked(model: bytes) -> Any:
    """The hasher of a model file, loaded once per process. It runs in one thread: blocks run side by side."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.kin")
        with open(path, "wb") as file:
            file.write(model)
        hasher = load(path)
    hasher.n_jobs = 1
    return hasher


def code_block(X: Features, y: LabelsLike = None, *, model: bytes, view: str | None = None) -> Bytes:
    """Packed codes (n, bytes) of a block, which may be empty: mapped ones, or with labels learned ones."""
    hasher = _unpacked(model)
    if not X.shape[0]:
        return np.empty((0, -(-hasher.n_bits // 8)), np.uint8)
    if y is not None:
        return np.asarray(hasher.learned_codes(X=X, y=y))
    return np.asarray(hasher.encode(X) if view is None else hasher.encode(X, view=view))


def _loaded(part: Any) -> Any:
    return part() if callable(part) else part


def _rows_of(part: Any, rows: Ints) -> Any:
    if sp.issparse(part):
        return part.tocsr()[rows]
    if hasattr(part, "iloc"):
        return part.iloc[rows]
    return part[rows] if hasattr(part, "shape") else [part[row] for row in rows.tolist()]


def _joined(parts: Sequence[Any]) -> Any:
    """Blocks of rows as one: arrays, sparse matrices, data frames, or lists of tag sets."""
    if len(parts) == 1:
        return parts[0]
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    if hasattr(parts[0], "shape"):
        widths = {part.shape[1:] for part in parts}
        if len(widths) > 1:
            raise InvalidInput(
                "Blocks differ in their columns", "the same columns in all blocks", "Check them"
            )
        return np.concatenate(parts)
    return [row for part in parts for row in part]
