"""How good are these codes? Metrics, protocols, held-out rows and pairs, and reference methods.

*Metrics* are exact about ties and say what they were taken over. *Protocols* are named ways to evaluate:
``evaluate(method, data, "paper")`` splits the rows, fits, encodes, ranks and gives a `Record`; the name and
the digest of the `Protocol` stand beside every number. *Reference methods* are what one would use without
learned codes: float cosine, sign bits, LSH. ``compare_labels`` and ``compare_pairs`` put them beside a
fitted hasher. The public doors are `kinhash.metrics` and `kinhash.protocols`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._table import Table

if TYPE_CHECKING:
    from .at_k import ndcg, precision_at_k, recall_at_k
    from .by_label import ScoreOfLabel, scores_by_label
    from .code_references import CodeReferences
    from .comparison import Comparison
    from .confidence import Interval, PairedTest, bootstrap_interval, paired_test
    from .cosine_figures import CosineRanking, cosine_ranking
    from .data import Data, read_data
    from .float_rankings import Cosine, FloatRanking, LabelScores, score_rows
    from .given_rankings import average_precision_from_order, average_precision_from_scores
    from .given_split import given_partition
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
    from .online import OnlineRecord, OnlineStep, evaluate_online
    from .pairs import Pairs
    from .pairs_comparison import compare_pairs
    from .partition import Partition
    from .profiles import RankingProfile, ranking_profile
    from .protocol import Protocol
    from .radius import (
        PrecisionRecallCurve,
        PrecisionWithinRadius,
        precision_recall_curve,
        precision_within_radius,
        radius_for_precision,
    )
    from .ranking_curve import PrecisionAtRecall, precision_at_recall
    from .record import Record
    from .run_protocol import ComparedCodes, evaluate, nearest_kin_of

__all__ = [
    "PROTOCOLS",
    "CodeHealth",
    "CodeReferences",
    "ComparedCodes",
    "Comparison",
    "Cosine",
    "CosineRanking",
    "Data",
    "FloatRanking",
    "Interval",
    "LabelScores",
    "MeanAveragePrecision",
    "MeanScore",
    "NearKin",
    "NearestKin",
    "OnlineRecord",
    "OnlineStep",
    "PairedTest",
    "Pairs",
    "Partition",
    "PrecisionAtRecall",
    "PrecisionRecallCurve",
    "PrecisionWithinRadius",
    "Protocol",
    "RankingProfile",
    "Record",
    "ScoreOfLabel",
    "average_precision",
    "average_precision_from_order",
    "average_precision_from_scores",
    "bootstrap_interval",
    "code_health",
    "compare_labels",
    "compare_pairs",
    "cosine_ranking",
    "distinct_answers",
    "evaluate",
    "evaluate_online",
    "given_partition",
    "hold_out_pairs",
    "hold_out_rows",
    "mean_average_precision",
    "ndcg",
    "near_kin",
    "near_kin_from_scores",
    "nearest_kin_of",
    "paired_test",
    "precision_at_k",
    "precision_at_recall",
    "precision_recall_curve",
    "precision_within_radius",
    "radius_for_precision",
    "ranking_profile",
    "read_data",
    "recall_at_k",
    "score_rows",
    "scores_by_label",
    "some_queries",
]

PROTOCOLS = Table(
    "protocol",
    {
        "paper": "kinhash.evaluation.named_protocols:PAPER",
        "paper-one-bit": "kinhash.evaluation.named_protocols:PAPER_ONE_BIT",
        "inductive": "kinhash.evaluation.named_protocols:INDUCTIVE",
        "unseen-classes": "kinhash.evaluation.named_protocols:UNSEEN_CLASSES",
        "pairs": "kinhash.evaluation.named_protocols:PAIRS",
        "cifar10": "kinhash.evaluation.named_protocols:CIFAR10",
        "cifar10-1": "kinhash.evaluation.named_protocols:CIFAR10_1",
        "cifar10-2": "kinhash.evaluation.named_protocols:CIFAR10_2",
        "nuswide-21": "kinhash.evaluation.named_protocols:NUSWIDE21",
        "coco": "kinhash.evaluation.named_protocols:COCO",
        "mirflickr": "kinhash.evaluation.named_protocols:MIRFLICKR",
        "imagenet-100": "kinhash.evaluation.named_protocols:IMAGENET100",
        "given": "kinhash.evaluation.named_protocols:GIVEN",
    },
    entry_points="kinhash.protocols",
)

# Loaded on first use: a protocol needs neither the compiled metrics nor scikit-learn.
_MODULES = {
    "at_k": ("ndcg", "precision_at_k", "recall_at_k"),
    "by_label": ("ScoreOfLabel", "scores_by_label"),
    "code_references": ("CodeReferences",),
    "comparison": ("Comparison",),
    "confidence": ("Interval", "PairedTest", "bootstrap_interval", "paired_test"),
    "cosine_figures": ("CosineRanking", "cosine_ranking"),
    "data": ("Data", "read_data"),
    "float_rankings": ("Cosine", "FloatRanking", "LabelScores", "score_rows"),
    "given_rankings": ("average_precision_from_order", "average_precision_from_scores"),
    "given_split": ("given_partition",),
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
    "online": ("OnlineRecord", "OnlineStep", "evaluate_online"),
    "pairs": ("Pairs",),
    "pairs_comparison": ("compare_pairs",),
    "partition": ("Partition",),
    "profiles": ("RankingProfile", "ranking_profile"),
    "protocol": ("Protocol",),
    "radius": (
        "PrecisionRecallCurve",
        "PrecisionWithinRadius",
        "precision_recall_curve",
        "precision_within_radius",
        "radius_for_precision",
    ),
    "ranking_curve": ("PrecisionAtRecall", "precision_at_recall"),
    "record": ("Record",),
    "run_protocol": ("ComparedCodes", "evaluate", "nearest_kin_of"),
}
_LATER = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
