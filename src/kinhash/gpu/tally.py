"""Counting pairs by distance and grade on a card: all that metrics over rankings need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._internal.types import Array, Bytes, Ints

if TYPE_CHECKING:
    from .device import Card

__all__ = ["Counted", "tally", "tally_bytes"]

THREADS = 256
SHARED = 40 << 10  # bytes of a block, unless one query needs more


@dataclass(frozen=True, eq=False)
class Counted:
    """A database on a card: words (W, stride) of codes and (V, stride) of labels, and what a bit counts.

    ``kin`` (W,) has ones at the bits that count ``weights[0]``; the others count ``weights[1]``. ``how``
    grades are found is as in `kinhash.metrics.kernels`: 0 by equal labels, 1 by tags in common, 2 given.
    """

    words: Array
    labels: Array | None
    n_rows: int
    kin: npt.NDArray[np.uint64]
    weights: tuple[int, int]
    how: int


def tally_bytes(n_words: int, n_labels: int, largest: int, top_grade: int) -> int:
    """Shared memory that counting takes for one query."""
    return 8 * (n_words + max(1, n_labels)) + 4 * (largest + 1) * (top_grade + 1)


def tally(
    card: Card,
    database: Counted,
    codes: npt.NDArray[np.uint64],
    labels: npt.NDArray[np.uint64],
    grades: Bytes,
    largest: int,
    top_grade: int,
) -> Ints:
    """Rows (q, largest + 1, top_grade + 1) at every distance and grade from the queries.

    Peak memory on the card beside the database: 8 bytes for each of these numbers, and ``grades``.
    """
    n_words, stride = database.words.shape
    n_labels = max(1, labels.shape[1])
    bins = (largest + 1) * (top_grade + 1)
    each = tally_bytes(n_words, labels.shape[1], largest, top_grade)
    per = max(1, min(32, SHARED // each))
    kernel = card.kernel("tally.cu", "tally", W=n_words, V=n_labels)
    with card.active() as cp:
        counts = cp.zeros((len(codes), bins), cp.uint64)
        nothing = np.uintp(0)
        given = (
            database.words, np.int64(stride), np.int64(database.n_rows),
            nothing if database.labels is None else database.labels,
            card.put(grades) if grades.size else nothing,
            cp.asarray(codes), cp.asarray(labels) if labels.size else nothing,
            np.int32(len(codes)), np.int32(per), cp.asarray(database.kin),
            *map(np.int32, (*database.weights, database.how, top_grade, bins)), counts,
        )  # fmt: skip
        groups = -(-len(codes) // per)
        blocks = max(1, min(-(-database.n_rows // THREADS), 16 * card.n_processors // groups + 1))
        shared = card.allow(kernel, per * each)
        kernel((blocks, groups), (THREADS,), given, shared_mem=shared)
        table: Ints = cp.asnumpy(counts).astype(np.int64)
    return table.reshape(len(codes), largest + 1, top_grade + 1)
