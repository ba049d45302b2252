"""How good are these codes? Scores that know about ties, and say what they were taken over."""

from __future__ import annotations

from ._report import MeanScore
from .at_k import ndcg, precision_at_k, recall_at_k
from .average_precision import MeanAveragePrecision, average_precision, mean_average_precision
from .confidence import Interval, PairedTest, bootstrap_interval, paired_test
from .health import CodeHealth, code_health
from .radius import (
    PrecisionRecallCurve,
    PrecisionWithinRadius,
    precision_recall_curve,
    precision_within_radius,
    radius_for_precision,
)
from .ranked import average_precision_from_order, average_precision_from_scores

__all__ = [
    "CodeHealth",
    "Interval",
    "MeanAveragePrecision",
    "MeanScore",
    "PairedTest",
    "PrecisionRecallCurve",
    "PrecisionWithinRadius",
    "average_precision",
    "average_precision_from_order",
    "average_precision_from_scores",
    "bootstrap_interval",
    "code_health",
    "mean_average_precision",
    "ndcg",
    "paired_test",
    "precision_at_k",
    "precision_recall_curve",
    "precision_within_radius",
    "radius_for_precision",
    "recall_at_k",
]
