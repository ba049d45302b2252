"""Base class of solvers: settings in, codes of a sample and a readout out.

A solver implements two methods: `Solver.minimize` lowers the energy of a sample of rows, and `Solver.readout`
says how any other row gets its code from its similarities to that sample. `Solver.solve` does the rest, the
same for all: it draws the sample, sets the targets and puts the answer together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from .._internal.blocks import require_memory
from .._internal.numerics import fit_rotation
from .._internal.types import Bools, Floats, Numbers, Rng
from .._internal.validation import check_choice, check_flag, check_integer, check_number
from ..energies import Energy
from ..errors import InvalidInput
from ..supervision import PairSupervision, Supervision
from .problem import Background, DenseProblem, Problem, SparseProblem
from .readout import Embedding, LinearReadout, Readout
from .rounding import ROUNDING, round_marginals
from .sample import TARGETS, Sample, Targets, draw_sample

__all__ = ["GroupCodes", "Minimum", "Solution", "Solver", "SweepingSolver", "random_means"]


@dataclass(frozen=True)
class Minimum:
    """Means q (m, d) of the sample's bits, the energy after each sweep, and the KL divergence if asked for.

    The divergence leaves out ln Z, which no q can change.
    """

    means: Floats
    energies: list[float] = field(default_factory=list)
    divergences: list[float] = field(default_factory=list)

    def facts(self) -> dict[str, object]:
        """For the report of a fit."""
        found: dict[str, object] = {"energy": self.energies}
        return found | {"divergence": self.divergences} if self.divergences else found


@dataclass(frozen=True)
class GroupCodes:
    """Codes of every group: what an encoder should predict (g, d), where its bits turn (d,), bits and φ."""

    targets: Floats
    threshold: Floats
    bits: Bools
    marginals: Floats


@dataclass(frozen=True)
class Solution:
    """Codes of the sample, and a readout for everybody else.

    ``readout`` is None for listed pairs, whose rows are all in the sample: their scores are the means.
    """

    sample: Sample
    n_bits: int
    minimum: Minimum
    readout: Readout | None
    rounding: str = "zero"

    @property
    def facts(self) -> dict[str, object]:
        """For the report of a fit."""
        return self.minimum.facts()

    @property
    def embedding(self) -> Embedding | None:
        """Relaxed codes before rotation, where the solver leaves the rotation to the encoder (spectral)."""
        return self.readout.embedding if isinstance(self.readout, LinearReadout) else None

    def group_scores(self, supervision: Supervision, n_jobs: int | None = None) -> Floats:
        """Scores (groups, d); a bit is 1 where its score is above zero."""
        if self.readout is None:
            return self.minimum.means
        return self.readout.of_groups(supervision, self.sample.groups, n_jobs)

    def marginals(self, scores: Floats) -> Floats:
        """φ of scores."""
        if self.readout is None:
            return (1 + np.clip(scores, -1, 1)) / 2
        return self.readout.marginals(scores)

    def soft_targets(self, scores: Floats) -> Floats:
        """What an encoder should predict: means in (−1, 1) instead of hard bits, worth about .01 mAP."""
        return scores if self.readout is None else self.readout.soft_targets(scores)

    def group_codes(self, scores: Floats, counts: Floats) -> GroupCodes:
        """Round the scores (g, d) of groups that stand for ``counts`` (g,) rows each."""
        phi = self.marginals(scores)
        if self.rounding == "zero":
            return GroupCodes(self.soft_targets(scores), np.zeros(scores.shape[1]), scores > 0, phi)
        rounded = round_marginals(phi, counts, self.rounding)
        return GroupCodes(phi, rounded.threshold, rounded.bits, phi)

    def turned(self, weights: Floats) -> Solution:
        """The same solution with the bits that ``weights`` (r, d) make of relaxed codes."""
        assert self.embedding is not None
        return replace(self, readout=LinearReadout.rotated(self.embedding, weights))

    def rotated_for_itself(self, rng: Rng) -> Solution:
        """The same solution, turned so that the sample's own codes round well."""
        if self.embedding is None:
            return self
        entries, n_rounds = self.embedding.entries, self.embedding.n_rounds
        return self.turned(fit_rotation(entries, self.n_bits, rng, n_rounds, self.sample.weights))


