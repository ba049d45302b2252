"""A table of search methods measured on the same held-out rows or pairs, and how it was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from textwrap import fill
from typing import Any, Protocol

import numpy as np

from .._internal.texts import columns
from .._internal.types import Facts, Floats
from ..codes import Codes
from .answers import MEASURES, Measures
from .confidence import Interval, bootstrap_interval

__all__ = [
    "CLASSIFIER", "COSINE", "ITQ", "JACCARD_CLASSIFIER", "LEARNED", "LSH", "MAPPED", "RANDOM", "SIGN_BITS",
    "UNSUPERVISED", "AnyHasher", "Comparison", "Line", "pooled",
]  # fmt: skip

LEARNED, MAPPED = "codes, learned database", "codes, mapped database"
COSINE, SIGN_BITS, LSH, ITQ = "float cosine", "sign bits", "LSH", "ITQ"
UNSUPERVISED = (COSINE, SIGN_BITS, LSH, ITQ)  # they read no labels
CLASSIFIER, JACCARD_CLASSIFIER = "classifier, true labels", "classifier, expected Jaccard"
RANDOM = "random order"
WIDTH = 100  # letters of a line
SIGNED = ("Spearman",)  # measures from -1 to 1; all others are from 0 to 1
SHOWN = 0.0005  # half of the last digit of a table


class AnyHasher(Protocol):
    """What a comparison asks of a hasher, ours or a rival."""

    n_bits: int
    codes_: Codes
    report_: Any  # a `kinhash.hashers.FitReport`
    encode: Callable[..., Codes]


@dataclass(frozen=True, eq=False)
class Line:
    """A search method, its size, and its measures by name, one value per query (or per similar pair)."""

    name: str
    bytes_per_item: int
    measures: Measures

    def mean(self, measure: str) -> float:
        """Mean over the queries that have a value; NaN where none has, or nothing was measured."""
        values = self.measures.get(measure)
        return float("nan") if values is None or np.isnan(values).all() else float(np.nanmean(values))

    def interval(self, measure: str) -> Interval:
        """Mean and 95 % interval over queries, within the range of the measure."""
        found = _interval(self.measures.get(measure, np.empty(0)))
        least = -1.0 if measure in SIGNED else 0.0
        low, high = np.clip((found.low, found.high), least, 1.0).tolist()
        return replace(found, low=low, high=high)

    def as_dict(self) -> Facts:
        """Plain values for JSON; ``score`` is the first measure."""
        main, *others = self.measures
        spread = self.interval(main)
        facts = {"name": self.name, "bytes_per_item": self.bytes_per_item, "score": spread.value}
        return facts | {"low": spread.low, "high": spread.high} | {name: self.mean(name) for name in others}


def _interval(values: Floats) -> Interval:
    """Mean and 95 % interval over queries; NaN where no query has a value."""
    if np.isnan(values).all():
        return Interval(float("nan"), float("nan"), float("nan"), 0.95, 0)
    return bootstrap_interval(values, n_resamples=1000)


@dataclass(frozen=True)
class Comparison:
    """The lines, the protocol in words, and what else was counted."""

    metric: str
    protocol: str
    lines: tuple[Line, ...]
    facts: Facts = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return any(line.name == name for line in self.lines)

    def line(self, name: str) -> Line:
        """The line of that name."""
        return next(line for line in self.lines if line.name == name)

    def score(self, name: str, measure: str | None = None) -> float:
        """A figure of the line of that name; the metric by default."""
        return self.line(name).mean(measure or self.metric)

    def difference(self, first: str, second: str, measure: str | None = None) -> Interval:
        """``first − second`` over the same queries, with its paired 95 % interval."""
        name = measure or self.metric
        pair = [self.line(one).measures[name] for one in (first, second)]
        return _interval(pair[0] - pair[1])

    def ahead(self, first: str, second: str, measure: str | None = None) -> bool:
        """Whether ``first`` is better by more than the luck of the queries, in a digit that is shown."""
        return self.difference(first, second, measure).low > SHOWN

    @property
    def ours(self) -> str:
        """The line that judges the codes: learned ones where the method has them and they are no worse."""
        return LEARNED if LEARNED in self and self.facts.get("codes") != "mapped" else MAPPED

    def as_dict(self) -> Facts:
        """Plain values for JSON."""
        lines = [line.as_dict() for line in self.lines]
        return {"metric": self.metric, "protocol": self.protocol, "lines": lines, **self.facts}

    def __str__(self) -> str:
        return "\n".join([self.table(), *(fill(line, WIDTH) for line in self.protocol.split("\n"))])

    def table(self) -> str:
        """The lines below each other, a column for every measure."""
        measured = [name for line in self.lines for name in line.measures]
        others = [name for name in dict.fromkeys([*MEASURES, *measured]) if name in measured]
        others = [name for name in others if name != self.metric]
        rows = [["", "bytes", self.metric, "95 % interval", *others]]
        for line in self.lines:
            spread = line.interval(self.metric)
            cells = [f"{line.mean(name):.3f}" if name in line.measures else "–" for name in others]
            size = f"{line.bytes_per_item:,}" if line.bytes_per_item else "–"
            rows.append(
                [line.name, size, f"{spread.value:.3f}", f"{spread.low:.3f} to {spread.high:.3f}", *cells]
            )
        return columns(rows)


def pooled(comparisons: Sequence[Comparison]) -> Comparison:
    """One comparison of the queries of several splits of the same rows."""
    first = comparisons[0]

    def joined(name: str, measure: str) -> Floats:
        return np.concatenate([one.line(name).measures[measure] for one in comparisons])

    lines = tuple(
        Line(line.name, line.bytes_per_item, {name: joined(line.name, name) for name in line.measures})
        for line in first.lines
    )
    facts = {"queries": sum(one.facts["queries"] for one in comparisons)}
    facts |= {"self_retrieval": float(np.mean([one.facts["self_retrieval"] for one in comparisons]))}
    return Comparison(first.metric, first.protocol, lines, first.facts | facts)
