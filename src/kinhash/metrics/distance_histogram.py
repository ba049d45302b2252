"""How many rows lie at every distance, and how many of them are kin: all a metric needs.

The database is read in blocks and never sorted. Peak memory beyond the inputs: about 40 MB,
whatever the sizes (plus a copy of codes and labels of a side where some labels are unknown).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.blocks import block_slices, n_threads
from .._internal.types import Bytes, Ints
from ..codes import Codes, to_words, word_distances
from ..gpu import Counted, card_in_use
from ..index import weighing_of
from .kernels import GIVEN, LANES, tally
from .ranking import Ranking
from .relevance import Kin, Words, writable
from .tie_groups import TieGroups

if TYPE_CHECKING:
    from ..gpu import Card

__all__ = ["ordered_queries", "query_blocks"]

DATABASE_ROWS = 1 << 17
SHARE_ROWS = 64  # queries a thread takes at once, where there are enough
TABLE_BYTES = 8 << 20  # counters of one block of queries
GRADE_BYTES = 16 << 20  # grades of one block of queries
CARD_ROWS = 1 << 20  # label words copied to a card at once


def query_blocks(
    ranking: Ranking, top_grade: int | None = 1, n_jobs: int | None = None
) -> Iterator[tuple[slice, TieGroups]]:
    """Walk through the queries in blocks: their numbers, and their groups of rows at every distance.

    ``top_grade=1`` tells only kin from strangers; None keeps every grade there is. The own row of a query is
    not counted where it is to be left out.
    """
    kin, farthest = ranking.sides.kin, ranking.database.max_distance
    threads, card = n_threads(n_jobs), card_in_use()
    on_card = None if card is None else _database_on(card, ranking.database, kin)
    with ThreadPoolExecutor(threads) as pool:
        for rows in block_slices(len(ranking.queries), _rows_at_once(ranking, top_grade)):
            labels = kin.words(rows, 0)
            grades = kin.grades(rows) if kin.how == GIVEN else np.empty((0, 0), np.uint8)
            highest = top_grade or (max(1, int(grades.max(initial=0))) if kin.how == GIVEN else kin.top_grade)
            codes = writable(to_words(ranking.queries[rows].repeated()))
            table = np.zeros((len(codes), farthest + 1, highest + 1), np.int64)
            if (
                card is None
                or on_card is None
                or not card.can_count(len(on_card.words), labels.shape[1], farthest, highest)
            ):
                _count(ranking, codes, labels, grades, table, pool, threads)
            else:
                given = (on_card, writable(ranking.queries[rows].words()), labels, grades)
                table += card.tally(*given, farthest, highest)
            if ranking.sides.own is not None:
                _leave_own_out(ranking, rows, codes, grades, table)
            yield rows, TieGroups.of_grades(table)


def _count(
    ranking: Ranking, codes: Words, labels: Words, grades: Bytes, table: Ints, pool: Any, threads: int
) -> None:
    """Give every thread its share of the queries, one block of the database after the other."""
    kin, (b, distances, width) = ranking.sides.kin, table.shape
    # Several shares per thread, so that one that is interrupted does not keep the others waiting.
    shares = max(min(threads, b), min(4 * threads, b // SHARE_ROWS))
    ends = np.linspace(0, b, shares + 1).astype(int).tolist()
    for rows in block_slices(len(ranking.database), DATABASE_ROWS):
        counts = np.zeros((b, LANES, distances * width), np.int32)
        words = _by_word(to_words(ranking.database[rows].repeated()))
        given = codes, words, labels, _by_word(kin.words(rows)), grades, rows.start, kin.how, width - 1
        running = [pool.submit(tally, *given, begin, end, counts) for begin, end in pairwise(ends)]
        for share in running:
            share.result()
        table += counts.sum(axis=1).reshape(table.shape)


def _by_word(words: Words) -> Words:
    return writable(np.ascontiguousarray(words.T))


def _leave_own_out(ranking: Ranking, rows: slice, codes: Words, grades: Bytes, table: Ints) -> None:
    kin, own = ranking.sides.kin, ranking.sides.own
    assert own is not None
    has = np.flatnonzero(own[rows] >= 0)
    mine = own[rows][has]
    theirs = to_words(ranking.database[mine].repeated())
    distance = np.bitwise_count(codes[has] ^ theirs).sum(axis=1, dtype=np.int64)
    grade = grades[has, mine] if kin.how == GIVEN else kin.own_grades(has + rows.start, mine)
    table[has, distance, np.minimum(grade, table.shape[2] - 1)] -= 1


def _rows_at_once(ranking: Ranking, top_grade: int | None) -> int:
    kin = ranking.sides.kin
    rows = TABLE_BYTES // (
        4 * LANES * (ranking.database.max_distance + 1) * ((top_grade or kin.top_grade) + 1)
    )
    if kin.how == GIVEN:
        rows = min(rows, GRADE_BYTES // max(1, len(ranking.database)))
    return max(1, min(rows, 4096))


def _database_on(card: Card, database: Codes, kin: Kin) -> Counted:
    """Codes and labels of a database on a graphics card, copied block by block."""
    labels = None
    if kin.how != GIVEN:
        blocks = [kin.words(rows) for rows in block_slices(len(database), CARD_ROWS)]
        labels = card.rows(np.concatenate([kin.words(slice(0, 0)), *blocks])).words
    fields, ones = database.fields, weighing_of(database.fields, database.n_bits).kin
    words = card.rows(database.words()).words
    return Counted(words, labels, len(database), ones, (fields.kin_weight, fields.alike_weight), kin.how)


def ordered_queries(ranking: Ranking) -> Iterator[tuple[slice, TieGroups]]:
    """Like `query_blocks`, one query at a time in the order (distance, row). Memory: 30 bytes a row."""
    database, sides = to_words(ranking.database.repeated()), ranking.sides
    for rows in block_slices(len(ranking.queries), max(1, GRADE_BYTES // (4 * max(1, len(database))))):
        far = word_distances(to_words(ranking.queries[rows].repeated()), database)
        for i, (row, grades) in enumerate(zip(far, sides.kin.grades(rows), strict=True), rows.start):
            order = np.argsort(row, kind="stable")
            if sides.own is not None:
                order = order[order != sides.own[i]]
            yield slice(i, i + 1), TieGroups.of_order(grades[order], max(1, int(grades.max(initial=0))))
