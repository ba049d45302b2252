"""The paper's methods in our reading: EM-KSH, EM-SPLH, EM-LFH, EM-BRE, EM-ExpH.

Hu, Luo, Lu, Yu. Supervised hashing based on energy minimization. arXiv:1712.00573, 2017. Each is linearized mean
field on one energy, rounded at each bit's mean, with a ridge map from standardized features: the paper's choices
where it states them. Where it is silent or contradicts itself, docs/paper.md says what we chose.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._internal.types import Floats32, Numbers, Seed
from .._internal.validation import check_choice, check_flag, check_integer, check_number
from ..base import Learned
from ..codes import pack_bits
from ..errors import warn
from .energies import BRE, KSH, LFH, SPLH, Energy, ExpH
from .inference import (
    RENORMALIZE,
    ROUNDING,
    WHICH,
    Solution,
    line_slope,
    round_marginals,
    solve_by_columns,
    solve_linearized,
)
from .maps import LinearMap, choose_alpha, first_preparation, standardized_moments
from .method import Method
from .similarity import Training


@dataclass(eq=False, repr=False, kw_only=True)
class PaperMethod(Method):
    """Codes of one energy by mean field, then a ridge map.

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=1000
        Rows sampled as columns of S (m in the paper): its stochastic learning.
    clip : float, default=2.0
        Half-width c of the interval on which the sigmoid is replaced by a line; below 2.5997.
    rounding : {"mean", "median", "half"}, default="mean"
        Where marginals turn into bits; "mean" is the paper's.
    alpha : float, "auto" or "gcv", default="auto"
        Ridge penalty λ_h; "auto" is n/p, and "gcv" where only pairs are known. "gcv" chooses by generalized
        cross-validation.
    anchors : array-like of int, default=None
        Row numbers to use as the sample instead of drawing them.
    standardize : bool, default=True
        Bring every column to mean 0 and deviation 1 (training rows).
    random_state : int or Generator, default=None
    n_jobs : int, default=None
        Threads; results do not depend on it.
    verbose : int, default=0

    Attributes
    ----------
    marginals_ : ndarray of shape (n, n_bits)
        P(bit = 1) of the training rows as inference left them; rows without supervision are NaN.

    Notes
    -----
    Memory beyond X: O(m² + groups·d + p²), a few blocks of rows, and the packed codes.
    """

    n_bits: int = field(default=64, kw_only=False)
    n_anchors: int = 1000
    clip: float = 2.0
    rounding: str = "mean"
    alpha: float | str = "auto"
    anchors: Numbers | None = None
    standardize: bool = True
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int = 0
    _energy: ClassVar[type[Energy]]

    def check_parameters(self) -> None:
        super().check_parameters()
        check_integer("n_anchors", self.n_anchors, 2)
        line_slope(self.clip)
        check_choice("rounding", self.rounding, ROUNDING)
        if isinstance(self.alpha, str):
            check_choice("alpha", self.alpha, ("auto", "gcv"))
        else:
            check_number("alpha", self.alpha, 0.0)
        check_flag("standardize", self.standardize)

    @abstractmethod
    def _infer(self, training: Training) -> Solution:
        """Codes of the sample, and how others follow."""

    def _learn_from(self, training: Training) -> Learned:
        supervision, group = training.supervision, training.supervision.group_of_row
        with training.stages("inference"):
            solution = self._infer(training)
            phi = solution.marginals(solution.group_scores(supervision, training.n_jobs))
            if getattr(self, "literal", False) and solution.readout is not None:
                # Φ = [Φ₁, Φ₂] of algorithm 1: every sampled row is a group of its own and keeps its marginals.
                group = group.copy()
                group[solution.sample.rows] = len(phi) + np.arange(len(solution.means))
                phi = np.concatenate([phi, (1 + solution.means) / 2])
            known = group >= 0
            weights = None if training.weights is None else training.weights[known]
            counts = np.bincount(group[known], weights, len(phi)).astype(np.float64)
            bits, threshold = round_marginals(phi, counts, self.rounding)
        with training.stages("map"):
            table = phi.astype(np.float32)
            guess = first_preparation(training.rows, self.standardize)
            moments = standardized_moments(training, guess, lambda part: table[group[part]], self.standardize)
            chosen = self.alpha if supervision.complete or self.alpha != "auto" else "gcv"
            map_ = LinearMap.fit(moments, choose_alpha(chosen, moments), threshold)
        return Learned(
            map_,
            pack_bits(bits)[group],
            ~known,
            facts={"energy": solution.energies},
            attributes={"_marginals": (table, group)},
        )

    @property
    def marginals_(self) -> Floats32:
        """P(bit = 1) of the training rows (n, d)."""
        check_is_fitted(self, "model_")
        if "_marginals" not in self.__dict__:
            raise AttributeError("marginals_ exist only right after fit")
        table, group = self.__dict__["_marginals"]
        phi: Floats32 = table[group]
        phi[group < 0] = np.nan
        return phi

    def without_training(self) -> Self:
        light: Any = super().without_training()
        light.__dict__.pop("_marginals", None)
        return light


@dataclass(eq=False, repr=False, kw_only=True)
class Linearized(PaperMethod):
    """Linearized mean field on one energy, then a ridge map.

    Parameters
    ----------
    n_sweeps : int, default=None
        Sweeps over the sample (T in the paper, which names 2 to 10 and uses 3 to save time). None is 10 up to 32
        bits, where they are worth .01 to .02 mAP, 5 beyond, where codes settle sooner, and 3 with ``literal``.
    renormalize : {"row", "symmetric", "none"}, default="row"
        "row" is min–max, as in the paper.
    literal : bool, default=False
        Run Algorithm 1 exactly as printed: update all sampled rows at once, and sum over all n rows, whose bits
        are random until the last step. Sampled rows keep their marginals. The codes degenerate; see docs/paper.md.
    n_bits, n_anchors, clip, rounding, alpha, anchors, standardize, random_state, n_jobs, verbose
        As in `PaperMethod`.
    """

    n_sweeps: int | None = None
    renormalize: str = "row"
    literal: bool = False

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.n_sweeps is not None:
            check_integer("n_sweeps", self.n_sweeps, 1)
        check_choice("renormalize", self.renormalize, RENORMALIZE)
        check_flag("literal", self.literal)

    def _infer(self, training: Training) -> Solution:
        sweeps = self.n_sweeps
        if sweeps is None:
            sweeps = 3 if self.literal else 10 if self.n_bits <= 32 else 5
        energy: Energy = LFH(printed=True) if self.literal and self._energy is LFH else self._energy()
        return solve_linearized(
            training.supervision,
            energy,
            self.n_bits,
            training.rng,
            training.weights,
            n_sweeps=sweeps,
            clip=self.clip,
            renormalize=self.renormalize,
            n_anchors=self.n_anchors,
            anchors=self.anchors,
            literal=self.literal,
        )


class EMKSH(Linearized):
    """EM-KSH: inner products of codes equal to ±d, by linearized mean field (paper, algorithm 1)."""

    _energy = KSH


class EMLFH(Linearized):
    """EM-LFH: inner products as log-odds of being similar, under Jaakkola and Jordan's bound."""

    _energy = LFH


