"""Scores of rankings by codes or by float scores, exact where rows tie.

Short codes tie: thousands of rows share a distance, and a sort then decides by accident. A score here is the
expectation over all orders inside the ties, computed from the numbers of rows and of relevant rows at every
distance; the worst and the best order stand beside it. The formulas are in `tie_groups`.

The public functions come first, then what a user hands in, then the counting.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices, map_blocks
from .._internal.types import Array, Bools, Bytes, Floats, Ints, LabelsLike, Matrix, Numbers, Seed
from .._internal.validation import check_choice, check_integer
from ..codes import Codes, CodesLike, as_codes, to_words, word_distances
from ..errors import InvalidInput, KinhashWarning, UnknownName
from ..labels import Labels, read_labels
from .tie_groups import TIES, TieGroups

NO_KIN = ("skip", "zero")
MAX_GRADE = 255
TABLE_BYTES, GRADE_BYTES = 8 << 20, 16 << 20  # counters and grades of one block of queries
BLOCK_PAIRS = 1 << 18  # pairs of a query and a row that are looked at together
DRAW_BYTES = 16 << 20  # draws of a bootstrap

ScoreRows: TypeAlias = Callable[[Ints], Array]
"""Query positions → their scores for the whole database, higher for nearer rows."""


# -- the one verb ----------------------------------------------------------------------------------


def evaluate(
    queries: CodesLike | ScoreRows,
    database: CodesLike | None,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    measures: str | Sequence[str] = "map",
    *,
    n_bits: int | None = None,
    ties: str = "expected",
    no_kin: str = "skip",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Score a ranking of the database for every query, by one measure or several in one pass.

    Parameters
    ----------
    queries, database : Codes or array of shape (n, bytes)
        Codes, or packed bytes (with ``n_bits`` when it is not 8 per byte), ranked by Hamming distance. With
        ``database=None``, ``queries`` are scores, higher for nearer rows: a matrix (queries, database), or a
        function that takes query positions and returns their rows, so that the matrix never exists.
    query_labels, database_labels : labels
        Classes, tag sets or an indicator matrix. Rows are relevant if they have the same class or share a
        tag. In place of labels, a relevance: a matrix (queries, database) of grades, or a function that takes
        query positions and returns those rows, as ``query_labels`` with ``database_labels=None``.
    measures : str or list of str, default="map"
        ``"map"`` mean average precision; ``"map@K"`` of the first K places, divided by ``min(relevant, K)``;
        ``"map@K/found"`` divided by the relevant rows among them; ``"first_ten"`` is ``"precision@10"``;
        ``"precision@K"`` divided by K; ``"recall@K"``; ``"ndcg"``, ``"ndcg@K"`` graded by shared tags
        (``"ndcg/exp"``, ``"ndcg@K/exp"``: gain ``2**grade - 1``).
    n_bits : int, default=None
        Length of the codes if they are bare bytes; 8 per byte by default.
    ties : {"expected", "index", "optimistic", "pessimistic"}, default="expected"
        Mean over all orders of rows at equal distance; the order of the database; the best or worst order.
    no_kin : {"skip", "zero"}, default="skip"
        Whether queries without relevant rows are left out of the mean or count as 0.
    exclude_self : bool, default=False
        Query i is database row i, and does not find itself.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    MeanScore, or dict of str to MeanScore
        A number for a single string, a dictionary by the names given for a list of them.

    Notes
    -----
    Rows of unknown label (None, NaN) are left out on both sides and counted. One pass over all pairs; peak
    memory beyond the inputs about 60 MB. With ``ties="index"`` the database is sorted for every query.

    >>> codes = np.array([[0], [1], [3]], np.uint8)
    >>> float(evaluate(codes, codes, [0, 0, 1], [0, 0, 1], "precision@2"))
    0.75
    """
    check_choice("no_kin", no_kin, NO_KIN)
    alone = isinstance(measures, str)
    names = [measures] if isinstance(measures, str) else list(measures)
    wanted = [read_measure(one) for one in names]
    ranking = _read(queries, database, query_labels, database_labels, n_bits, exclude_self)
    found = _scores(wanted, ranking, ties, n_jobs)
    each = zip(wanted, found, strict=True)
    scores = [summarize(one.title, rows, ranking.sides, ties, no_kin) for one, rows in each]
    return scores[0] if alone else dict(zip(names, scores, strict=True))


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Means over queries for every radius 0 to d.

    ``precision``, ``recall`` and ``empty`` (the share of empty look-ups) are means over queries with relevant
    rows, an empty look-up counting as precision 0. ``pooled_precision`` throws the pairs of all queries
    together and is NaN while nothing is found. ``rows`` is the mean number of rows found by all queries.
    """

    radius: Ints
    precision: Floats
    recall: Floats
    pooled_precision: Floats
    empty: Floats
    rows: Floats
    n_queries: int
    n_without_kin: int


def precision_recall_curve(
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    *,
    n_bits: int | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> PrecisionRecallCurve:
    """Precision and recall of a search within every radius; parameters as in `evaluate`."""
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    n_radii, n_queries, with_kin = ranking.database.n_bits + 1, len(ranking.queries), 0
    precision, recall, empty, rows, kin = np.zeros((5, n_radii))
    for _, groups in query_blocks(ranking, n_jobs=n_jobs):
        n, r = np.cumsum(groups.n, axis=1), np.cumsum(groups.r, axis=1)
        rows, kin = rows + n.sum(axis=0), kin + r.sum(axis=0)
        able = r[:, -1] > 0
        n, r, with_kin = n[able], r[able], with_kin + int(able.sum())
        precision += (r / np.maximum(n, 1)).sum(axis=0)
        recall += (r / np.maximum(r[:, -1:], 1)).sum(axis=0)
        empty += (n == 0).sum(axis=0)
    share = 1 / with_kin if with_kin else np.nan
    pooled = np.where(rows > 0, kin / np.maximum(rows, 1), np.nan)
    mean_rows = rows / n_queries if n_queries else np.full(n_radii, np.nan)
    means = precision * share, recall * share, pooled, empty * share, mean_rows
    return PrecisionRecallCurve(np.arange(n_radii), *means, n_queries, n_queries - with_kin)


class MeanScore(float):
    """A score averaged over queries: a number that knows all one needs to compare it.

    ``per_query`` is NaN for queries without relevant rows and for queries whose own label is unknown.
    ``worst`` and ``best`` are the same scores under the worst and the best order inside ties, and ``band``
    holds their means: no order of the ties leaves that band. ``n_queries`` and ``n_database`` count all rows;
    ``n_without_kin`` are queries without a relevant row, ``n_unknown_queries`` and ``n_unknown_rows`` those
    of unknown label, which are left out.
    """

    metric: str
    band: tuple[float, float]
    ties: str
    no_kin: str
    per_query: Floats
    worst: Floats
    best: Floats
    n_queries: int
    n_without_kin: int
    n_unknown_queries: int
    n_database: int
    n_unknown_rows: int

    def __new__(cls, value: float, **facts: object) -> Self:
        self = super().__new__(cls, value)
        vars(self).update(facts)
        return self

    @property
    def value(self) -> float:
        """The mean as a plain number."""
        return float(self)

    def __str__(self) -> str:
        counted = "counted as zero" if self.no_kin == "zero" else "left out"
        return (
            f"{self.metric} {self.value:.4f} (ties: {self.ties}; any order of ties lies within "
            f"{self.band[0]:.4f} .. {self.band[1]:.4f}) over {self.n_queries} queries, "
            f"{self.n_without_kin} without similar rows {counted}, "
            f"{self.n_unknown_queries} of unknown label; {self.n_database} database rows, "
            f"{self.n_unknown_rows} of unknown label"
        )


# -- how sure is a mean over queries ---------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """A mean over ``n_queries`` queries and the interval that other queries of the kind would give."""

    value: float
    low: float
    high: float
    level: float
    n_queries: int

    def __str__(self) -> str:
        interval = f"{self.level:.0%} interval {self.low:.4f} .. {self.high:.4f}"
        return f"{self.value:.4f} ({interval}, {self.n_queries} queries)"


def bootstrap_interval(
    scores: Numbers, *, level: float = 0.95, n_resamples: int = 10_000, random_state: Seed = 0
) -> Interval:
    """Percentile interval of the mean when queries are drawn again with replacement.

    Covers the choice of queries, not the choice of partition or the randomness of training. The interval of a
    difference, ``b - a`` of two scores per query, says whether one method is better on these queries.
    Peak memory: 16 MB of draws.

    Parameters
    ----------
    scores : array of shape (queries,)
        Scores per query; NaN (no relevant rows) is left out.
    level : float, default=0.95
    n_resamples : int, default=10_000
    random_state : int or Generator, default=0
    """
    from scipy.stats import bootstrap

    found = np.asarray(scores, np.float64)
    if found.ndim != 1:
        raise InvalidInput(
            f"The scores have shape {found.shape}",
            "one score per query (1-D), NaN for queries without similar rows",
            "Pass the per_query of a score",
        )
    found = found[~np.isnan(found)]
    if not len(found):
        raise InvalidInput(
            "No query has a score",
            "at least one score that is not NaN",
            "Evaluate queries that have similar rows in the database",
        )
    if not 0 < level < 1:
        raise InvalidInput(f"level is {level!r}", "a share between 0 and 1", "Choose, say, 0.95")
    check_integer("n_resamples", n_resamples, 1)
    value, n = float(found.mean()), len(found)
    if n == 1:  # whatever is drawn, it is that query
        return Interval(value, value, value, level, n)
    drawn = bootstrap(
        (found,),
        np.mean,
        method="percentile",
        confidence_level=level,
        n_resamples=n_resamples,
        batch=max(1, DRAW_BYTES // (16 * n)),
        rng=np.random.default_rng(random_state),
    ).confidence_interval
    return Interval(value, float(drawn.low), float(drawn.high), level, n)


# -- measures by name ------------------------------------------------------------------------------


class Measure(NamedTuple):
    """What it is called in full, and the scores (q,) it gives groups of tied rows under an order of ties."""

    title: str
    score: Callable[[TieGroups, str], Floats]
    graded: bool = False


NAMES = re.compile(r"(map|precision|recall|ndcg)(?:@(\d+))?(?:/(found|exp))?", re.ASCII)
EXAMPLES = (
    "map",
    "map@K",
    "map@K/found",
    "first_ten",
    "precision@K",
    "recall@K",
    "ndcg",
    "ndcg@K",
    "ndcg/exp",
)


def read_measure(name: str) -> Measure:
    """The measure of that name; the names are listed in `evaluate`."""
    match = NAMES.fullmatch("precision@10" if name == "first_ten" else str(name))
    kind, cut, how = match.groups() if match else ("", None, None)
    able = {"map": how != "exp", "ndcg": how != "found", "": False}.get(kind, cut is not None and how is None)
    if not able:
        raise UnknownName.among("measure", name, EXAMPLES)
    top = None if cut is None else check_integer(f"the number of places in {name!r}", int(cut), 1)
    places = "" if top is None else f" at {top}"

    def precision(groups: TieGroups, ties: str) -> Floats:
        return groups.average_precision(top, how or "kin", ties)

    def gain(groups: TieGroups, ties: str) -> Floats:
        assert groups.grades is not None
        grades = np.arange(groups.grades.shape[2], dtype=np.float64)
        return groups.ndcg(np.exp2(grades) - 1 if how else grades, top, ties)

    def share(groups: TieGroups, ties: str) -> Floats:
        assert top is not None
        most = top if kind == "precision" else np.maximum(groups.n_kin, 1)
        return np.where(groups.n_kin > 0, groups.kin_among_first(top, ties) / most, np.nan)

    if kind == "map":
        return Measure(f"mean average precision{places}{' by kin found' if top and how else ''}", precision)
    return Measure(f"nDCG{places}", gain, True) if kind == "ndcg" else Measure(f"{kind}{places}", share)


def _scores(
    measures: Sequence[Measure], ranking: Ranking | ScoredRows, ties: str, n_jobs: int | None
) -> Floats:
    """Scores (measures, 3, known queries) under ``ties``, the worst and the best order.

    One pass, and one more for the order of the database.
    """
    check_choice("ties", ties, TIES)
    orders = ties, "pessimistic", "optimistic"
    out = np.full((len(measures), len(orders), ranking.n_known), np.nan)
    graded = any(one.graded for one in measures)
    for in_order in {False, ties == "index"}:
        for rows, groups in ranking.groups(graded, in_order, n_jobs):
            for place, order in enumerate(orders):
                if (order == "index") == in_order:
                    for one, scores in zip(measures, out, strict=True):
                        scores[place, rows] = one.score(groups, order)
    return out


def summarize(
    metric: str,
    scores: Floats,
    sides: Sides,
    ties: str,
    no_kin: str,
    means: Sequence[float] | None = None,
    **more: object,
) -> MeanScore:
    """A mean score from scores (3, known queries) under ``ties``, the worst and the best order.

    ``means`` are the three values where they are not means over queries; ``more`` is kept beside them.
    """
    if means is None:
        counted = np.nan_to_num(scores) if no_kin == "zero" else scores[:, ~np.isnan(scores[0])]
        means = counted.mean(axis=1).tolist() if counted.size else [float("nan")] * 3
        if not counted.size:
            text = "No query has a similar row in the database, so the mean over queries is NaN."
            warnings.warn(text, KinhashWarning, stacklevel=4)
    return MeanScore(
        means[0],
        metric=metric,
        band=(means[1], means[2]),
        ties=ties,
        no_kin=no_kin,
        **dict(zip(("per_query", "worst", "best"), map(sides.spread, scores), strict=True)),
        n_queries=sides.n_queries,
        n_without_kin=int(np.isnan(scores[0]).sum()),
        n_unknown_queries=sides.n_unknown_queries,
        n_database=sides.n_database,
        n_unknown_rows=sides.n_unknown_rows,
        **more,
    )


# -- what is ranked: rows of known label, and which of them are relevant to which ------------------


@dataclass(frozen=True, eq=False)
class Sides:
    """Which rows are relevant to which among the rows whose labels are known.

    ``grades(slice)`` gives rows (k, n) of relevance for some known queries: 0, or 1 and more. The masks
    ``known_queries`` and ``known_rows`` are None where all are known. ``own`` says for each known query which
    known row it is itself and does not find, −1 for none.
    """

    grades: Callable[[slice], Bytes]
    n_queries: int
    n_database: int
    known_queries: Bools | None = None
    known_rows: Bools | None = None
    own: Ints | None = None

    @property
    def n_unknown_queries(self) -> int:
        """Queries that are left out."""
        return 0 if self.known_queries is None else int((~self.known_queries).sum())

    @property
    def n_unknown_rows(self) -> int:
        """Database rows that are left out."""
        return 0 if self.known_rows is None else int((~self.known_rows).sum())

    def spread(self, scores: Floats) -> Floats:
        """Scores of the known queries at their places among all queries, NaN elsewhere."""
        if self.known_queries is None:
            return scores
        out = np.full(self.n_queries, np.nan)
        out[self.known_queries] = scores
        return out


def own_rows(exclude_self: bool, n_queries: int, n_database: int) -> Ints | None:
    """For each query its own row in the database, where query i is row i; None if no row is left out."""
    if exclude_self and n_queries != n_database:
        raise InvalidInput(
            f"exclude_self came with {n_queries} queries and {n_database} database rows",
            "the same rows on both sides, query i being database row i",
            "Leave exclude_self out when the queries are other rows",
        )
    return np.arange(n_database) if exclude_self else None


def read_sides(
    query_labels: LabelsLike, database_labels: LabelsLike, n_queries: int, n_database: int, own: Ints | None
) -> Sides:
    """Read the labels of both sides, or a relevance in ``query_labels`` where ``database_labels`` is None.

    ``own`` says for each query which database row it is itself, to be left out of its ranking.
    """
    if database_labels is None:
        return Sides(_given_grades(query_labels, n_queries, n_database), n_queries, n_database, own=own)
    mine, theirs = (read_labels(y) for y in (query_labels, database_labels))
    for labels, what, n_rows in ((mine, "queries", n_queries), (theirs, "database rows", n_database)):
        if len(labels) != n_rows:
            raise InvalidInput(
                f"{len(labels)} labels came with {n_rows} {what}",
                "one label, or one set of tags, per code",
                "Pass codes and labels that belong together",
            )
    known_queries = None if mine.known.all() else mine.known
    known_rows = None if theirs.known.all() else theirs.known
    if own is not None and known_rows is not None:
        own = np.where(known_rows, np.cumsum(known_rows) - 1, -1)[own]
    if own is not None and known_queries is not None:
        own = own[known_queries]
    mine = mine if known_queries is None else mine[known_queries]
    theirs = theirs if known_rows is None else theirs[known_rows]
    return Sides(shared_labels(mine, theirs), n_queries, n_database, known_queries, known_rows, own)


def shared_labels(queries: Labels, database: Labels) -> Callable[[slice], Bytes]:
    """Rows of a matrix (queries, database): whether two rows have the same class, or how many shared tags.

    A row of unknown label shares nothing with any.
    """
    mine, theirs = queries.aligned(database)
    if mine.classes is not None and theirs.classes is not None:
        left = np.where(mine.known, mine.classes, -2)
        return lambda rows: (left[rows, None] == theirs.classes).view(np.uint8)
    right = sp.csr_array(theirs.indicator(), dtype=np.uint16)
    left_tags = sp.csr_array(mine.indicator(), dtype=np.uint16)

    def grades(rows: slice) -> Bytes:
        shared = right @ left_tags[rows].toarray().T
        return np.minimum(shared, MAX_GRADE).T.astype(np.uint8)

    return grades


def _given_grades(relevance: LabelsLike, n_queries: int, n_database: int) -> Callable[[slice], Bytes]:
    """A matrix (queries, database), dense or sparse, or a function that gives rows of one."""
    matrix: Matrix = None
    if not callable(relevance):
        matrix = sp.csr_array(relevance) if sp.issparse(relevance) else np.asarray(relevance)
        if matrix.ndim != 2 or matrix.shape != (n_queries, n_database):
            raise InvalidInput(
                f"Without database labels, an array of shape {matrix.shape} came as relevance",
                f"a matrix ({n_queries}, {n_database}) of grades, or a function that gives its rows",
                "Pass the labels of both sides, or a relevance of that shape",
            )

    def grades(rows: slice) -> Bytes:
        block = relevance(np.arange(rows.start, rows.stop)) if matrix is None else matrix[rows]
        array = block.toarray() if sp.issparse(block) else np.asarray(block)
        if array.shape != (rows.stop - rows.start, n_database):
            raise InvalidInput(
                f"The relevance function gave a block of shape {array.shape}",
                f"one row per query position and {n_database} columns, one per database row",
                "Return relevance[query_rows]",
            )
        whole = array.dtype.kind in "biuf" and (array >= 0) & (array <= MAX_GRADE) & (
            array == np.floor(array)
        )
        if not np.all(whole):
            raise InvalidInput(
                f"The relevance (dtype {array.dtype}) holds values that are not grades",
                f"0 for dissimilar, 1 for similar, or whole grades up to {MAX_GRADE}",
                "Round or threshold the relevance first",
            )
        return array.astype(np.uint8)

    return grades


# -- rankings by codes: how many rows lie at every distance, and of which grade --------------------


@dataclass(frozen=True, eq=False)
class Ranking:
    """Codes of the known rows, whose distances rank the database for every query."""

    queries: Codes
    database: Codes
    sides: Sides

    @property
    def n_known(self) -> int:
        """Queries of known label."""
        return len(self.queries)

    def groups(
        self, graded: bool, in_order: bool = False, n_jobs: int | None = None
    ) -> Iterator[tuple[slice, TieGroups]]:
        """Blocks of queries with their groups of tied rows, or with every row alone in its place."""
        if not in_order:
            yield from query_blocks(self, None if graded else 1, n_jobs)
            return
        scores = hamming_scores(self.queries, self.database)
        yield from ScoredRows(scores, _all_known(self.sides)).groups(graded, in_order=True)


def _all_known(sides: Sides) -> Sides:
    n_rows = sides.n_queries - sides.n_unknown_queries, sides.n_database - sides.n_unknown_rows
    return Sides(sides.grades, *n_rows, own=sides.own)


def read_ranking(
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike,
    n_bits: int | None,
    exclude_self: bool,
) -> Ranking:
    """Check everything a ranking by Hamming distance needs."""
    queries, database = as_codes(query_codes, n_bits), as_codes(database_codes, n_bits)
    queries.require_same_kind(database)
    own = own_rows(exclude_self, len(queries), len(database))
    sides = read_sides(query_labels, database_labels, len(queries), len(database), own)
    queries = queries if sides.known_queries is None else queries[sides.known_queries]
    return Ranking(queries, database if sides.known_rows is None else database[sides.known_rows], sides)


def query_blocks(
    ranking: Ranking, top_grade: int | None = 1, n_jobs: int | None = None
) -> Iterator[tuple[slice, TieGroups]]:
    """Walk through the queries in blocks: their numbers, and their groups of rows at every distance.

    ``top_grade=1`` tells only relevant rows from others; None keeps every grade there is. The own row of a
    query is not counted where it is to be left out. Peak memory beyond the codes: some 20 MB a thread.
    """
    sides, n_distances, words = ranking.sides, ranking.database.n_bits + 1, ranking.database.words()

    def count(rows: slice) -> tuple[slice, TieGroups]:
        grades = sides.grades(rows)
        highest = top_grade or max(1, int(grades.max(initial=0)))
        bins = n_distances * (highest + 1)
        own = None if sides.own is None else sides.own[rows]
        table = np.zeros((len(grades), bins), np.int64)
        for part in block_slices(len(words), max(1, BLOCK_PAIRS // max(1, len(grades)))):
            distances = word_distances(to_words(ranking.queries.packed[rows]), words[part])
            keys = distances.astype(np.min_scalar_type(bins))  # small numbers: half the time of int64
            keys *= keys.dtype.type(highest + 1)
            keys += np.minimum(grades[:, part], highest)
            if own is not None:  # the own row falls into a bin that is not read
                here = np.flatnonzero((own >= part.start) & (own < part.stop))
                keys[here, own[here] - part.start] = bins
            for counts, row in zip(table, keys, strict=True):
                counts += np.bincount(row, minlength=bins + 1)[:-1]
        return rows, TieGroups.of_grades(table.reshape(len(grades), n_distances, highest + 1))

    most = TABLE_BYTES // (8 * n_distances * ((top_grade or 15) + 1))
    blocks = block_slices(len(ranking.queries), max(1, min(most, BLOCK_PAIRS // max(1, len(words)))))
    yield from map_blocks(count, blocks, n_jobs)


# -- rankings by float scores ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """A matrix of scores (queries, database), or a function that gives rows of it, higher for nearer rows."""

    scores: ScoreRows | Array
    sides: Sides

    @property
    def n_known(self) -> int:
        """Queries of known label."""
        return self.sides.n_queries - self.sides.n_unknown_queries

    def groups(
        self, graded: bool, in_order: bool = False, n_jobs: int | None = None
    ) -> Iterator[tuple[slice, TieGroups]]:
        """The groups of equal scores of every query, or every row alone in the order (score, row)."""
        for i, (row, grades) in enumerate(scored_rows(self.scores, self.sides)):
            if in_order:
                order = len(row) - 1 - np.argsort(row[::-1], kind="stable")[::-1]
                found = TieGroups.of_order(grades[order], max(1, int(grades.max(initial=0))))
            elif graded:
                values, group = np.unique(row, return_inverse=True)
                n_values, width = len(values), int(grades.max(initial=1)) + 1
                keys = (n_values - 1 - group) * width + grades
                table = np.bincount(keys, minlength=n_values * width).reshape(1, n_values, width)
                found = TieGroups.of_grades(table)
            else:
                found = TieGroups.of_scores(row, grades > 0)
            yield slice(i, i + 1), found


def scored_rows(scores: ScoreRows | Array, sides: Sides) -> Iterator[tuple[Array, Bytes]]:
    """Scores and grades of the known rows for every known query, without the row that it is itself.

    Peak memory: a block of scores and grades of about 16 MB each, at least one row.
    """
    queries = np.arange(sides.n_queries)
    if sides.known_queries is not None:
        queries = np.flatnonzero(sides.known_queries)
    for part in block_slices(len(queries), max(1, GRADE_BYTES // (8 * max(1, sides.n_database)))):
        block = np.asarray(scores(queries[part]) if callable(scores) else scores[queries[part]])
        if block.shape != (len(queries[part]), sides.n_database):
            raise InvalidInput(
                f"The score function gave a block of shape {block.shape}",
                f"one row per query position and {sides.n_database} columns, one per database row",
                "Return scores[query_rows]",
            )
        if block.dtype.kind not in "fiub" or (block.dtype.kind == "f" and np.isnan(block).any()):
            raise InvalidInput(
                f"The scores (dtype {block.dtype}) hold NaN or something that is no number",
                "real numbers, larger for closer rows",
                "Give rows that must not be found the score -inf",
            )
        block = block if sides.known_rows is None else block[:, sides.known_rows]
        own = np.full(len(block), -1) if sides.own is None else sides.own[part]
        for row, grades, mine in zip(block, sides.grades(part), own, strict=True):
            yield (row, grades) if mine < 0 else (np.delete(row, mine), np.delete(grades, mine))


def hamming_scores(queries: Codes | Bytes, database: Codes | Bytes) -> ScoreRows:
    """Minus the distances of codes, or of packed bits of any length, a few queries at a time."""
    left, right = (to_words(one.packed if isinstance(one, Codes) else one) for one in (queries, database))
    return lambda wanted: -word_distances(left[wanted], right).astype(np.float32)


def _read(
    queries: CodesLike | ScoreRows,
    database: CodesLike | None,
    query_labels: LabelsLike,
    database_labels: LabelsLike,
    n_bits: int | None,
    exclude_self: bool,
) -> Ranking | ScoredRows:
    """A ranking by codes, or by scores where there is no ``database``."""
    if database is not None:
        assert not callable(queries)
        return read_ranking(queries, database, query_labels, database_labels, n_bits, exclude_self)
    scores = queries if callable(queries) else np.asarray(queries)
    n_queries, n_database = _shape(scores, query_labels, database_labels)
    own = own_rows(exclude_self, n_queries, n_database)
    return ScoredRows(scores, read_sides(query_labels, database_labels, n_queries, n_database, own))


def _shape(
    scores: ScoreRows | Array, query_labels: LabelsLike, database_labels: LabelsLike
) -> tuple[int, int]:
    """Queries and rows, by the scores if they are a matrix, else by labels or the relevance."""
    given: Any = scores
    if callable(scores):
        if database_labels is not None:
            return len(read_labels(query_labels)), len(read_labels(database_labels))
        if callable(query_labels):
            raise InvalidInput(
                "Nothing says how many queries and rows there are",
                "labels, or a matrix on one side at least",
                "Pass the scores or the relevance as a matrix",
            )
        given = query_labels
    shape = np.shape(given)
    if len(shape) != 2:
        expected = "a matrix with one row per query and one column per database row"
        raise InvalidInput(f"The scores have shape {shape}", expected, "Reshape them")
    return int(shape[0]), int(shape[1])
