"""How good are these codes? Metrics, held-out rows and pairs, and reference methods.

*Metrics* are exact about ties and say what they were taken over; `kinhash.metrics` is their public door.
*Reference methods* are what one would use without learned codes: float cosine, sign bits, LSH.
``compare_labels`` and ``compare_pairs`` put them beside a fitted hasher.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .at_k import ndcg, precision_at_k, recall_at_k
    from .by_label import ScoreOfLabel, scores_by_label
    from .code_references import CodeReferences
    from .comparison import Comparison
    from .confidence import Interval, PairedTest, bootstrap_interval, paired_test
    from .data import Data, read_data
    from .float_rankings import Cosine, FloatRanking, LabelScores, score_rows
    from .given_rankings import average_precision_from_order, average_precision_from_scores
    from .hamming_rankings import MeanAveragePrecision, average_precision, mean_average_precision
    from .health import CodeHealth, code_health
    from .hold_out import hold_out_pairs, hold_out_rows
    from .labels_comparison import compare_labels
    from .mean_score import MeanScore
    from .nearest_kin import (
        NearestKin,
        NearKin,
        distinct_answers,
        near_kin,
        near_kin_from_scores,
        some_queries,
    )
    from .pairs import Pairs
    from .pairs_comparison import compare_pairs
    from .radius import (
        PrecisionRecallCurve,
        PrecisionWithinRadius,
        precision_recall_curve,
        precision_within_radius,
        radius_for_precision,
    )
    from .ranking_curve import PrecisionAtRecall, precision_at_recall

__all__ = [
    "CodeHealth",
    "CodeReferences",
    "Comparison",
    "Cosine",
    "Data",
    "FloatRanking",
    "Interval",
    "LabelScores",
    "MeanAveragePrecision",
    "MeanScore",
    "NearKin",
    "NearestKin",
    "PairedTest",
    "Pairs",
    "PrecisionAtRecall",
    "PrecisionRecallCurve",
    "PrecisionWithinRadius",
    "ScoreOfLabel",
    "average_precision",
    "average_precision_from_order",
    "average_precision_from_scores",
    "bootstrap_interval",
    "code_health",
    "compare_labels",
    "compare_pairs",
    "distinct_answers",
    "hold_out_pairs",
    "hold_out_rows",
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
    "read_data",
    "recall_at_k",
    "score_rows",
    "scores_by_label",
    "some_queries",
]

# Loaded on first use: not every name needs the compiled metrics or scikit-learn.
_MODULES = {
    "at_k": ("ndcg", "precision_at_k", "recall_at_k"),
    "by_label": ("ScoreOfLabel", "scores_by_label"),
    "code_references": ("CodeReferences",),
    "comparison": ("Comparison",),
    "confidence": ("Interval", "PairedTest", "bootstrap_interval", "paired_test"),
    "data": ("Data", "read_data"),
    "float_rankings": ("Cosine", "FloatRanking", "LabelScores", "score_rows"),
    "given_rankings": ("average_precision_from_order", "average_precision_from_scores"),
    "hamming_rankings": ("MeanAveragePrecision", "average_precision", "mean_average_precision"),
    "health": ("CodeHealth", "code_health"),
    "hold_out": ("hold_out_pairs", "hold_out_rows"),
    "labels_comparison": ("compare_labels",),
    "mean_score": ("MeanScore",),
    "nearest_kin": (
        "NearKin",
        "NearestKin",
        "distinct_answers",
        "near_kin",
        "near_kin_from_scores",
        "some_queries",
    ),
    "pairs": ("Pairs",),
    "pairs_comparison": ("compare_pairs",),
    "radius": (
        "PrecisionRecallCurve",
        "PrecisionWithinRadius",
        "precision_recall_curve",
        "precision_within_radius",
        "radius_for_precision",
    ),
    "ranking_curve": ("PrecisionAtRecall", "precision_at_recall"),
}
_LATER = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
