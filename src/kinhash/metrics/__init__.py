"""How good are these codes? Scores that are exact about ties, held-out rows, and reference methods.

*Scores* say what they were taken over. *Reference methods* are what one would use without learned codes:
float cosine search, sign bits, LSH. `compare_labels`, `compare_pairs` and `compare_triplets` put them beside
a hasher, and `verdict` says in sentences what came out.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "Comparison",
    "MeanScore",
    "NearKin",
    "average_precision",
    "average_precision_from_order",
    "average_precision_from_scores",
    "bootstrap_interval",
    "code_health",
    "compare_labels",
    "compare_pairs",
    "compare_triplets",
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
    "verdict",
]
