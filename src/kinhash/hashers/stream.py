"""Learning from blocks of rows, in any order, with memory that does not grow with their number.

The first block gives the anchors, and with them the codes of every kind of supervision; from then on a
row's code follows from its labels alone, and the ridge map needs only sums. So blocks add up to the
model that one ``fit`` on all rows with the same anchors gives, up to rounding.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Floats
from ..encoders.linear import LinearMap
from ..encoders.moments import Moments, moments_of_block
from ..errors import InvalidInput, KinhashWarning
from ..labels import Labels
from ..rows import Rows
from .anchored import Anchored

__all__ = ["Stream"]


class Stream:
    """What has been learned so far: the codes of the anchors and the moments of all rows.

    Rows wait until a block of the fixed size is full, so the sums do not depend on how rows were handed in.
    """

    def __init__(self, anchored: Anchored, block: int, weight_unit: float = 1.0) -> None:
        self.anchored, self.block, self.weight_unit = anchored, block, weight_unit
        self.moments: Moments | None = None
        self.n_rows = 0
        self.seconds = 0.0
        self.strange: set[Any] = set()  # classes and tags that no anchor has
        self.waiting: list[tuple[Floats, npt.NDArray[np.float32], Floats]] = []

    def add(self, X: Any, labels: Labels, weights: Floats | None) -> None:
        """Take in rows with their labels."""
        self._warn_of_strange(labels)
        scores, place = self.anchored.scores(labels)
        targets = self.anchored.targets(scores).astype(np.float32)
        rows = Rows(X)
        self.n_rows += len(rows)
        w = np.ones(len(rows)) if weights is None else weights
        w = np.where(place >= 0, w, 0.0)
        for start in range(0, len(rows), self.block):
            part = slice(start, min(start + self.block, len(rows)))
            self.waiting.append((rows.read(part), targets[place[part]], w[part]))
            self._sum_full_blocks()

    def _warn_of_strange(self, labels: Labels) -> None:
        """Warn once of classes or tags without an anchor: all of them look alike to the codes."""
        new = _names_in(labels) - _names_in(self.anchored.anchor_labels) - self.strange
        if not new:
            return
        self.strange |= new
        kind = "tags" if labels.is_tags else "classes"
        warnings.warn(
            f"{len(self.strange)} {kind} have no row among the anchors, which come from the first block, so "
            f"they share one code (the first: {sorted(map(str, new))[0]!r}). Start again with a first block "
            "that holds every kind of label, or use fit.",
            KinhashWarning,
            stacklevel=4,
        )

    def finish(self) -> LinearMap:
        """The map of all rows so far. Costs O(p³), whatever their number."""
        return self.anchored.map_of(self._all_moments())

    def learned_scores(self, labels: Labels) -> Floats:
        """Scores (n, d) of rows with these labels; a bit is 1 where its score is above zero."""
        moments = self._all_moments()
        scores, place = self.anchored.scores(labels)
        if (place < 0).any():
            raise InvalidInput(
                "Learned codes were asked for rows whose labels are unknown",
                "labels for every row",
                "Encode rows without labels from their features",
            )
        threshold = self.anchored.threshold(moments.target_sums / moments.weight)
        return (self.anchored.targets(scores) - threshold)[place]

    def _all_moments(self) -> Moments:
        """Full blocks, and the rows that still wait for theirs to fill."""
        if not self.waiting:
            assert self.moments is not None
            return self.moments
        rest = self._moments_of(*(np.concatenate(column) for column in zip(*self.waiting, strict=True)))
        return rest if self.moments is None else self.moments.merge(rest)

    def _sum_full_blocks(self) -> None:
        while sum(len(rows) for rows, _, _ in self.waiting) >= self.block:
            x, t, w = (np.concatenate(column) for column in zip(*self.waiting, strict=True))
            full = self._moments_of(x[: self.block], t[: self.block], w[: self.block])
            self.moments = full if self.moments is None else self.moments.merge(full)
            self.waiting = (
                [(x[self.block :], t[self.block :], w[self.block :])] if len(x) > self.block else []
            )

    def _moments_of(self, x: Floats, t: Any, w: Floats) -> Moments:
        return moments_of_block(self.anchored.preparation, x, t, None if (w == 1).all() else w)


def _names_in(labels: Labels) -> set[Any]:
    """Classes or tags that some row has."""
    return set(labels.names[np.unique(labels.indicator().indices)].tolist())
