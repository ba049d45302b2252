"""Named ways to evaluate, so that a number says what it means. The work is in `kinhash.evaluation`.

``evaluate(method, data, "paper")`` splits the rows, fits, encodes, ranks and gives a `Record`; the
name and the digest of the `Protocol` stand beside every number. ``PROTOCOLS`` lists the named ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import evaluation
from .evaluation import PROTOCOLS

if TYPE_CHECKING:
    from .evaluation import (
        Cosine,
        FloatRanking,
        LabelScores,
        OnlineRecord,
        Partition,
        Protocol,
        Record,
        evaluate,
        evaluate_online,
        given_partition,
        nearest_kin_of,
    )

__all__ = [
    "PROTOCOLS",
    "Cosine",
    "FloatRanking",
    "LabelScores",
    "OnlineRecord",
    "Partition",
    "Protocol",
    "Record",
    "evaluate",
    "evaluate_online",
    "given_partition",
    "nearest_kin_of",
]


def __getattr__(name: str) -> Any:
    if name in __all__:  # on first use: some bring the compiled metrics or scikit-learn along
        return getattr(evaluation, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
