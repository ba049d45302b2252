"""How many rows lie at every distance, and how many of them are kin: all a metric needs.

The database is read in blocks and never sorted. Peak memory beyond the inputs: about 40 MB,
whatever the sizes (plus a copy of codes and labels of a side where some labels are unknown).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .._blocks import block_slices, n_threads
from .._types import Floats
from ..codes import to_words
from ..gpu.use import card_in_use
from .kernels import LANES, tally, walk
from .kin import GradeBlocks, LabelWords, writable
from .on_gpu import database_on
from .ranking import Ranking

__all__ = ["QueryBlock", "query_blocks"]

DATABASE_ROWS = 1 << 17
SHARE_ROWS = 64  # queries a thread takes at once, where there are enough
TABLE_BYTES = 8 << 20  # counters of one block of queries
GRADE_BYTES = 16 << 20  # grades of one block of queries

Table = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class QueryBlock:
    """Some queries on their way through the database.

    ``table`` (b, d + 1, g) holds, for each of the ``b`` queries in ``rows``, the number of
    database rows at every distance and grade; the own row of a query is not counted where it is to
    be left out.
    """

    ranking: Ranking
    rows: slice
    codes: npt.NDArray[np.uint64]
    labels: npt.NDArray[np.uint64]
    grades: npt.NDArray[np.uint8]
    table: Table
    pool: ThreadPoolExecutor
    threads: int

    @property
    def sizes(self) -> Table:
        """Rows at every distance (b, d + 1)."""
        return np.asarray(self.table.sum(axis=2))

    @property
    def kin(self) -> Table:
        """Kin at every distance (b, d + 1)."""
        return np.asarray(self.table[:, :, 1:].sum(axis=2))

    def walk(self, top: int | None, gains: Floats | None = None) -> Floats:
        """Sums (b, 3) along the order (distance, row), see `kernels.walk`; the third needs ``gains``."""
        gains = np.zeros(self.table.shape[2]) if gains is None else gains
        sizes, kin = self.sizes, self.kin
        place, found = np.cumsum(sizes, axis=1) - sizes, np.cumsum(kin, axis=1) - kin
        sums = np.zeros((len(self.codes), 3))
        own = self.ranking.sides.own
        own = np.full(len(self.codes), -1) if own is None else own[self.rows]
        limit = len(self.ranking.database) if top is None else top

        def run(words: Any, theirs: Any, first: int, begin: int, end: int) -> None:
            walk(
                self.codes, words, self.labels, theirs, self.grades, first, self.ranking.sides.kin.how,
                gains, own, limit, begin, end, place, found, sums,
            )  # fmt: skip

        for _ in self._database(run):
            pass
        return sums

    def _count(self) -> None:
        b, distances, grades = self.table.shape
        counts = np.zeros((b, LANES, distances * grades), np.int32)
        how = self.ranking.sides.kin.how

        def run(words: Any, theirs: Any, first: int, begin: int, end: int) -> None:
            tally(
                self.codes, words, self.labels, theirs, self.grades, first, how, grades - 1,
                begin, end, counts,
            )  # fmt: skip

        total = self.table.reshape(b, -1)
        for _ in self._database(run):
            for lane in range(LANES):
                total += counts[:, lane]
            counts[:] = 0
        self._leave_own_out()

    def _leave_own_out(self) -> None:
        if self.ranking.sides.own is None:
            return
        own = self.ranking.sides.own[self.rows]
        has = np.flatnonzero(own >= 0)
        rows, kin = own[has], self.ranking.sides.kin
        theirs = to_words(self.ranking.database[rows].repeated())
        distance = np.bitwise_count(self.codes[has] ^ theirs).sum(axis=1, dtype=np.int64)
        if isinstance(kin, LabelWords):
            grade = kin.own_grades(has + self.rows.start, rows)
        else:
            grade = self.grades[has, rows].astype(np.int64)
        self.table[has, distance, np.minimum(grade, self.table.shape[2] - 1)] -= 1

    def _database(self, run: Callable[[Any, Any, int, int, int], None]) -> Iterator[None]:
        """Give every thread its share of the queries, one block of the database after the other."""
        kin, database = self.ranking.sides.kin, self.ranking.database
        # Several shares per thread, so that one that is interrupted does not keep the others waiting.
        shares = max(min(self.threads, len(self.codes)), min(4 * self.threads, len(self.codes) // SHARE_ROWS))
        ends = np.linspace(0, len(self.codes), shares + 1).astype(int).tolist()
        for rows in block_slices(len(database), DATABASE_ROWS):
            words = writable(to_words(database[rows].repeated()))
            theirs = kin.words(rows) if isinstance(kin, LabelWords) else np.empty((len(words), 0), np.uint64)
            running = [
                self.pool.submit(run, words, theirs, rows.start, begin, end) for begin, end in pairwise(ends)
            ]
            for share in running:
                share.result()
            yield


def query_blocks(
    ranking: Ranking, top_grade: int | None = 1, n_jobs: int | None = None
) -> Iterator[QueryBlock]:
    """Walk through the queries in blocks, each with its table counted.

    ``top_grade=1`` tells only kin from strangers; None keeps every grade there is.
    """
    kin, farthest = ranking.sides.kin, ranking.database.max_distance
    threads, card = n_threads(n_jobs), card_in_use()
    on_card = None if card is None else database_on(card, ranking.database, kin)
    with ThreadPoolExecutor(threads) as pool:
        for rows in block_slices(len(ranking.queries), _rows_at_once(ranking, top_grade)):
            codes = writable(to_words(ranking.queries[rows].repeated()))
            if isinstance(kin, LabelWords):
                labels, grades = kin.query_words[rows], np.empty((0, 0), np.uint8)
                highest = top_grade or kin.top_grade
            else:
                labels, grades = np.empty((len(codes), 0), np.uint64), kin.grades(rows)
                highest = top_grade or max(1, int(grades.max(initial=0)))
            table = np.zeros((len(codes), farthest + 1, highest + 1), np.int64)
            block = QueryBlock(ranking, rows, codes, labels, grades, table, pool, threads)
            if on_card is None or not card.can_count(len(on_card.words), labels.shape[1], farthest, highest):
                block._count()
            else:
                given = (on_card, writable(ranking.queries[rows].words()), labels, grades)
                table += card.tally(*given, farthest, highest)
                block._leave_own_out()
            yield block


def _rows_at_once(ranking: Ranking, top_grade: int | None) -> int:
    kin = ranking.sides.kin
    highest = top_grade or (kin.top_grade if isinstance(kin, LabelWords) else 16)
    rows = TABLE_BYTES // (4 * LANES * (ranking.database.max_distance + 1) * (highest + 1))
    if isinstance(kin, GradeBlocks):
        rows = min(rows, GRADE_BYTES // max(1, len(ranking.database)))
    return max(1, min(rows, 4096))
