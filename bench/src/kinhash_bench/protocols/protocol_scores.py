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
    evaluate,
    own_rows,
    query_blocks,
    read_ranking,
    read_sides,
    scored_rows,
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
        sides = queries, database, query_labels, database_labels
        return evaluate(*sides, exclude_self=own, **_how(protocol))
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
    exclude_self = protocol.database == "queries"
    if protocol.measure == "pair auc":
        n_queries, n_database = len(query_labels), len(database_labels)
        own = own_rows(exclude_self, n_queries, n_database)
        sides = read_sides(query_labels, database_labels, n_queries, n_database, own)
        return _auc_report(protocol, *_wins_of_floats(scores, sides), sides)
    return evaluate(scores, None, query_labels, database_labels, exclude_self=exclude_self, **_how(protocol))


def _how(protocol: Protocol) -> dict[str, Any]:
    """The protocol's mean average precision, as options of `kinhash.metrics.evaluate`."""
    cut = "" if protocol.top is None else f"@{protocol.top}"
    found = "/found" if protocol.divide_by == "found" else ""
    return {"measures": f"map{cut}{found}", "ties": protocol.ties, "no_kin": protocol.no_kin}


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
    ordered = np.sort(strangers)
    below = np.searchsorted(ordered, kin, "left")
    level = np.searchsorted(ordered, kin, "right") - below
    won = below.sum(dtype=np.float64), level.sum(dtype=np.float64)
    return np.array([*won, float(len(kin)) * len(strangers)])


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
