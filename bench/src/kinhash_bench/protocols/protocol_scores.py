"""From codes or float scores to one number with its tie band, as a protocol defines it.

Distances are counted by this room's metrics; nothing a method says about itself is used.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kinhash.codes import Codes
from kinhash.errors import KinhashWarning
from kinhash.labels import Labels
from kinhash.metrics import (
    MeanScore,
    ScoreRows,
    Sides,
    mean_average_precision,
    name_of,
    own_rows,
    precision_of_scores,
    query_blocks,
    read_ranking,
    read_sides,
    scored_rows,
    strangers_below,
    summarize,
)
from kinhash.plugins import Floats, require_memory

if TYPE_CHECKING:
    from .protocol import Protocol

__all__ = ["score_codes", "score_floats"]

Counts = npt.NDArray[np.int64]

AUC = "ROC AUC over pairs"


def score_codes(
    protocol: Protocol, queries: Codes, database: Codes, query_labels: Labels, database_labels: Labels
) -> MeanScore:
    """Score a ranking by Hamming distance. Peak memory beyond the codes: about 40 MB."""
    own = protocol.database == "queries"
    if protocol.measure == "average precision":
        return mean_average_precision(
            queries,
            database,
            query_labels,
            database_labels,
            ties=protocol.ties,
            top=protocol.top,
            divide_by=protocol.divide_by,
            no_kin=protocol.no_kin,
            exclude_self=own,
        )
    ranking = read_ranking(queries, database, query_labels, database_labels, None, own)
    wins = np.zeros((len(ranking.queries), 3))
    kin, strangers = np.zeros((2, database.n_bits + 1), np.int64)
    for rows, groups in query_blocks(ranking):
        wins[rows] = _wins_of_counts(groups.r, groups.n - groups.r)
        kin += groups.r.sum(axis=0)
        strangers += (groups.n - groups.r).sum(axis=0)
    return _auc_report(protocol, _wins_of_counts(kin, strangers), wins, ranking.sides)


def score_floats(
    protocol: Protocol, scores: ScoreRows, query_labels: Labels, database_labels: Labels
) -> MeanScore:
    """Score a ranking by float scores, highest first.

    Peak memory: blocks of 16 MB; for "pair auc" all scores at once, which is refused if they do not fit.
    """
    n_queries, n_database = len(query_labels), len(database_labels)
    own = own_rows(protocol.database == "queries", n_queries, n_database)
    sides = read_sides(query_labels, database_labels, n_queries, n_database, own)
    if protocol.measure == "pair auc":
        return _auc_report(protocol, *_wins_of_floats(scores, sides), sides)
    known = slice(None) if sides.known_queries is None else sides.known_queries
    orders = (protocol.ties, "pessimistic", "optimistic")
    found = np.stack(
        [precision_of_scores(scores, sides, ties, protocol.top, protocol.divide_by) for ties in orders]
    )
    metric = name_of(protocol.top, protocol.divide_by)
    return summarize(metric, found[:, known], sides, protocol.ties, protocol.no_kin)


# -- pairs: how often is a pair of kin nearer than a pair of strangers? ----------------------------
#
# "Wins" are three numbers, always last: comparisons a pair of kin wins, comparisons that are level, and
# all comparisons. They are counts, held as floats so that a billion squared still fits.


def _wins_of_counts(kin: Counts, strangers: Counts) -> Floats:
    """Wins (..., 3) from the pairs at every distance (..., d + 1)."""
    kin, strangers = kin.astype(np.float64), strangers.astype(np.float64)
    farther = strangers.sum(axis=-1, keepdims=True) - np.cumsum(strangers, axis=-1)
    won, level = (kin * farther).sum(axis=-1), (kin * strangers).sum(axis=-1)
    return np.stack([won, level, kin.sum(axis=-1) * strangers.sum(axis=-1)], axis=-1)


def _wins_of_scores(kin: npt.NDArray[Any], strangers: npt.NDArray[Any]) -> Floats:
    """Wins (3,) from the scores of pairs of kin and of strangers, higher meaning nearer."""
    below, level = (counts.sum(dtype=np.float64) for counts in strangers_below(kin, strangers))
    return np.array([below, level, float(len(kin)) * len(strangers)])


def _wins_of_floats(scores: ScoreRows, sides: Sides) -> tuple[Floats, Floats]:
    """Wins over all pairs (3,) and of every known query (q, 3)."""
    require_memory(
        24 * sides.n_queries * sides.n_database, "Comparing all pairs by float scores", "Use fewer queries"
    )
    pairs = [(row[grades > 0], row[grades == 0]) for row, grades in scored_rows(scores, sides)]
    wins = np.array([_wins_of_scores(*pair) for pair in pairs]).reshape(-1, 3)
    kin, strangers = (np.concatenate([np.empty(0), *some]) for some in zip(*pairs, strict=True))
    return _wins_of_scores(kin, strangers), wins


def _auc_report(protocol: Protocol, together: Floats, wins: Floats, sides: Sides) -> MeanScore:
    """The value pools the pairs of all queries; ``per_query`` has the value of each query alone."""
    if not together[2]:
        warnings.warn(
            "The rows have no similar pair, or no dissimilar one, so the AUC is NaN.",
            KinhashWarning,
            stacklevel=3,
        )
    shares = {"expected": 0.5, "pessimistic": 0.0, "optimistic": 1.0}

    def auc(counts: Floats, ties: str) -> Floats:
        won, level, compared = np.moveaxis(counts, -1, 0)
        return np.where(compared > 0, (won + shares[ties] * level) / np.maximum(compared, 1), np.nan)

    orders = (protocol.ties, "pessimistic", "optimistic")
    means = [float(auc(together, ties)) for ties in orders]
    scores = np.stack([auc(wins, ties) for ties in orders])
    return summarize(AUC, scores, sides, protocol.ties, protocol.no_kin, means)
