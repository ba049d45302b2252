"""Unsupervised methods to compare with: ITQ, LSH and sign bits.

`kinhash.advise`, ``kinhash fit`` and the explorer measure codes against them. The supervised methods of other
papers are in the package ``kinhash-bench``. A package that adds a method subclasses `Baseline` or
`Unsupervised`, whose ``_solve(training)`` returns a `Solved`, and registers it under the entry point group
"kinhash.hashers".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._table import Table

if TYPE_CHECKING:
    from ..training import Training as Training
    from ._base import Baseline as Baseline
    from ._base import Solved as Solved
    from ._base import Unsupervised as Unsupervised
    from ._card import Card as Card
    from .itq import ITQ as ITQ
    from .lsh import LSH as LSH
    from .sign_bits import SignBits as SignBits

__all__ = ["BASELINES", "Baseline", "Card", "Solved", "Training", "Unsupervised"]

BASELINES = Table(
    "baseline",
    {
        "ITQ": "kinhash.baselines.itq:ITQ",
        "LSH": "kinhash.baselines.lsh:LSH",
        "SignBits": "kinhash.baselines.sign_bits:SignBits",
    },
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import _base, _card

        return getattr(_card if name == "Card" else _base, name)
    return BASELINES.class_named(name, __name__)
