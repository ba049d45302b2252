"""Statistics of the rows of a fit. `encode` compares new rows with them and warns if they differ.

Another embedding model upstream, a forgotten normalization or columns in another order give codes that look
fine and find nothing. Each moves rows away from those that the fit has seen: they are longer or shorter, far
from the means of columns, all of length 1 where hardly any was, or they point elsewhere. Main directions show
the last: most of a row's length lies along few of them, and another model or another order of the columns has
others.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._internal.container import Form, check_forms
from .._internal.rows import Rows
from .._internal.types import Array, Bools, Floats

SOME, NUMBERS = 2048, 20_000_000  # rows that are looked at, and numbers in them at most
FEWEST = 40  # rows below which no limits are remembered
MARGIN = 1.05  # rows may leave the range of those seen by 5 %
FARTHEST = 100.0  # of a squared deviation: one column alone does not decide
N_DIRECTIONS, PASSES = 32, 4  # main directions of the rows, and passes to find them
FEWEST_DIRECTED = 1024  # rows below which directions say too little
GROUP, LOW = 16, 4  # rows of a group of neighbors; their 4th lowest share speaks for the group
NEAR_ONE = 1e-3  # rows this close to length 1 may have been normalized,
RARE = 0.01  # which is odd where so few of those seen were
FLOOR = 0.01  # of the typical spread: constant columns have this one
LAST = 16  # rows of a call that are compared, and rows that decide
ANY = float(np.finfo(np.float64).max)
NO_LIMITS = np.array([0.0, ANY, ANY, 0.0, 1.0])
FORMS = {
    "mean": Form("f4", "p"),
    "spread": Form("f4", "p", 0),
    "directions": Form("i1", "Kp"),
    "limits": Form("f8", "5", 0),
}


@dataclass(frozen=True, eq=False)
class Seen:
    """Means and spreads (p,) of columns, main directions (K, p) of rows, and limits (5,).

    The limits are the shortest and the longest row, the largest mean of squared deviations of a row, counted
    in spreads, the least share of a row along the directions, and the share of rows of length 1.
    """

    mean: Array
    spread: Array
    directions: Array
    limits: Floats

    @classmethod
    def of(cls, rows: Rows, weights: Floats | None = None) -> Seen | None:
        """From at most 2,048 rows with positive weight, evenly spread.

        Limits are measured on half of the rows, with means, spreads and directions of the other half. Of
        fewer than 40 rows only means and spreads are kept, and of fewer than 1,024 no directions. None where
        columns are too large to square.
        """
        counted = np.arange(len(rows)) if weights is None else np.flatnonzero(weights > 0)
        n = min(len(counted), SOME, max(FEWEST, NUMBERS // max(1, rows.shape[1])))
        chosen = counted[np.linspace(0, len(counted) - 1, n).astype(np.int64)]
        some, counts = rows.read(chosen), np.ones(n) if weights is None else weights[chosen]
        n_directions = min(N_DIRECTIONS, rows.shape[1] // 2) if n >= FEWEST_DIRECTED else 0
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(some, axis=1)
            if not np.isfinite(lengths).all():
                return None
            found = cls._of(some, counts, n_directions)
            if n >= FEWEST:
                others = some[1::2]
                _, away, shares = cls._of(some[::2], counts[::2], n_directions).measures(others)
                least = _least_of_groups(others, shares) if n_directions else 0.0
                ends = lengths.min() / MARGIN, lengths.max() * MARGIN
                limits = np.array([*ends, MARGIN * away.max(), least, _are_one(lengths).mean()])
                found = replace(found, limits=limits)
        return found if all(np.isfinite(each).all() for each in found.arrays().values()) else None

    @classmethod
    def _of(cls, some: Floats, counts: Floats, n_directions: int) -> Seen:
        mean = np.average(some, axis=0, weights=counts)
        spread = np.sqrt(np.average((some - mean) ** 2, axis=0, weights=counts))
        directions = _main_directions(_of_length_one(some) * np.sqrt(counts)[:, None], n_directions)
        return cls(mean.astype(np.float32), spread.astype(np.float32), directions, NO_LIMITS)

    def measures(self, block: Floats) -> tuple[Floats, Floats, Floats]:
        """Of rows (k, p): their lengths, mean squared deviations, and shares along the directions."""
        varies = self.spread > 0
        floor = FLOOR * float(np.median(self.spread[varies])) if varies.any() else 1.0
        away = (block - self.mean) / np.maximum(self.spread, floor or 1.0)
        along = _of_length_one(block) @ self._along
        deviations: Floats = np.minimum(away * away, FARTHEST).mean(axis=1)
        return np.linalg.norm(block, axis=1), deviations, (along * along).sum(axis=1)

    def far(self, block: Floats) -> tuple[Bools, str]:
        """Which rows (k,) are unlike those seen, and what is out of range for the median of them."""
        shortest, longest, farthest, least, normalized = self.limits.tolist()
        with np.errstate(over="ignore", invalid="ignore"):
            lengths, deviations, shares = self.measures(block)
        ones = _are_one(lengths) if normalized < RARE else np.zeros(len(block), bool)
        like = (lengths >= shortest) & (lengths <= longest) & (deviations <= farthest) & (shares >= least)
        length, share, said = float(np.median(lengths)), float(np.median(shares)), []
        if not shortest <= length <= longest:
            ends = f"{shortest * MARGIN:.3g} to {longest / MARGIN:.3g}"
            said.append(f"they are {length:.3g} long, and those were {ends}")
        elif ones.mean() > 0.5:
            said.append("they are of length 1, and those were not")
        if not np.median(deviations) <= farthest:
            said.append("they are farther from the means of the columns than any of those")
        if not share >= least:
            said.append(
                f"{share:.0%} of a row lies along the main directions of those, and {least:.0%} or more did"
            )
        said = said or ["each by its length, its distance from the means or its direction"]
        return ~like | ones, "; ".join(said)

    @cached_property
    def _along(self) -> Floats:
        return np.ascontiguousarray(_of_length_one(self.directions.astype(np.float64)).T)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays for a model file."""
        return {name: getattr(self, name) for name in FORMS}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], n_features: int) -> Seen:
        """Undo `arrays`. Raises ValueError if they are malformed."""
        if check_forms(arrays, FORMS)["p"] != n_features:
            raise ValueError("statistics of other columns")
        return cls(**arrays)