@dataclass(repr=False, kw_only=True)
class Solver(BaseEstimator, ABC):
    """Base of all solvers: scikit-learn style settings (``get_params``, ``clone``).

    Parameters
    ----------
    targets : what inner products should be, made from who is kin; see `kinhash.solvers.sample`.
    rounding : where marginals turn into bits: "zero" (of the score, which keeps how popular an item's labels
        are), or each bit's "mean" (the paper), "median", or "half".
    n_anchors : rows sampled as columns of S; where there are fewer distinct labels, and of classes, all rows
        count.
    anchors : row numbers to use as the sample instead of drawing them.
    """

    targets: str = "mean"
    rounding: str = "zero"
    n_anchors: int = 1000
    anchors: Numbers | None = None

    # What a solver may have as a setting of its own; these hold for those that do not.
    merge = True
    curvature = 1.0
    sums = "sample"
    needs_kin: ClassVar[bool] = False  # entries without any kin, not even their like, are left out

    def check(self) -> None:
        """Raise if a setting is out of range. Subclasses check theirs and call this."""
        check_choice("targets", self.targets, tuple(TARGETS))
        check_choice("rounding", self.rounding, ("zero", *ROUNDING))
        check_integer("n_anchors", self.n_anchors, 2)

    def refuse(self, energy: Energy, n_bits: int) -> None:
        """Raise if this solver does not support the energy."""

    @abstractmethod
    def minimize(self, problem: Problem, rng: Rng, start: Floats | None = None) -> Minimum:
        """Lower the energy from ``start`` (m, d), or from seeded random means."""

    @abstractmethod
    def readout(self, problem: DenseProblem, targets: Targets, minimum: Minimum) -> Readout:
        """Return the readout: scores of rows outside the sample from their similarities to it."""

    def solve(
        self,
        supervision: Supervision,
        energy: Energy,
        n_bits: int,
        rng: Rng,
        row_weights: Floats | None = None,
    ) -> Solution:
        """Draw the sample, minimize its energy, and derive the readout for all other rows.

        Memory: a few (m, m) arrays for m anchors; for listed pairs, the pairs.
        """
        self.check()
        self.refuse(energy, n_bits)
        if isinstance(supervision, PairSupervision):
            return self._solve_listed(supervision, energy, n_bits, rng)
        anchors = None if self.anchors is None else np.asarray(self.anchors)
        sample = draw_sample(
            supervision, self.n_anchors, rng, merge=self.merge, anchors=anchors, row_weights=row_weights
        )
        m = len(sample.groups)
        require_memory(48 * m * m, f"A solver for {m} anchors", "Use solver='spectral', or lower n_anchors")
        similarity = supervision.similarity(sample.groups, sample.groups)
        kin = (similarity > 0).any(axis=1)
        if self.needs_kin and kin.any() and not kin.all():
            sample = Sample(sample.groups[kin], sample.weights[kin], sample.rows)
            similarity = similarity[np.ix_(kin, kin)]
        outside = _background(supervision, sample, n_bits, rng) if self.sums == "all" else None
        weights = self.entry_weights(similarity, sample, n_bits)
        targets = Targets.of(self.targets, similarity, weights)
        problem = DenseProblem(
            energy,
            targets.rows(similarity),
            weights,
            n_bits,
            curvature=self.curvature,
            background=outside,
        )
        minimum = self.minimize(problem, rng)
        readout = self.readout(problem, targets, minimum)
        return Solution(sample, n_bits, minimum, readout, self.rounding)

    def entry_weights(self, similarity: Floats, sample: Sample, n_bits: int) -> Floats:
        """Weight of each entry of the sample: the number of rows it stands for."""
        return sample.weights

    def _solve_listed(self, supervision: PairSupervision, energy: Energy, n_bits: int, rng: Rng) -> Solution:
        """Listed pairs: every row with one is in the sample.

        Most of them are dissimilar, or most are similar; unless targets are to be taken as given, their mean
        says nothing and is taken off.
        """
        everyone = np.arange(supervision.n_groups)
        listed = supervision.among_groups()
        if self.targets != "given":
            listed.data -= listed.data.mean()
        problem = SparseProblem(energy, listed, n_bits, curvature=self.curvature)
        sample = Sample(everyone, np.ones(len(everyone)), supervision.rows)
        return Solution(sample, n_bits, self.minimize(problem, rng), None, self.rounding)


@dataclass(repr=False, kw_only=True)
class SweepingSolver(Solver):
    """Base of solvers that sweep over the sample repeatedly.

    ``curvature`` multiplies the energy's quadratic term. ``merge`` gathers anchors of equal supervision into
    weighted entries. ``sums="all"`` lets rows outside the sample, whose bits stay random, add to the sums,
    as the paper's Algorithm 1 says.
    """

    n_sweeps: int = 10
    curvature: float = 1.0
    merge: bool = True
    sums: str = "sample"

    def check(self) -> None:
        super().check()
        check_integer("n_sweeps", self.n_sweeps, 1)
        check_number("curvature", self.curvature, 0.0, open_low=True)
        check_flag("merge", self.merge)
        check_choice("sums", self.sums, ("sample", "all"))


def random_means(problem: Problem, rng: Rng) -> Floats:
    """φ uniform on (0, 1), so q uniform on (−1, 1)."""
    return rng.uniform(-1.0, 1.0, (problem.n_entries, problem.n_bits))


def _background(supervision: Supervision, sample: Sample, n_bits: int, rng: Rng) -> Background:
    """Rows outside the sample with their random bits: n × d numbers, and one row of S at a time."""
    if supervision.anchors is not None:
        raise InvalidInput(
            "Algorithm 1 to the letter was asked for with similarities to some anchors only",
            "labels, or S for all pairs: its sums run over all rows",
            "Pass the whole S, or do not ask for the letter",
        )
    outside = supervision.group_of_row >= 0
    outside[sample.rows] = False
    q = rng.uniform(-1.0, 1.0, (int(outside.sum()), n_bits))
    groups = supervision.group_of_row[outside]
    by_group = np.zeros((supervision.n_groups, n_bits))
    np.add.at(by_group, groups, q)
    everyone = np.arange(supervision.n_groups)
    unique, inverse = np.unique(sample.groups, return_inverse=True)
    sums = supervision.product(unique, everyone, by_group)[inverse]

    def similarity(entry: int) -> Floats:
        return supervision.similarity(sample.groups[entry : entry + 1], everyone)[0][groups]

    return Background(q, similarity, q.T @ q, sums)
