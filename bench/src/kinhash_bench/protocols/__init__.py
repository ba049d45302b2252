"""Named ways to evaluate, so that a number says what it means.

``evaluate(method, data, "paper")`` splits the rows, fits, encodes, ranks and gives a `Record`; the
name and the digest of the `Protocol` stand beside every number. ``PROTOCOLS`` lists the named ones.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kinhash.plugins import Table

if TYPE_CHECKING:
    from kinhash.evaluation import Cosine, FloatRanking, LabelScores

    from .cosine_figures import CosineRanking, cosine_ranking
    from .given_split import given_partition
    from .online import OnlineRecord, OnlineStep, evaluate_online
    from .partition import Partition
    from .profiles import RankingProfile, ranking_profile
    from .protocol import Protocol
    from .record import Record
    from .run_protocol import ComparedCodes, evaluate, nearest_kin_of

__all__ = [
    "PROTOCOLS",
    "ComparedCodes",
    "Cosine",
    "CosineRanking",
    "FloatRanking",
    "LabelScores",
    "OnlineRecord",
    "OnlineStep",
    "Partition",
    "Protocol",
    "RankingProfile",
    "Record",
    "cosine_ranking",
    "evaluate",
    "evaluate_online",
    "given_partition",
    "nearest_kin_of",
    "ranking_profile",
]

PROTOCOLS = Table(
    "protocol",
    {
        "paper": "kinhash_bench.protocols.named_protocols:PAPER",
        "paper-one-bit": "kinhash_bench.protocols.named_protocols:PAPER_ONE_BIT",
        "inductive": "kinhash_bench.protocols.named_protocols:INDUCTIVE",
        "unseen-classes": "kinhash_bench.protocols.named_protocols:UNSEEN_CLASSES",
        "pairs": "kinhash_bench.protocols.named_protocols:PAIRS",
        "cifar10": "kinhash_bench.protocols.named_protocols:CIFAR10",
        "cifar10-1": "kinhash_bench.protocols.named_protocols:CIFAR10_1",
        "cifar10-2": "kinhash_bench.protocols.named_protocols:CIFAR10_2",
        "nuswide-21": "kinhash_bench.protocols.named_protocols:NUSWIDE21",
        "coco": "kinhash_bench.protocols.named_protocols:COCO",
        "mirflickr": "kinhash_bench.protocols.named_protocols:MIRFLICKR",
        "imagenet-100": "kinhash_bench.protocols.named_protocols:IMAGENET100",
        "given": "kinhash_bench.protocols.named_protocols:GIVEN",
    },
    entry_points="kinhash_bench.protocols",
)

# Loaded on first use: a protocol needs neither the compiled metrics nor scikit-learn.
_MODULES = {
    "cosine_figures": ("CosineRanking", "cosine_ranking"),
    "given_split": ("given_partition",),
    "online": ("OnlineRecord", "OnlineStep", "evaluate_online"),
    "partition": ("Partition",),
    "profiles": ("RankingProfile", "ranking_profile"),
    "protocol": ("Protocol",),
    "record": ("Record",),
    "run_protocol": ("ComparedCodes", "evaluate", "nearest_kin_of"),
}
_LATER = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
_LATER |= dict.fromkeys(("Cosine", "FloatRanking", "LabelScores"), "kinhash.evaluation")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
