"""What comes out: figures with intervals, a recommendation, and how both were measured."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from ..evaluation import Interval

__all__ = [
    "COSINE", "OURS", "RIVALS", "Advice", "Figure", "Looks", "Measurement", "Recommendation", "Search", "Way",
]  # fmt: skip

OURS, COSINE = "EnergyHasher", "float cosine"
RIVALS = ("ITQ", "LSH", "sign bits")  # codes of the same lengths that read no labels

Way = tuple[str, int | None]  # a method and its bits, None for floats


@dataclass(frozen=True)
class Search:
    """Seconds of one query for its ten nearest rows, queries coming one at a time.

    ``seconds`` is measured among the ``rows`` of the database. ``million`` is measured, too, among a million
    codes: those of the database with one bit in eight flipped (for floats: as many rows as 64 MB hold, taken
    times what is missing). ``hundred_million`` is that, times a hundred, or less where short codes repeat.
    """

    rows: int
    seconds: float
    million: float
    hundred_million: float


@dataclass(frozen=True)
class Looks:
    """How well our codes find the kin that look most alike, see `kinhash.metrics.near_kin`.

    ``kin_bits`` are those that know the labels, fewest and most over the folds; the others say what a row
    looks like. ``near_kin`` is the mAP of the 20 nearest kin, ``nearest_kin_among_100`` the share of the ten
    nearest among the first hundred answers, both means over folds of at most 500 queries, learned database.
    ``kin_at_random`` is that share where all kin come first, but in random order: no looks at all.
    """

    kin_bits: tuple[int, int]
    near_kin: float
    nearest_kin_among_100: float
    kin_at_random: float


@dataclass(frozen=True)
class Figure:
    """One way to search: a method at one length, or float cosine (``n_bits`` None).

    ``mapped``: mAP where queries and database are rows no fit saw. ``learned``: the same queries, and as
    database the rows of the fit with their learned codes (None for methods that learn none from labels).
    ``looks``: how well the nearest kin are found there (our codes alone).
    """

    method: str
    n_bits: int | None
    bytes_per_item: int
    mapped: Interval
    learned: Interval | None = None
    encode_seconds_per_1000: float | None = None
    search: Search | None = None
    looks: Looks | None = None


@dataclass(frozen=True)
class Recommendation:
    """The answer. ``method`` and ``n_bits`` are None where nothing finds kin better than chance.

    ``n_bits_learned`` is the length that suffices where all searched rows carry learned codes.
    ``labels_help``: do codes that know the labels find more kin than float cosine? None: these rows cannot
    tell. ``losses`` are paired differences of mAP over the same queries, above 0 where something is lost.
    """

    method: str | None
    n_bits: int | None
    n_bits_learned: int | None
    labels_help: bool | None
    losses: dict[str, Interval]
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
    folds: int
    folds_possible: int
    training_rows: int
    queries: int
    queries_without_kin: int
    tolerance: float
    precision: float
    random_state: int
    checksum: str

    def __str__(self) -> str:
        used = f"all {self.rows:,} rows with a label"
        if self.rows_used < self.rows:
            used = (
                f"{self.rows_used:,} of {self.rows:,} rows, drawn evenly over the labels; "
                "with all rows the codes of new rows tend to be a little better"
            )
        kin = "at least one shared tag" if self.kind == "tags" else "the same class"
        done = "all" if self.folds == self.folds_possible else f"{self.folds} of {self.folds_possible}"
        why = "" if self.folds == self.folds_possible else f" (our intervals are within ±{self.precision:g})"
        skipped = f"; {self.queries_without_kin:,} without kin left out" if self.queries_without_kin else ""
        return (
            f"Protocol: {used}. Cross-validation by rows, {done} folds{why}: {self.training_rows:,} rows to "
            f"fit, the others are the queries, {self.queries:,} in all{skipped}.\n"
            "mapped: the rows kept out search each other, so neither side was seen by any fit. "
            "learned: they search the rows of the fit, whose codes come from labels.\n"
            f"mAP of whole rankings; kin: {kin}; ties: expected value over all orders; "
            "95 % intervals: over queries. Nearest kin: by cosine of the columns, learned database."
        )


@dataclass(frozen=True, eq=False)
class Advice:
    """What `kinhash.advise` answers; print it, draw it, or take it apart."""

    recommendation: Recommendation
    figures: tuple[Figure, ...]
    chance: Interval
    measurement: Measurement
    seconds: float

    def figure(self, method: str, n_bits: int | None = None) -> Figure:
        """The figure of a method at a length: ``figure("ITQ", 64)``, ``figure("float cosine")``."""
        from ..errors import UnknownName

        for one in self.figures:
            if (one.method, one.n_bits) == (method, n_bits):
                return one
        known = [f"{one.method} {one.n_bits or ''}".strip() for one in self.figures]
        raise UnknownName.among("figure", f"{method} {n_bits or ''}".strip(), known)

    def as_dict(self) -> dict[str, Any]:
        """Everything as numbers, texts, lists and dictionaries."""
        return {
            "recommendation": asdict(self.recommendation),
            "figures": [asdict(figure) for figure in self.figures],
            "chance": asdict(self.chance),
            "measurement": asdict(self.measurement) | {"protocol": str(self.measurement)},
            "seconds": self.seconds,
        }

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Save the picture: mAP against bits, with intervals (PNG; needs matplotlib)."""
        from ..plot._axes import save_png

        save_png(self._page(), path)

    def _page(self) -> Any:
        from .. import plot
        from ..plot._axes import bare_page

        page = bare_page(9.6, 6.0)
        plot.advice(self, ax=page.add_subplot())
        return page

    def _repr_html_(self) -> str:
        from ._page import html

        return html(self)

    def __str__(self) -> str:
        from ._text import text

        return text(self)