class EMBRE(Linearized):
    """EM-BRE: shares of differing bits equal to target distances; graded targets via `fit_similarity`.

    With classes or tags it gives EM-KSH's codes, since its energy is KSH's divided by d².
    """

    _energy = BRE


class EMExpH(Linearized):
    """EM-ExpH: exponential loss of signed inner products, under a touching parabola."""

    _energy = ExpH


@dataclass(eq=False, repr=False, kw_only=True)
class EMSPLH(PaperMethod):
    """EM-SPLH: one bit, the sign of the top eigenvector of S.

    Its energy has no quadratic term, so all bits solve the same problem: further bits equal the first,
    and `fit` warns.

    Parameters
    ----------
    n_bits : int, default=1
    which : {"largest", "literal"}, default="largest"
        "literal" takes the eigenvector of the paper's printed formula, which for seven or more balanced classes
        is the most negative one, and stretches it to [−c, c] by its smallest and largest entry; else it is
        scaled by the largest in size.
    n_anchors, clip, rounding, alpha, anchors, standardize, random_state, n_jobs, verbose
        As in `PaperMethod`.
    """

    n_bits: int = field(default=1, kw_only=False)
    which: str = "largest"
    _energy = SPLH

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("which", self.which, WHICH)

    def _infer(self, training: Training) -> Solution:
        if self.n_bits > 1:
            warn(
                f"An energy without a quadratic term has one bit: all {self.n_bits} bits will be the same. "
                "Use n_bits=1, or another energy."
            )
        return solve_by_columns(
            training.supervision,
            self._energy(),
            self.n_bits,
            training.rng,
            training.weights,
            clip=self.clip,
            which=self.which,
            n_anchors=self.n_anchors,
            anchors=self.anchors,
        )
