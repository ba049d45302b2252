"""What fixed settings know before the sums begin: the codes of the anchors, and how rows are prepared.

From here on a row's target follows from its labels alone and the ridge map needs only sums, so blocks of
rows can be summed anywhere, in any order, and merged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._types import Floats
from ..encoders.features import feature_map, first_preparation
from ..encoders.least_squares import choose_alpha
from ..encoders.linear import LinearMap
from ..encoders.moments import Moments
from ..encoders.preparation import Preparation
from ..labels import Labels
from ..models import Seen
from ..rows import Rows
from ..solvers import Solution
from ..supervision import from_labels
from .fit_checks import check_supervision
from .streaming import StreamPlan

__all__ = ["Anchored"]


@dataclass(frozen=True)
class Anchored:
    """Fixed settings with their anchors solved: targets of any labels, and the map of any moments."""

    plan: StreamPlan
    solution: Solution
    anchor_labels: Labels
    preparation: Preparation
    seen: Seen | None = None

    @classmethod
    def of(
        cls, plan: StreamPlan, labels: Labels, weights: Floats | None, rows: Rows, rng: np.random.Generator
    ) -> Anchored:
        """Anchors drawn among rows with these labels; ``rows`` (these or others) give first statistics."""
        supervision = from_labels(labels, kinship=plan.kinship)
        check_supervision(supervision, weights)
        solution = plan.solver.solve(supervision, plan.energy, plan.n_bits, rng, weights)
        anchor_labels = labels[solution.sample.one_row_each(supervision.group_of_row)]
        features = feature_map(plan.encoder.features)
        preparation = first_preparation(rows, features, rng)
        return cls(plan, solution, anchor_labels, preparation, Seen.of(rows))

    def scores(self, labels: Labels) -> tuple[Floats, npt.NDArray[np.int64]]:
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
        centred = moments.standardised(features.standardize)
        alpha = choose_alpha(self.plan.encoder.penalty(features), centred)
        return LinearMap.fit(centred, alpha, self.threshold(centred.target_mean))
