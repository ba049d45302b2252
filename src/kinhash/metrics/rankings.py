"""Scores of rankings by Hamming distance, exact in the presence of ties.

Short codes tie: thousands of rows share a distance, and a sort then decides by accident. Here a score is the
expectation over all orders inside the ties, from a histogram of distances, with the worst and the best order
beside it. The formulas are in `tie_groups`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.types import Floats, LabelsLike, Numbers
from .._internal.validation import check_choice, check_integer
from ..codes import CodesLike
from ..errors import InvalidInput
from .distance_histogram import query_blocks
from .mean_score import NO_KIN, Formula, MeanScore, score_queries, summarize
from .ranking import Ranking, read_ranking
from .tie_groups import DIVISORS, TieGroups

__all__ = [
    "PrecisionAtRecall",
    "average_precision",
    "mean_average_precision",
    "ndcg",
    "precision_at_k",
    "precision_at_recall",
    "recall_at_k",
]


def mean_average_precision(
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    *,
    n_bits: int | None = None,
    ties: str = "expected",
    top: int | None = None,
    divide_by: str = "kin",
    no_kin: str = "skip",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> MeanScore:
    """Mean over queries of the average precision of the database ranked by Hamming distance.

    Codes are `Codes` or packed uint8 rows (with ``n_bits`` when it is not 8 per byte). Labels are
    classes, an indicator matrix or tag sets; kin have the same class or share a tag. Instead of
    labels, a relevance: a matrix (queries, database), or a function that takes query positions and
    gives those rows of it, as ``query_labels`` with ``database_labels=None``.

    ``ties``: "expected" (mean over all orders of rows at equal distance), "index" (in the order of
    the database, as a stable sort would do), "optimistic" or "pessimistic" (the best or worst order).
    ``top``: only the first places count, and the sum is divided by ``min(kin, top)`` or, with
    ``divide_by="found"``, by the kin that stand there (0 where none does), as HashNet's program and many
    after it do; see `kinhash.metrics.tie_groups`.
    ``no_kin``: queries without relevant rows are left out ("skip") or count as 0 ("zero").
    ``exclude_self``: query i is database row i, and does not find itself.

    Rows of unknown label (None, NaN) are left out on both sides. The result is a number that knows the
    score of every query, the band between worst and best order and what was left out: a `MeanScore`.

    Time: one pass over all pairs; peak memory beyond the inputs about 40 MB. For "index" the database is
    sorted for every query, in 30 bytes for every row.
    """
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    return _report(name_of(top, divide_by), ranking, _formula(top, divide_by), ties, no_kin, n_jobs=n_jobs)


def average_precision(
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    *,
    n_bits: int | None = None,
    ties: str = "expected",
    top: int | None = None,
    divide_by: str = "kin",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> Floats:
    """Average precision of every query (q,); NaN where it has no relevant row or an unknown label.

    Parameters as in `mean_average_precision`.
    """
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    scores = score_queries(ranking, _formula(top, divide_by), (ties,), n_jobs=n_jobs)[0]
    return ranking.sides.spread(scores)


def name_of(top: int | None, divide_by: str) -> str:
    """Which mean average precision it is."""
    found = " by kin found" if divide_by == "found" else ""
    return "mean average precision" if top is None else f"mean average precision at {top}{found}"


def check_cut(top: int | None, divide_by: str) -> None:
    """Validate ``top`` and ``divide_by``."""
    if top is not None:
        check_integer("top", top, 1)
    check_choice("divide_by", divide_by, DIVISORS)


def _formula(top: int | None, divide_by: str) -> Formula:
    check_cut(top, divide_by)
    return lambda groups, ties: groups.average_precision(top, divide_by, ties)


def _report(
    metric: str,
    ranking: Ranking,
    formula: Formula,
    ties: str,
    no_kin: str,
    *,
    top_grade: int | None = 1,
    n_jobs: int | None = None,
) -> MeanScore:
    check_choice("no_kin", no_kin, NO_KIN)
    orders = (ties, "pessimistic", "optimistic")
    scores = score_queries(ranking, formula, orders, top_grade=top_grade, n_jobs=n_jobs)
    return summarize(metric, scores, ranking.sides, ties, no_kin)


def precision_at_k(
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    *,
    k: int,
    n_bits: int | None = None,
    ties: str = "expected",
    no_kin: str = "skip",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> MeanScore:
    """Mean share of relevant rows among the first ``k`` rows of each query.

    Divided by ``k`` also where the database has fewer rows, as trec_eval does. Of a group of rows at equal
    distance that is cut by place k, its share counts. Other parameters, time and memory as in
    `mean_average_precision`.
    """
    k = check_integer("k", k, 1)
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)

    def precision(groups: TieGroups, ties: str) -> Floats:
        return np.where(groups.n_kin > 0, groups.kin_among_first(k, ties) / k, np.nan)

    return _report(f"precision at {k}", ranking, precision, ties, no_kin, n_jobs=n_jobs)


def recall_at_k(
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    *,
    k: int,
    n_bits: int | None = None,
    ties: str = "expected",
    no_kin: str = "skip",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> MeanScore:
    """Mean share of each query's kin that is found among its first ``k`` rows.

    Other parameters, time and memory as in `mean_average_precision`.
    """
    k = check_integer("k", k, 1)
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)

    def recall(groups: TieGroups, ties: str) -> Floats:
        kin = groups.n_kin
        return np.where(kin > 0, groups.kin_among_first(k, ties) / np.maximum(kin, 1), np.nan)

    return _report(f"recall at {k}", ranking, recall, ties, no_kin, n_jobs=n_jobs)


def ndcg(
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    *,
    top: int | None = None,
    gain: str = "linear",
    n_bits: int | None = None,
    ties: str = "expected",
    no_kin: str = "skip",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> MeanScore:
    """Discounted gain of a ranking by Hamming distance, relative to the best ranking there is.

    The grade of a row is the number of tags it shares with the query (classes: 0 or 1; a relevance:
    its whole numbers). Its gain is the grade ("linear", as in scikit-learn) or ``2**grade - 1``
    ("exponential"); a row at place i counts ``gain / log2(1 + i)``. Ties share their places evenly,
    which is the exact expectation; the band sorts each group by grade, upwards and downwards.

    Other parameters, time and memory as in `mean_average_precision`.
    """
    check_choice("gain", gain, ("exponential", "linear"))
    check_cut(top, "kin")
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)

    def score(groups: TieGroups, ties: str) -> Floats:
        assert groups.grades is not None
        grades = np.arange(groups.grades.shape[2], dtype=np.float64)
        return groups.ndcg(np.exp2(grades) - 1 if gain == "exponential" else grades, top, ties)

    name = "nDCG" if top is None else f"nDCG at {top}"
    return _report(name, ranking, score, ties, no_kin, top_grade=None, n_jobs=n_jobs)


@dataclass(frozen=True, eq=False)
class PrecisionAtRecall:
    """``precision`` (len(recall),): mean over queries with relevant rows; ``per_query`` (q, len(recall))."""

    recall: Floats
    precision: Floats
    per_query: Floats
    n_queries: int
    n_without_kin: int


def precision_at_recall(
    query_codes: CodesLike,
    database_codes: CodesLike,
    query_labels: LabelsLike,
    database_labels: LabelsLike = None,
    *,
    recall: Numbers | None = None,
    n_bits: int | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> PrecisionAtRecall:
    """Precision at these shares of the kin (0 to 1; 0.05 steps unless given) along the ranking.

    At recall 0 it is the share of relevant rows among the nearest rows. No radius is needed, and no
    look-up is empty. Other parameters, time and memory as in `mean_average_precision`.
    """
    wanted = np.linspace(0, 1, 21) if recall is None else np.atleast_1d(np.asarray(recall, np.float64))
    if wanted.ndim != 1 or not len(wanted) or not ((wanted >= 0) & (wanted <= 1)).all():
        raise InvalidInput("recall is not a list of shares", "numbers from 0 to 1", "Pass such numbers")
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)
    found = np.full((len(ranking.queries), len(wanted)), np.nan)
    for rows, groups in query_blocks(ranking, n_jobs=n_jobs):
        found[rows] = groups.precision_at_recall(wanted)
    able = ~np.isnan(found[:, 0])
    mean = found[able].mean(axis=0) if able.any() else np.full(len(wanted), np.nan)
    return PrecisionAtRecall(wanted, mean, found, len(found), int((~able).sum()))