class Watch:
    """Compares new rows with those of the fit, and reports once if more than half of the last 16 differ."""

    def __init__(self, seen: Seen | None) -> None:
        self.seen, self.last = seen, deque[bool](maxlen=LAST)

    def look(self, rows: Rows) -> str | None:
        """Compare at most 16 of these rows, and return the text of a warning or None."""
        if self.seen is None or not len(rows):
            return None
        some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), LAST)).astype(np.int64))
        far, reasons = self.seen.far(rows.read(some))
        self.last.extend(far.tolist())
        n_far = sum(self.last)
        if len(self.last) < LAST or 2 * n_far <= LAST:
            return None
        self.seen = None
        return (
            f"{n_far} of the last {LAST} rows looked at are unlike those the model was fitted on: {reasons}. "
            "Do they come from the same embedding model, normalized in the same way, with columns in the "
            "same order? If so, they are about something other than the rows of the fit: look at the "
            "answers, and fit again with some of them."
        )


def _are_one(lengths: Floats) -> Bools:
    return np.abs(lengths - 1) < NEAR_ONE


def _of_length_one(block: Floats) -> Floats:
    """Rows divided by their lengths; rows of zeros stay zero."""
    lengths = np.linalg.norm(block, axis=1, keepdims=True)
    return block / np.where(lengths > 0, lengths, 1.0)


def _main_directions(block: Floats, n: int) -> Array:
    """Directions (n, p) along which rows are longest, by the power method, rounded to int8."""
    found = np.random.default_rng(0).normal(size=(block.shape[1], n))
    for _ in range(PASSES if n else 0):
        found = np.linalg.qr(block.T @ (block @ found))[0]
    largest = np.abs(found).max(axis=0, initial=0.0)
    return np.rint(found / np.where(largest > 0, largest, 1.0) * 127).T.astype(np.int8)


def _least_of_groups(block: Floats, shares: Floats) -> float:
    """The lowest share of a group of rows that may come in one batch: neighbors, the longest, the shortest.

    Batches are often of one class, or sorted. The fourth lowest of 16 shares speaks for a group, while half
    the rows of a batch must be below the limit before anything is said.
    """
    some = _of_length_one(block)
    near = np.argpartition(-(some @ some.T), GROUP, axis=1)[:, :GROUP]
    by_length = np.argsort(np.linalg.norm(block, axis=1), kind="stable")
    groups = np.vstack([near, by_length[:GROUP], by_length[-GROUP:]])
    return min(1.0, float(np.sort(shares[groups], axis=1)[:, LOW - 1].min()))
