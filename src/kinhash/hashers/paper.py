"""The paper's methods in our reading: EM-KSH, EM-SPLH, EM-LFH, EM-BRE, EM-ExpH.

Hu, Luo, Lu, Yu. Supervised hashing based on energy minimization. Each is the linearised solver on one
energy, rounded at each bit's mean, with a ridge map from standardised features: the paper's choices
where it states them. Where it is silent or contradicts itself, docs/method.md says what we chose.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ._check import check_choice, check_integer, check_number
from ._hasher import Learned, Training, packed_by_group
from .energies import ENERGIES
from .errors import KinhashWarning
from .learning.features import FeatureOptions, first_preparation
from .learning.streaming import StreamingHasher, StreamPlan, require_streamable

__all__ = ["EMBRE", "EMKSH", "EMLFH", "EMSPLH", "EMExpH", "PaperMethod"]


class PaperMethod(StreamingHasher):
    """Linearised mean field on one energy, then a ridge map.

    Parameters
    ----------
    n_bits : length of the codes.
    n_anchors : rows sampled as columns of S (m in the paper).
    n_sweeps : sweeps over the sample (T in the paper, which names 2 to 10 and uses 3 to save time). None is
        10 up to 32 bits, where they are worth .01 to .02 mAP, 5 beyond, where codes settle sooner, and 3 with
        ``literal``.
    clip : half-width c of the interval on which the sigmoid is replaced by a line; below 2.5997.
    renormalise : "row" (min–max, the paper), "symmetric" or "none".
    rounding : "mean" (the paper), "median" or "half".
    alpha : ridge penalty λ_h; "auto" is n/p, "gcv" chooses by generalised cross-validation.
    anchors : row numbers to use as the sample instead of drawing them.
    literal : Algorithm 1 to the letter: all rows of the sample at once, sums over all n rows whose bits
        stay random until the end, the sample's own marginals kept. It collapses; see docs/method.md.
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
        renormalise: str = "row",
        rounding: str = "mean",
        alpha: float | str = "auto",
        anchors: Any = None,
        literal: bool = False,
        standardize: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_sweeps = n_sweeps
        self.clip = clip
        self.renormalise = renormalise
        self.rounding = rounding
        self.alpha = alpha
        self.anchors = anchors
        self.literal = literal
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        from .inference.linear_systems import RENORMALISE
        from .inference.sigmoid_line import line_slope
        from .rounding import ROUNDING

        super()._check_parameters()
        check_integer("n_anchors", self.n_anchors, 2)
        if self.n_sweeps is not None:
            check_integer("n_sweeps", self.n_sweeps, 1)
        line_slope(self.clip)
        check_choice("renormalise", self.renormalise, RENORMALISE)
        check_choice("rounding", self.rounding, ROUNDING)
        if not isinstance(self.alpha, str):
            check_number("alpha", self.alpha, 0.0)

    @property
    def _printed(self) -> dict[str, Any]:
        return {"printed": True} if self.literal and self._energy == "lfh" else {}

    def _recipe(self) -> Any:
        from .inference.learn import Recipe
        from .inference.linearised import Linearised

        blocks = "at_once" if self.literal else "sequential"
        sweeps = self.n_sweeps
        if sweeps is None:
            sweeps = 3 if self.literal else 10 if self.n_bits <= 32 else 5
        solver = Linearised(sweeps, self.clip, self.renormalise, blocks)
        return Recipe(
            ENERGIES.make(self._energy, **self._printed),
            solver,
            self.n_bits,
            n_anchors=self.n_anchors,
            merge=False,
            sums="all" if self.literal else "sample",
            anchors=None if self.anchors is None else np.asarray(self.anchors),
        )

    def _stream_plan(self) -> StreamPlan:
        require_streamable(
            {"literal=False": not self.literal, "rounding other than 'median'": self.rounding != "median"}
        )
        return StreamPlan(
            self._recipe(), self.rounding, FeatureOptions(standardize=self.standardize), self.alpha
        )

    def _learn(self, training: Training) -> Learned:
        from .inference.learn import infer
        from .learning.ridge_map import fit_ridge_map, group_codes

        supervision = training.supervision
        with training.stages("inference"):
            inferred = infer(supervision, self._recipe(), training.rng, row_weights=training.weights)
            scores = inferred.group_scores(supervision, training.n_jobs)
            codes = group_codes(inferred, scores, supervision.group_weights(training.weights), self.rounding)
        with training.stages("map"):
            options = FeatureOptions(standardize=self.standardize)
            preparation = first_preparation(training.rows, options, training.rng)
            fitted = fit_ridge_map(training, options, preparation, codes, self.alpha)
        facts = {"energy": inferred.solution.energies}
        group, phi, bits = supervision.group_of_row, codes.marginals, codes.bits
        if self.literal and inferred.readout is not None:
            # Algorithm 1 keeps Φ₁: every row of the sample becomes a group of its own.
            own = (1 + inferred.solution.means) / 2
            group = group.copy()
            group[inferred.sample.rows] = len(phi) + np.arange(len(own))
            phi, bits = np.concatenate([phi, own]), np.concatenate([bits, own > codes.threshold])
        return Learned(fitted, packed_by_group(bits, group), group, phi.astype(np.float32), facts)


class EMKSH(PaperMethod):
    """EM-KSH: inner products of codes equal to ±d, by linearised mean field (paper, algorithm 1)."""

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

    Its energy has no quadratic term, so all bits solve the same problem: more bits repeat the first,
    and fitting says so. ``which="literal"`` takes the eigenvector of the paper's printed formula, which
    for seven or more balanced classes is the most negative one.
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
        anchors: Any = None,
        standardize: bool = True,
        random_state: Any = None,
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("which", self.which, ("largest", "literal"))
        if self.n_bits > 1:
            warnings.warn(
                f"EM-SPLH is a one-bit method: its {self.n_bits} bits will all be the same. Use n_bits=1.",
                KinhashWarning,
                stacklevel=4,
            )

    def _recipe(self) -> Any:
        from .inference.columns import Columns

        # Rows of one group share their entry of the eigenvector, so merging them loses nothing.
        return replace(super()._recipe(), solver=Columns(self.clip, self.which), merge=True)
