"""Learning from blocks of rows, in any order, with memory that does not grow with their number.

The first block gives the anchors, and with them the codes of every kind of supervision; from then on a
row's code follows from its labels alone, and the ridge map needs only sums. So blocks can be summed anywhere,
and they add up to the model that one ``fit`` on all rows with the same anchors gives, up to rounding.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from .._internal.rows import Rows
from .._internal.types import Features, Floats, Floats32, Ints, Rng
from ..encoders import (
    LinearMap,
    Moments,
    Preparation,
    Ridge,
    choose_alpha,
    feature_map,
    first_preparation,
    moments_of_block,
)
from ..energies import Energy
from ..errors import InvalidInput, KinhashWarning
from ..models import Seen
from ..solvers import Solution, Solver
from ..supervision import Labels, from_labels

__all__ = ["Anchored", "Stream", "StreamPlan"]


@dataclass(frozen=True)
class StreamPlan:
    """Settings with nothing left to choose: a solver that turns its own codes, and a ridge encoder."""

    energy: Energy
    solver: Solver
    encoder: Ridge
    n_bits: int
    kinship: str = "any"


@dataclass(frozen=True)
class Anchored:
    """Fixed settings with their anchors solved: targets of any labels, and the map of any moments."""

    plan: StreamPlan
    solution: Solution
    anchor_labels: Labels
    preparation: Preparation
    seen: Seen | None = None

    @classmethod
    def of(cls, plan: StreamPlan, labels: Labels, weights: Floats | None, rows: Rows, rng: Rng) -> Anchored:
        """Anchors drawn among rows with these labels; ``rows`` (these or others) give first statistics."""
        supervision = from_labels(labels, kinship=plan.kinship)
        supervision.check(weights)
        solution = plan.solver.solve(supervision, plan.energy, plan.n_bits, rng, weights)
        anchor_labels = labels[solution.sample.one_row_each(supervision.group_of_row)]
        features = feature_map(plan.encoder.features)
        preparation = first_preparation(rows, features, rng)
        return cls(plan, solution, anchor_labels, preparation, Seen.of(rows))

    def scores(self, labels: Labels) -> tuple[Floats, Ints]:
        """Scores (g, d) of the distinct labels among these rows, and which each row has (−1 = unknown)."""
        together = from_labels(self.anchor_labels.followed_by(labels), kinship=self.plan.kinship)
        anchors = together.group_of_row[: len(self.anchor_labels)]
        own = together.group_of_row[len(self.anchor_labels) :]
        unique, inverse = np.unique(own[own >= 0], return_inverse=True)
        place = np.full(len(own), -1, np.int64)
        place[own >= 0] = inverse
        readout = self.solution.readout
        assert readout is not None
        if not len(unique):
            return np.zeros((1, self.plan.n_bits)), place
        parts = [
            readout.scores(together.similarity(unique[start : start + 1024], anchors))
            for start in range(0, len(unique), 1024)
        ]
        return np.concatenate(parts), place

    def targets(self, scores: Floats) -> Floats:
        """What the map should predict for rows with these scores."""
        if self.solution.rounding == "zero":
            return self.solution.soft_targets(scores)
        return self.solution.marginals(scores)

    def threshold(self, mean: Floats) -> Floats:
        """Where bits turn, given the mean target of all rows."""
        if self.solution.rounding == "zero":
            return np.zeros_like(mean)
        return mean if self.solution.rounding == "mean" else np.full_like(mean, 0.5)

    def map_of(self, moments: Moments) -> LinearMap:
        """The map of the rows these moments sum up. Costs O(p³), whatever their number."""
        features = feature_map(self.plan.encoder.features)
        centered = moments.standardized(features.standardize)
        alpha = choose_alpha(self.plan.encoder.penalty(features), centered)
        return LinearMap.fit(centered, alpha, self.threshold(centered.target_mean))


class Stream:
    """What has been learned so far: the codes of the anchors and the moments of all rows.

    Rows wait until a block of the fixed size is full, so the sums do not depend on how rows were handed in.
    """

    def __init__(self, anchored: Anchored, block: int, weight_unit: float = 1.0) -> None:
        self.anchored, self.block, self.weight_unit = anchored, block, weight_unit
        self.moments: Moments | None = None
        self.n_rows = 0
        self.seconds = 0.0
        self.strange: set[object] = set()  # classes and tags that no anchor has
        self.waiting: list[tuple[Floats, Floats32, Floats]] = []

    def add(self, X: Features, labels: Labels, weights: Floats | None) -> None:
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
            block, rest = slice(self.block), slice(self.block, None)
            full = self._moments_of(x[block], t[block], w[block])
            self.moments = full if self.moments is None else self.moments.merge(full)
            self.waiting = [(x[rest], t[rest], w[rest])] if len(x) > self.block else []

    def _moments_of(self, x: Floats, t: Floats32, w: Floats) -> Moments:
        return moments_of_block(self.anchored.preparation, x, t, None if (w == 1).all() else w)


def _names_in(labels: Labels) -> set[object]:
    """Classes or tags that some row has."""
    return set(labels.names[np.unique(labels.indicator().indices)].tolist())
