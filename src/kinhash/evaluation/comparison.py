"""A table of search methods measured on the same held-out rows or pairs, and how it was measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .._types import Floats
from .confidence import bootstrap_interval

__all__ = ["COSINE", "LEARNED", "MAPPED", "SIGN_BITS", "Comparison", "Line", "lsh_name", "scored"]

LEARNED, MAPPED = "codes, learned database", "codes, mapped database"
COSINE, SIGN_BITS = "float cosine", "sign bits"


def lsh_name(n_bits: int) -> str:
    """What LSH is called in a table."""
    return f"LSH, {n_bits} bits"


@dataclass(frozen=True)
class Line:
    """One line of the table: a search method, its size, its score and the 95 % interval of that."""

    name: str
    bytes_per_item: int
    score: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """The lines, the protocol in words, and what else was counted."""

    metric: str
    protocol: str
    lines: tuple[Line, ...]
    facts: dict[str, Any] = field(default_factory=dict)

    def score(self, name: str) -> float:
        """The score in the line of that name."""
        return next(line.score for line in self.lines if line.name == name)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "metric": self.metric,
            "protocol": self.protocol,
            "lines": [asdict(line) for line in self.lines],
            **self.facts,
        }


def scored(name: str, bytes_per_item: int, scores: Floats) -> Line:
    """A line from the scores of single queries, or of single pairs of kin; NaN where all of them are."""
    if np.isnan(scores).all():
        return Line(name, bytes_per_item, float("nan"), float("nan"), float("nan"))
    interval = bootstrap_interval(scores, n_resamples=1000)
    return Line(name, bytes_per_item, interval.value, interval.low, interval.high)
