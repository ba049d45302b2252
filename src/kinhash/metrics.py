"""How good are these codes? Scores that are exact about ties, and say what they were taken over.

The work is in `kinhash.evaluation`.
"""

from __future__ import annotations

from .evaluation.at_k import ndcg, precision_at_k, recall_at_k
from .evaluation.confidence import Interval, PairedTest, bootstrap_interval, paired_test
from .evaluation.given_rankings import average_precision_from_order, average_precision_from_scores
from .evaluation.hamming_rankings import MeanAveragePrecision, average_precision, mean_average_precision
from .evaluation.health import CodeHealth, code_health
from .evaluation.mean_score import MeanScore
from .evaluation.nearest_kin import NearKin, distinct_answers, near_kin, near_kin_from_scores
from .evaluation.radius import (
    PrecisionRecallCurve,
    PrecisionWithinRadius,
    precision_recall_curve,
    precision_within_radius,
    radius_for_precision,
)
from .evaluation.ranking_curve import PrecisionAtRecall, precision_at_recall

__all__ = [
    "CodeHealth",
    "Interval",
    "MeanAveragePrecision",
    "MeanScore",
    "NearKin",
    "PairedTest",
    "PrecisionAtRecall",
    "PrecisionRecallCurve",
    "PrecisionWithinRadius",
    "average_precision",
    "average_precision_from_order",
    "average_precision_from_scores",
    "bootstrap_interval",
    "code_health",
    "distinct_answers",
    "mean_average_precision",
    "ndcg",
    "near_kin",
    "near_kin_from_scores",
    "paired_test",
    "precision_at_k",
    "precision_at_recall",
    "precision_recall_curve",
    "precision_within_radius",
    "radius_for_precision",
    "recall_at_k",
]
