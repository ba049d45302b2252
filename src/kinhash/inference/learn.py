"""The one front door: who is kin + a recipe → scores of every group, and a readout for everybody else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..energies import Energy
from ..errors import InvalidInput
from ..supervision import PairSupervision, Supervision
from ._base import Solution, Solver
from .columns import Columns
from .linear_systems import sigmoid
from .problem import Background, DenseProblem, Problem, SparseProblem
from .readout import LinearReadout, PolishReadout, Readout, SolveReadout, VaryingReadout, pull_sums
from .sample import Sample, draw_sample
from .spectral import Spectral, fit_rotation, spectral_basis
from .targets import AnchorSums, Targets

__all__ = ["Inferred", "Recipe", "infer", "infer_sample", "soft_targets"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Recipe:
    """How to learn codes: everything but the data.

    ``merge`` gathers anchors of equal supervision into weighted entries; ``sums="all"`` lets rows outside
    the sample, whose bits stay random, add to the sums as Algorithm 1 says; ``curvature`` is γ.
    """

    energy: Energy
    solver: Solver
    n_bits: int
    targets: str = "given"
    curvature: float = 1.0
    n_anchors: int = 1000
    merge: bool = True
    sums: str = "sample"
    anchors: Ints | None = None


@dataclass(frozen=True)
class Inferred:
    """Codes of the sample and how others follow from them.

    ``readout`` is None for listed pairs, whose rows are all in the sample: their scores are ``means``.
    """

    sample: Sample
    solution: Solution
    readout: Readout | None
    targets: Targets | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def group_scores(self, supervision: Supervision, n_jobs: int | None = None) -> Floats:
        """Scores (groups, d); a bit is 1 where its score is above zero."""
        if self.readout is None:
            return self.solution.means
        return self.readout.of_groups(supervision, self.sample.groups, n_jobs)

    def marginals(self, scores: Floats) -> Floats:
        """φ of scores."""
        if self.readout is None:
            return (1 + np.clip(scores, -1, 1)) / 2
        return self.readout.marginals(scores)


def infer(
    supervision: Supervision,
    recipe: Recipe,
    rng: np.random.Generator,
    *,
    row_weights: Floats | None = None,
    start: Floats | None = None,
    lean: Floats | None = None,
) -> Inferred:
    """Draw the sample and solve it. ``lean`` (groups, d) is a field every group is pulled by."""
    if isinstance(supervision, PairSupervision):
        return _infer_pairs(supervision, recipe, rng, start)
    sample = draw_sample(
        supervision,
        recipe.n_anchors,
        rng,
        merge=recipe.merge,
        anchors=recipe.anchors,
        row_weights=row_weights,
    )
    similarity = supervision.similarity(sample.groups, sample.groups)
    background = None
    if recipe.sums == "all":
        background = _background(supervision, sample, recipe.n_bits, rng)
    field_ = None if lean is None else lean[sample.groups]
    return infer_sample(sample, similarity, recipe, rng, start=start, background=background, lean=field_)


def infer_sample(
    sample: Sample,
    similarity: Floats,
    recipe: Recipe,
    rng: np.random.Generator,
    *,
    start: Floats | None = None,
    background: Background | None = None,
    lean: Floats | None = None,
) -> Inferred:
    """Solve a sample whose similarities (m, m) are known."""
    targets = Targets.of(recipe.targets, similarity, sample.weights)
    problem = DenseProblem(
        recipe.energy,
        targets.rows(similarity),
        sample.weights,
        recipe.n_bits,
        curvature=recipe.curvature,
        field=lean,
        background=background,
    )
    if isinstance(recipe.solver, Spectral):
        return _infer_spectral(sample, problem, targets, recipe.solver, rng)
    if isinstance(recipe.solver, Columns):
        return _infer_columns(sample, problem, targets, recipe.solver, rng)
    solution = recipe.solver.solve(problem, rng, start)
    return Inferred(sample, solution, _readout(recipe, problem, targets, solution), targets)


def _infer_columns(
    sample: Sample, problem: DenseProblem, targets: Targets, solver: Columns, rng: np.random.Generator
) -> Inferred:
    """Rows outside the sample follow by one power step: u_x = Σ_j w_j T_xj u_j / eigenvalue."""
    found = solver.eigenvector(problem, rng)
    step = (sample.weights * found.entries / found.value * solver.clip)[:, None]
    sums = AnchorSums.of(targets, np.tile(step, (1, problem.n_bits)))
    matrix, constant = sums.folded()
    means = np.tile(np.tanh(solver.clip * found.entries / 2)[:, None], (1, problem.n_bits))
    return Inferred(
        sample, Solution(means, [problem.energy(means)]), LinearReadout(matrix, constant, 2.0), targets
    )


def _infer_spectral(
    sample: Sample, problem: Problem, targets: Targets, solver: Spectral, rng: np.random.Generator
) -> Inferred:
    basis = spectral_basis(problem)
    rotation = fit_rotation(basis.embedding, problem.n_bits, rng, solver.n_rounds, sample.weights)
    codes = basis.embedding @ rotation
    scale = float(np.sqrt((codes**2).mean()))
    readout = LinearReadout.of(AnchorSums.of(targets, basis.readout @ rotation), scale)
    energy = problem.energy(np.where(codes > 0, 1.0, -1.0))
    return Inferred(sample, Solution(codes, [energy]), readout, targets, {"rank": basis.embedding.shape[1]})


def _readout(recipe: Recipe, problem: DenseProblem, targets: Targets, solution: Solution) -> Readout:
    q, clip = solution.means, getattr(recipe.solver, "clip", 2.0)
    how = getattr(recipe.solver, "renormalise", "symmetric")
    common = problem.shared(q)
    if common is None:
        return VaryingReadout(recipe.energy, targets, q, problem.weights, clip, how, recipe.curvature)
    matrix, constant = pull_sums(recipe.energy, targets, q, problem.weights).folded()
    if recipe.solver.extension == "solve":
        # Rows outside the sample meet all of it, and only it.
        coupling = DenseProblem(
            recipe.energy, problem.targets, problem.weights, recipe.n_bits, curvature=recipe.curvature
        ).shared(q)
        assert coupling is not None
        return SolveReadout(matrix, constant, coupling[0], clip, how)
    gram = (q * problem.weights[:, None]).T @ q
    polish = PolishReadout(matrix, constant, gram, common[1])
    fields, _ = polish.settle(problem.pull(np.arange(problem.n_entries), q))
    return PolishReadout(matrix, constant, gram, common[1], float(np.abs(fields).mean()) or 1.0)


def _infer_pairs(
    supervision: PairSupervision, recipe: Recipe, rng: np.random.Generator, start: Floats | None
) -> Inferred:
    """Every row with a listed pair is in the sample.

    Listed pairs are mostly strangers, or mostly kin; unless targets are to be taken as given, their mean
    is no news and is taken off.
    """
    everyone = np.arange(supervision.n_groups)
    listed = supervision.among_groups()
    if recipe.targets != "given":
        listed.data -= listed.data.mean()
    problem = SparseProblem(recipe.energy, listed, recipe.n_bits, curvature=recipe.curvature)
    sample = Sample(everyone, np.ones(len(everyone)), supervision.rows)
    solution = recipe.solver.solve(problem, rng, start)
    return Inferred(sample, solution, None)


def _background(
    supervision: Supervision, sample: Sample, n_bits: int, rng: np.random.Generator
) -> Background:
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


def soft_targets(inferred: Inferred, scores: Floats) -> Floats:
    """What a map should predict: means in (−1, 1) instead of hard bits, worth about .01 mAP."""
    if isinstance(inferred.readout, PolishReadout):
        return 2 * sigmoid(2 * scores / inferred.readout.scale) - 1
    return scores
