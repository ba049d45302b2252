"""What a model remembers of the rows it was fitted on, so that `encode` can say when other rows come.

Another embedding model upstream, a forgotten normalization or columns in another order give codes that look
fine and find nothing. Each moves rows out of the range of those that the fit has seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._forms import Form, check_forms
from .._types import Array, Bools, Floats
from ..rows import Rows

__all__ = ["Seen", "Watch"]

SOME, NUMBERS = 2048, 20_000_000  # rows that are looked at, and numbers in them at most
FEWEST = 40  # rows below which nothing is remembered
MARGIN = 1.05  # rows may leave the range of those seen by 5 %
FARTHEST = 100.0  # of a squared deviation: one column alone does not decide
FLOOR = 0.01  # of the typical spread: constant columns have this one
AT_ONCE, ENOUGH = 16, 16  # rows of a call that are compared, and rows before anything is said
FORMS = {
    "mean": Form("f4", "p"),
    "spread": Form("f4", "p", 0),
    "lengths": Form("f8", "2", 0),
    "farthest": Form("f8", "1", 0),
}


@dataclass(frozen=True, eq=False)
class Seen:
    """Means and spreads (p,) of columns, the shortest and the longest row, and the largest mean of squared
    deviations of a row, counted in spreads."""

    mean: Array
    spread: Array
    lengths: Floats
    farthest: float

    @classmethod
    def of(cls, rows: Rows) -> Seen | None:
        """From at most 2,048 rows, evenly spread; None for fewer than 40.

        Half of them give means and spreads, the other half shows how far honest rows are from these.
        """
        n = min(len(rows), SOME, max(FEWEST, NUMBERS // max(1, rows.shape[1])))
        if n < FEWEST:
            return None
        some = rows.read(np.unique(np.linspace(0, len(rows) - 1, n).astype(np.int64)))
        with np.errstate(over="ignore", invalid="ignore"):
            mean, spread = some[::2].mean(axis=0), some[::2].std(axis=0)
            lengths = _lengths(some)
            found = cls(
                mean.astype(np.float32),
                spread.astype(np.float32),
                np.array([lengths.min() / MARGIN, lengths.max() * MARGIN]),
                np.inf,
            )
            farthest = MARGIN * float(found._deviations(some[1::2]).max())
        numbers = (found.mean, found.spread, found.lengths, np.array(farthest))
        if not all(np.isfinite(each).all() for each in numbers):
            return None  # columns too large for squares
        return cls(found.mean, found.spread, found.lengths, farthest)

    def far(self, block: Floats) -> tuple[Bools, Floats, Floats]:
        """Which rows (k,) are out of the range of those seen; their lengths and deviations."""
        with np.errstate(over="ignore", invalid="ignore"):
            lengths, deviations = _lengths(block), self._deviations(block)
        low, high = self.lengths
        return ~((lengths >= low) & (lengths <= high) & (deviations <= self.farthest)), lengths, deviations

    def _deviations(self, block: Floats) -> Floats:
        varies = self.spread > 0
        floor = FLOOR * float(np.median(self.spread[varies])) if varies.any() else 1.0
        away = (block - self.mean) / np.maximum(self.spread, floor or 1.0)
        found: Floats = np.minimum(away * away, FARTHEST).mean(axis=1)
        return found

    def arrays(self) -> dict[str, Array]:
        """For a model file."""
        farthest = np.array([self.farthest])
        return {"mean": self.mean, "spread": self.spread, "lengths": self.lengths, "farthest": farthest}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], n_features: int) -> Seen:
        """Undo `arrays`; a stranger may have written them."""
        if check_forms(arrays, FORMS)["p"] != n_features:
            raise ValueError("statistics of other columns")
        return cls(arrays["mean"], arrays["spread"], arrays["lengths"], float(arrays["farthest"][0]))


class Watch:
    """Counts rows that are far from those seen; speaks once, when more than half of at least 16 are."""

    def __init__(self, seen: Seen | None) -> None:
        self.seen, self.done = seen, seen is None
        self.n_rows = self.n_far = 0

    def look(self, rows: Rows) -> str | None:
        """Compare at most 16 of these rows; what to warn of, if anything."""
        if self.done or self.seen is None or not len(rows):
            return None
        some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), AT_ONCE)).astype(np.int64))
        far, lengths, deviations = self.seen.far(rows.read(some))
        self.n_rows, self.n_far = self.n_rows + len(far), self.n_far + int(far.sum())
        if self.n_rows < ENOUGH or 2 * self.n_far <= self.n_rows:
            return None
        self.done = True
        low, high = self.seen.lengths
        return (
            f"{self.n_far} of {self.n_rows} rows are unlike those the model was fitted on. Lengths are "
            f"{np.median(lengths):.3g} here, and were {low * MARGIN:.3g} to {high / MARGIN:.3g}; mean squared "
            f"deviations from the column means are {np.median(deviations):.3g} spreads here, and were at most "
            f"{self.seen.farthest / MARGIN:.3g}. Do they come from the same embedding model, normalized in the "
            "same way, with columns in the same order?"
        )


def _lengths(block: Floats) -> Floats:
    found: Floats = np.linalg.norm(block, axis=1)
    return found
