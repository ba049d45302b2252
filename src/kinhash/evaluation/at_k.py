"""Precision and recall among the first k rows of a ranking, and nDCG for graded kinship.

All three are exact about ties. Of a group of rows at equal distance that is cut by place k, the
expectation takes its share: with ``N`` rows in front and ``n`` in the group, ``r`` of them kin,

    ``E[kin among the first k] = R + r (k - N) / n``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Floats
from .mean_score import MeanScore, check_choice, check_count, report
from .ranking import read_ranking
from .scan import QueryBlock
from .tie_groups import arranged, discounted_gains, kin_among_first

__all__ = ["ndcg", "precision_at_k", "recall_at_k"]


def precision_at_k(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = None,
    *,
    k: int,
    n_bits: int | None = None,
    ties: str = "expected",
    no_kin: str = "skip",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> MeanScore:
    """Share of kin among the first ``k`` rows of each query; ``.value`` is the mean.

    Divided by ``k`` also where the database has fewer rows, as trec_eval does. Other parameters,
    time and memory as in `mean_average_precision`.
    """
    k = check_count("k", k)
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)

    def precision(block: QueryBlock, order: str) -> Floats:
        return np.where(block.kin.any(axis=1), _found(block, order, k) / k, np.nan)

    return report(f"precision at {k}", ranking, precision, ties, no_kin, n_jobs=n_jobs)


def recall_at_k(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = None,
    *,
    k: int,
    n_bits: int | None = None,
    ties: str = "expected",
    no_kin: str = "skip",
    exclude_self: bool = False,
    n_jobs: int | None = None,
) -> MeanScore:
    """Share of each query's kin that is found among its first ``k`` rows; ``.value`` is the mean.

    Other parameters, time and memory as in `mean_average_precision`.
    """
    k = check_count("k", k)
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)

    def recall(block: QueryBlock, order: str) -> Floats:
        kin = block.kin.sum(axis=1)
        return np.where(kin > 0, _found(block, order, k) / np.maximum(kin, 1), np.nan)

    return report(f"recall at {k}", ranking, recall, ties, no_kin, n_jobs=n_jobs)


def _found(block: QueryBlock, order: str, k: int) -> Floats:
    if order == "index":
        return block.walk(k)[:, 1]
    return kin_among_first(*arranged(block.sizes, block.kin, order), k)


def ndcg(
    query_codes: Any,
    database_codes: Any,
    query_labels: Any,
    database_labels: Any = None,
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
    if top is not None:
        check_count("top", top)
    ranking = read_ranking(query_codes, database_codes, query_labels, database_labels, n_bits, exclude_self)

    def score(block: QueryBlock, order: str) -> Floats:
        gains = np.arange(block.table.shape[2], dtype=np.float64)
        if gain == "exponential":
            gains = np.exp2(gains) - 1
        best_first = block.table.sum(axis=1)[:, ::-1]
        ideal = discounted_gains(best_first, best_first * gains[::-1], top)
        return np.where(ideal > 0, _gained(block, order, gains, top) / np.where(ideal > 0, ideal, 1), np.nan)

    name = "nDCG" if top is None else f"nDCG at {top}"
    return report(name, ranking, score, ties, no_kin, top_grade=None, n_jobs=n_jobs)


def _gained(block: QueryBlock, order: str, gains: Floats, top: int | None) -> Floats:
    if order == "index":
        return block.walk(top, gains)[:, 2]
    if order == "expected":
        return discounted_gains(block.sizes, block.table @ gains, top)
    step = -1 if order == "optimistic" else 1
    parts = block.table[:, :, ::step]  # every group cut by grade, so order inside a part is idle
    flat = (len(parts), -1)
    return discounted_gains(parts.reshape(flat), (parts * gains[::step]).reshape(flat), top)
