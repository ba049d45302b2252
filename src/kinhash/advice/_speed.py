"""How long encoding and searching take here and now: the one part of an advice that is not repeatable."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codes import Codes
from ..index import HammingIndex
from ._advice import Search

__all__ = ["cosine_search", "encode_seconds", "hamming_search"]

MILLION, HUNDRED_MILLION = 1_000_000, 100_000_000
GROWN_ROWS = MILLION
FLOAT_BYTES = 64 << 20  # more than most caches hold, as a large database would be
NEIGHBOURS = 10
QUERIES = 16  # queries, one at a time
TURNS = 3


def encode_seconds(hasher: Any, X: Any) -> float:
    """Seconds to encode 1,000 rows, the best of a few turns."""
    return _best(lambda: hasher.encode(X)) * 1000 / X.shape[0]


def hamming_search(queries: Codes, database: Codes, rng: np.random.Generator) -> Search:
    """Times of a `HammingIndex` of the database, and of one grown to a million rows.

    Peak memory: about 100 bytes per grown row for 256 bits.
    """
    seconds, _ = _seconds_per_query(queries, database)
    grown, distinct = _seconds_per_query(queries, _grow(database, GROWN_ROWS, rng))
    million = grown * max(1.0, min(MILLION, 2.0**database.n_bits) / distinct)
    farther = max(1.0, min(HUNDRED_MILLION, 2.0**database.n_bits) / MILLION)
    return Search(len(database), seconds, million, million * farther)


def _seconds_per_query(queries: Codes, database: Codes) -> tuple[float, int]:
    """Seconds per query, and how many distinct codes were looked at."""
    index = HammingIndex.from_codes(database)
    single = [queries[i] for i in range(min(QUERIES, len(queries)))]

    def search() -> None:
        for query in single:
            index.search(query, NEIGHBOURS)

    search()  # the first query of a length compiles
    return _best(search) / len(single), index.stats().n_codes


def _grow(codes: Codes, n_rows: int, rng: np.random.Generator) -> Codes:
    """``n_rows`` codes: those given, each bit flipped with probability one eighth."""
    packed = codes.packed[rng.integers(0, len(codes), n_rows)]
    flips = rng.integers(0, 256, packed.shape, np.uint8)
    for _ in range(2):
        flips &= rng.integers(0, 256, packed.shape, np.uint8)
    if codes.n_bits % 8:
        flips[:, -1] &= np.uint8((0xFF << (8 - codes.n_bits % 8)) & 0xFF)  # padding stays zero
    return replace(codes, packed=packed ^ flips, ids=None)


def cosine_search(unit: npt.NDArray[np.float32]) -> Search:
    """Times of float cosine by a product with all rows of length one, as NumPy does it."""
    large = np.resize(unit, (max(len(unit), FLOAT_BYTES // (4 * unit.shape[1])), unit.shape[1]))
    seconds = _best(lambda: _nearest(unit, unit)) / QUERIES
    grown = _best(lambda: _nearest(large, unit)) / QUERIES
    million = grown * MILLION / len(large)
    return Search(len(unit), seconds, million, million * HUNDRED_MILLION / MILLION)


def _nearest(database: npt.NDArray[np.float32], queries: npt.NDArray[np.float32]) -> None:
    for number in range(QUERIES):
        scores = database @ queries[number % len(queries)]
        np.argpartition(-scores, min(NEIGHBOURS, len(scores) - 1))


def _best(work: Callable[[], Any]) -> float:
    spent = []
    for _ in range(TURNS):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return min(spent)
