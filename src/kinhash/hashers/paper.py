"""The paper's methods in our reading: EM-KSH, EM-SPLH, EM-LFH, EM-BRE, EM-ExpH.

Hu, Luo, Lu, Yu. Supervised hashing based on energy minimization. arXiv:1712.00573, 2017. Each is the
linearized solver on one energy, rounded at each bit's mean, with a ridge map from standardized features: the
paper's choices where it states them. Where it is silent or contradicts itself, docs/paper.md says what we
chose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from .._internal.types import Ints, Numbers, Seed
from .._internal.validation import check_flag
from ..encoders import Fitted, Plain, Ridge
from ..energies import ENERGIES, Energy
from ..solvers import GroupCodes, Solution, Solver, round_marginals
from ..supervision import Training
from .stream import StreamPlan
from .streaming import StreamingHasher, require_streamable

__all__ = ["EMBRE", "EMKSH", "EMLFH", "EMSPLH", "EMExpH", "PaperMethod"]


class PaperMethod(StreamingHasher):
    """Linearized mean field on one energy, then a ridge map.

    Parameters
    ----------
    n_bits : length of the codes.
    n_anchors : rows sampled as columns of S (m in the paper).
    n_sweeps : sweeps over the sample (T in the paper, which names 2 to 10 and uses 3 to save time). None is
        10 up to 32 bits, where they are worth .01 to .02 mAP, 5 beyond, where codes settle sooner, and 3 with
        ``literal``.
    clip : half-width c of the interval on which the sigmoid is replaced by a line; below 2.5997.
    renormalize : "row" (min–max, the paper), "symmetric" or "none".
    rounding : "mean" (the paper), "median" or "half".
    alpha : ridge penalty λ_h; "auto" is n/p, "gcv" chooses by generalized cross-validation.
    anchors : row numbers to use as the sample instead of drawing them.
    literal : run Algorithm 1 exactly as printed: update all sampled rows at once, and sum over all n rows,
        whose bits are random until the last step. Sampled rows keep their marginals. The codes
        degenerate; see docs/paper.md.
    standardize : bring every column to mean 0 and deviation 1 (training rows).
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    Memory beyond X: O(m² + groups·d + p²), a few blocks of rows, and the packed codes.
    """

    _energy: ClassVar[str]

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_anchors: int = 1000,
        n_sweeps: int | None = None,
        clip: float = 2.0,
        renormalize: str = "row",
        rounding: str = "mean",
        alpha: float | str = "auto",
        anchors: Numbers | None = None,
        literal: bool = False,
        standardize: bool = True,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_sweeps = n_sweeps
        self.clip = clip
        self.renormalize = renormalize
        self.rounding = rounding
        self.alpha = alpha
        self.anchors = anchors
        self.literal = literal
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        super().check_parameters()
        check_flag("literal", self.literal)
        self._solver().check()
        self._encoder().check()

    def _energy_object(self) -> Energy:
        printed = {"printed": True} if self.literal and self._energy == "lfh" else {}
        return ENERGIES.make(self._energy, **printed)

    def _solver(self) -> Solver:
        from ..solvers import Linearized

        sweeps = self.n_sweeps
        if sweeps is None:
            sweeps = 3 if self.literal else 10 if self.n_bits <= 32 else 5
        return Linearized(
            n_sweeps=sweeps,
            clip=self.clip,
            renormalize=self.renormalize,
            blocks="at_once" if self.literal else "sequential",
            sums="all" if self.literal else "sample",
            merge=False,
            targets="given",
            rounding=self.rounding,
            n_anchors=self.n_anchors,
            anchors=self.anchors,
        )

    def _encoder(self) -> Ridge:
        return Ridge(alpha=self.alpha, features=Plain(standardize=self.standardize))

    def stream_plan(self) -> StreamPlan:
        require_streamable(
            {"literal=False": not self.literal, "rounding other than 'median'": self.rounding != "median"}
        )
        return StreamPlan(self._energy_object(), self._solver(), self._encoder(), self.n_bits)

    def _learn(self, training: Training) -> Fitted:
        supervision = training.supervision
        with training.stages("solver"):
            solution = self._solver().solve(
                supervision, self._energy_object(), self.n_bits, training.rng, training.weights
            )
        if self.literal and solution.readout is not None:
            fitted = self._encoder().fit_codes(training, *self._kept(training, solution))
        else:
            fitted = self._encoder().fit(training, solution)
        return replace(fitted, facts={"energy": solution.minimum.energies, **fitted.facts})

    def _kept(self, training: Training, solution: Solution) -> tuple[GroupCodes, Ints]:
        """Φ = [Φ₁, Φ₂] of algorithm 1: every row of the sample is a group of its own and keeps its marginals.

        Φ is rounded at its mean over all n rows, and the map is fitted to all of Φ.
        """
        supervision = training.supervision
        others = solution.marginals(solution.group_scores(supervision, training.n_jobs))
        own = (1 + solution.minimum.means) / 2
        group = supervision.group_of_row.copy()
        group[solution.sample.rows] = len(others) + np.arange(len(own))
        phi = np.concatenate([others, own])
        known = group >= 0
        weights = None if training.weights is None else training.weights[known]
        counts = np.bincount(group[known], weights, len(phi)).astype(np.float64)
        rounded = round_marginals(phi, counts, self.rounding)
        return GroupCodes(phi, rounded.threshold, rounded.bits, phi), group


class EMKSH(PaperMethod):
    """EM-KSH: inner products of codes equal to ±d, by linearized mean field (paper, algorithm 1)."""

    _energy = "ksh"


class EMLFH(PaperMethod):
    """EM-LFH: inner products as log-odds of being kin, under Jaakkola and Jordan's bound."""

    _energy = "lfh"


class EMBRE(PaperMethod):
    """EM-BRE: shares of differing bits equal to target distances; graded targets via `fit_similarity`.

    With classes or tags it gives EM-KSH's codes, since its energy is KSH's divided by d².
    """

    _energy = "bre"


class EMExpH(PaperMethod):
    """EM-ExpH: exponential loss of signed inner products, under a touching parabola."""

    _energy = "exph"


class EMSPLH(PaperMethod):
    """EM-SPLH: one bit, the sign of the top eigenvector of S.

    Its energy has no quadratic term, so all bits solve the same problem: further bits equal the first,
    and `fit` warns. ``which="literal"`` takes the eigenvector of the paper's printed formula, which
    for seven or more balanced classes is the most negative one, and stretches it to [−c, c] by its smallest
    and largest entry; else it is scaled by the largest in size.
    """

    _energy = "splh"

    def __init__(
        self,
        n_bits: int = 1,
        *,
        n_anchors: int = 1000,
        clip: float = 2.0,
        which: str = "largest",
        rounding: str = "mean",
        alpha: float | str = "auto",
        anchors: Numbers | None = None,
        standardize: bool = True,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_bits,
            n_anchors=n_anchors,
            clip=clip,
            rounding=rounding,
            alpha=alpha,
            anchors=anchors,
            standardize=standardize,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.which = which

    def _solver(self) -> Solver:
        from ..solvers import Columns

        # Rows of one group share their entry of the eigenvector, so merging them loses nothing.
        return Columns(
            clip=self.clip,
            which=self.which,
            targets="given",
            rounding=self.rounding,
            n_anchors=self.n_anchors,
            anchors=self.anchors,
        )
