"""Eigenvectors of the centered similarity, rotated to round well: what a spectral solver alone gives."""

from __future__ import annotations

from dataclasses import dataclass

from kinhash.baselines import Solved
from kinhash.energies import KSH
from kinhash.plugins import Card, Training, check_integer
from kinhash.solvers import Spectral

from .cards import PAIRS
from .two_step import TwoStepBaseline

__all__ = ["EigenITQ"]


@dataclass(eq=False, repr=False, kw_only=True)
class EigenITQ(TwoStepBaseline):
    """Top eigenvectors of the doubly centered S, turned by an ITQ rotation; ridge for new rows.

    Objective: ``min ‖U Uᵀ − d J S J‖²`` over real U (n, d), J taking off the mean; then the rotation of U
    that loses least by taking signs. No discrete optimization at all: a discrete method that does not
    beat this line has not earned its sweeps.

    Rows of equal supervision count as one weighted row. With more than ``n_anchors`` distinct ones, the
    eigenvectors are those of a sample, and the others follow by the usual (Nyström) extension.
    Learns from classes, tags, pairs or similarities. Own map: ridge onto the rotated eigenvectors.

    Parameters
    ----------
    n_bits : length of the codes.
    n_anchors : sampled columns of S.
    map : "own" (= "linear"), "rbf", "expected", or a regressor; see `TwoStepBaseline`.
    alpha : ridge penalty; "auto" is n/p.
    n_centers : centers of map="rbf".
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    Memory beyond X: n_anchors² and 8·n·n_bits bytes.
    """

    card = Card(
        "our own reference: eigenvectors of centered S, rotated",
        PAIRS,
        "ridge",
        "all of it",
    )

    n_anchors: int = 1000

    def check_parameters(self) -> None:
        super().check_parameters()
        check_integer("n_anchors", self.n_anchors, 2)

    def _solve(self, training: Training) -> Solved:
        supervision = training.supervision
        solver = Spectral(rotation="codes", balance=False, targets="centered", n_anchors=self.n_anchors)
        solution = solver.solve(supervision, KSH(), self.n_bits, training.rng, training.weights)
        scores = solution.group_scores(supervision, training.n_jobs)
        return Solved(scores[supervision.group_of_row])
