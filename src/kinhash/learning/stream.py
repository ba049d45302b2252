"""Learning from blocks of rows, in any order, with memory that does not grow with their number.

The first block gives the anchors, and with them the codes of every kind of supervision; from then on a
row's code follows from its labels alone, and the ridge map needs only sums. So blocks add up to the
model that one ``fit`` on all rows with the same anchors gives, up to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._hasher import check_supervision
from ..errors import InvalidInput
from ..inference.learn import Inferred, infer, soft_targets
from ..labels import Labels
from ..maps.linear import LinearMap
from ..maps.moments import Moments, moments_of_block
from ..maps.ridge import choose_alpha
from ..maps.rows import Rows
from ..supervision import from_labels
from .features import first_preparation
from .streaming import StreamPlan

__all__ = ["Stream"]

Floats = npt.NDArray[np.float64]


class Stream:
    """What has been learned so far: the codes of the anchors and the moments of all rows.

    Rows wait until a block of the fixed size is full, so the sums do not depend on how rows were handed in.
    """

    def __init__(
        self, plan: StreamPlan, X: Any, labels: Labels, weights: Any, rng: np.random.Generator
    ) -> None:
        self.plan = plan
        supervision = from_labels(labels)
        check_supervision(supervision, weights)
        self.inferred: Inferred = infer(supervision, plan.recipe, rng, row_weights=weights)
        sample = self.inferred.sample
        self.anchor_labels = labels[sample.one_row_each(supervision.group_of_row)]
        rows = Rows(X)
        self.block = rows.block_rows()
        self.preparation = first_preparation(rows, plan.features, rng)
        self.moments: Moments | None = None
        self.n_rows = 0
        self.seconds = 0.0
        self.waiting: list[tuple[Floats, npt.NDArray[np.float32], Floats]] = []

    def scores(self, labels: Labels) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Scores (g, d) of the distinct labels among these rows, and which each row has (−1 = unknown)."""
        together = from_labels(self.anchor_labels.followed_by(labels))
        anchors = together.group_of_row[: len(self.anchor_labels)]
        own = together.group_of_row[len(self.anchor_labels) :]
        unique, inverse = np.unique(own[own >= 0], return_inverse=True)
        place = np.full(len(own), -1, np.int64)
        place[own >= 0] = inverse
        readout = self.inferred.readout
        assert readout is not None
        if not len(unique):
            return np.zeros((1, self.plan.recipe.n_bits)), place
        parts = [
            readout.scores(together.similarity(unique[start : start + 1024], anchors))
            for start in range(0, len(unique), 1024)
        ]
        return np.concatenate(parts), place

    def add(self, X: Any, labels: Labels, weights: Floats | None) -> None:
        """Take in rows with their labels."""
        scores, place = self.scores(labels)
        targets = self._targets(scores).astype(np.float32)
        rows = Rows(X)
        self.n_rows += len(rows)
        w = np.ones(len(rows)) if weights is None else weights
        w = np.where(place >= 0, w, 0.0)
        for start in range(0, len(rows), self.block):
            part = slice(start, min(start + self.block, len(rows)))
            self.waiting.append((rows.read(part), targets[place[part]], w[part]))
            self._sum_full_blocks()

    def finish(self) -> LinearMap:
        """The map of all rows so far. Costs O(p³), whatever their number."""
        centred = self._all_moments().standardised(self.plan.features.standardize)
        return LinearMap.fit(
            centred, choose_alpha(self.plan.alpha, centred), self.threshold(centred.target_mean)
        )

    def threshold(self, mean: Floats) -> Floats:
        """Where bits turn, given the mean target of all rows."""
        if self.plan.rounding == "zero":
            return np.zeros_like(mean)
        return mean if self.plan.rounding == "mean" else np.full_like(mean, 0.5)

    def learned_bits(self, labels: Labels) -> npt.NDArray[np.bool_]:
        """Learned bits of rows with these labels."""
        moments = self._all_moments()
        scores, place = self.scores(labels)
        if (place < 0).any():
            raise InvalidInput(
                "Learned codes were asked for rows whose labels are unknown",
                "labels for every row",
                "Encode rows without labels from their features",
            )
        return (self._targets(scores) > self.threshold(moments.target_sums / moments.weight))[place]

    def _all_moments(self) -> Moments:
        """Full blocks, and the rows that still wait for theirs to fill."""
        if not self.waiting:
            assert self.moments is not None
            return self.moments
        rest = self._moments_of(*(np.concatenate(column) for column in zip(*self.waiting, strict=True)))
        return rest if self.moments is None else self.moments.merge(rest)

    def _targets(self, scores: Floats) -> Floats:
        if self.plan.rounding == "zero":
            return soft_targets(self.inferred, scores)
        return self.inferred.marginals(scores)

    def _sum_full_blocks(self) -> None:
        while sum(len(rows) for rows, _, _ in self.waiting) >= self.block:
            x, t, w = (np.concatenate(column) for column in zip(*self.waiting, strict=True))
            full = self._moments_of(x[: self.block], t[: self.block], w[: self.block])
            self.moments = full if self.moments is None else self.moments.merge(full)
            self.waiting = (
                [(x[self.block :], t[self.block :], w[self.block :])] if len(x) > self.block else []
            )

    def _moments_of(self, x: Floats, t: Any, w: Floats) -> Moments:
        return moments_of_block(self.preparation, x, t, None if (w == 1).all() else w)
