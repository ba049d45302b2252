"""What comes out: a comparison for every length, a recommendation, and how both were measured."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from .._internal.aliases import Facts
from ..errors import UnknownName
from ..metrics import Comparison

__all__ = ["OURS", "Advice", "Measurement", "Recommendation"]

OURS = "EnergyHasher"


@dataclass(frozen=True)
class Recommendation:
    """The answer. ``method`` and ``n_bits`` are None where nothing retrieves more than a random order.

    ``labels_help``: do codes that read the labels retrieve more than float cosine? None: one
    cannot tell.
    """

    method: str | None
    n_bits: int | None
    labels_help: bool | None
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Measurement:
    """The protocol, in numbers."""

    rows: int
    rows_used: int
    columns: int
    kind: str
    labels: int
    splits: int
    training_rows: int
    queries: int
    tolerance: float
    random_state: int
    checksum: str

    def __str__(self) -> str:
        used = f"all {self.rows:,} rows with a label"
        if self.rows_used < self.rows:
            used = f"{self.rows_used:,} of {self.rows:,} rows, drawn evenly over the labels"
        seeds = f"{self.random_state} to {self.random_state + self.splits - 1}"
        seeds = seeds if self.splits > 1 else str(self.random_state)
        return (
            f"{used[0].upper()}{used[1:]}. {self.splits} random split{'s' if self.splits > 1 else ''}: "
            f"{self.training_rows:,} rows to fit, {self.queries:,} queries in all; of the same rows "
            f"`kinhash fit` holds out the same queries with --seed {seeds}."
        )


@dataclass(frozen=True, eq=False)
class Advice:
    """What `kinhash.advise` answers; print it, draw it, or take it apart.

    ``comparisons`` has the table that `kinhash fit` ends with for every length, pooled over the splits.
    """

    recommendation: Recommendation
    comparisons: dict[int, Comparison]
    measurement: Measurement
    seconds: float

    def at(self, n_bits: int) -> Comparison:
        """The comparison at a length: ``advice.at(64).score("ITQ")``."""
        if n_bits not in self.comparisons:
            raise UnknownName.among("length", str(n_bits), map(str, self.comparisons))
        return self.comparisons[n_bits]

    def as_dict(self) -> Facts:
        """Everything as numbers, texts, lists and dictionaries."""
        return {
            "recommendation": asdict(self.recommendation),
            "comparisons": {str(n_bits): one.as_dict() for n_bits, one in self.comparisons.items()},
            "measurement": asdict(self.measurement) | {"protocol": str(self.measurement)},
            "seconds": self.seconds,
        }

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Save the picture: mAP against bits, with intervals (PNG; needs matplotlib)."""
        from ..plot import save_png

        save_png(self._page(), path)

    def _page(self) -> Any:
        from .. import plot
        from ..plot import bare_page

        page = bare_page(9.6, 6.0)
        plot.advice(self, ax=page.add_subplot())
        return page

    def _repr_html_(self) -> str:
        from .page import html

        return html(self)

    def __str__(self) -> str:
        from .text import text

        return text(self)
