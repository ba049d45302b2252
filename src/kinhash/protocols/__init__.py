"""Named ways to evaluate, so that a number says what it means.

``evaluate(method, data, "paper")`` splits the rows, fits, encodes, ranks and gives a `Record`; the
name and the digest of the `Protocol` stand beside every number. ``PROTOCOLS`` lists the named ones.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._table import Table
from ._partition import Partition
from ._protocol import Protocol

if TYPE_CHECKING:
    from ._evaluate import evaluate
    from ._rankings import Cosine, FloatRanking, LabelScores
    from ._record import Record

__all__ = [
    "PROTOCOLS",
    "Cosine",
    "FloatRanking",
    "LabelScores",
    "Partition",
    "Protocol",
    "Record",
    "evaluate",
]

PROTOCOLS = Table(
    "protocol",
    {
        "paper": "kinhash.protocols._named:PAPER",
        "paper-one-bit": "kinhash.protocols._named:PAPER_ONE_BIT",
        "inductive": "kinhash.protocols._named:INDUCTIVE",
        "unseen-classes": "kinhash.protocols._named:UNSEEN_CLASSES",
        "pairs": "kinhash.protocols._named:PAIRS",
    },
    entry_points="kinhash.protocols",
)

_LATER = {  # these bring the metrics and their kernels along
    "Cosine": "_rankings",
    "FloatRanking": "_rankings",
    "LabelScores": "_rankings",
    "Record": "_record",
    "evaluate": "_evaluate",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
