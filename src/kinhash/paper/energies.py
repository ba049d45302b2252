"""Energies: what a pair of codes costs, given how similar the pair is.

With ``r`` the inner product of two codes of ``d`` bits and ``s`` their similarity in [−1, 1]:

======== ========================== =====================================================================
``ksh``  ``(r − d s)² / 4``         inner products equal to the number of bits, signed
``splh`` ``−s r / 2``               agreement with similar rows: no quadratic term, so one bit
``lfh``  ``−log σ(α s r)``          inner products as log-odds of similarity
``bre``  ``(t − (d − r)/(2d))²``    shares of differing bits equal to target distances ``t = (1 − s)/2``
``exph`` ``exp(−β s r)``            an exponential loss
======== ========================== =====================================================================

Inference sees an energy as a parabola ``linear·r + quadratic·r²`` of each pair. Add one: a subclass of
`Energy` and a row in `ENERGIES`; other packages use the entry point group "kinhash.energies".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .._internal.registry import Table
from .._internal.types import Floats
from ..errors import InvalidInput


@dataclass(frozen=True)
class PairTerms:
    """The parabola ``linear·r + quadratic·r²`` of each pair, up to a constant.

    ``linear`` has the shape of the similarities; ``quadratic`` has it too, or is one number when
    all pairs share it (which is what makes the shared eigendecomposition possible).
    """

    linear: Floats
    quadratic: Floats | float


class Energy(ABC):
    """A pairwise loss of ``r``, the inner product of two codes of ``d`` bits, and their similarity ``s``.

    A subclass says what the loss is and which parabola stands for it. Where the loss is itself a
    parabola, `tangent` is None and ``xi`` is not used. Otherwise the parabola must lie above the
    loss and touch it at ``xi``, and `tangent` names the moment of ``r`` that inference puts there:
    ``"mean"`` is E[r], ``"rms"`` is √E[r²].
    """

    tangent: ClassVar[Literal["mean", "rms"] | None] = None

    @abstractmethod
    def loss(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        """Loss of pairs with inner products ``r`` and similarities ``s``."""

    @abstractmethod
    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> PairTerms:
        """Coefficients of the parabola of each pair."""

    def slope(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        """Derivative of the loss by ``r``: that of the parabola which touches the loss there."""
        xi = {None: None, "mean": r, "rms": np.abs(r)}[self.tangent]
        terms = self.terms(s, n_bits, xi)
        return terms.linear + 2 * terms.quadratic * r

    def shared_quadratic(self, n_bits: int) -> float | None:
        """The quadratic coefficient of all pairs, if there is one and the linear one is affine in s.

        Such energies need one coupling matrix for all rows, and one product per row; others get a system
        of equations per row.
        """
        if self.tangent is not None:
            return None
        terms = self.terms(np.linspace(-1.0, 1.0, 5), n_bits)
        quadratic = np.asarray(terms.quadratic, np.float64)
        bent = np.abs(np.diff(terms.linear, n=2)).max() > 1e-9 * np.abs(terms.linear).max()
        return None if bent or np.ptp(quadratic) > 0 else float(quadratic.flat[0])

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in sorted(vars(self).items()))
        return f"{type(self).__name__}({parameters})"


@dataclass(frozen=True, repr=False)
class KSH(Energy):
    """Energy ``(r − d s)² / 4`` of a pair.

    Expanding the square gives ``r²/4 − d s r / 2`` and a constant. Inference turns that into
    ``A = −offdiag(QᵀQ)`` and ``b = d S Q`` with ``Q = 2 Φ − 1`` (paper, eq. 15).

    Liu, Wang, Ji, Jiang, Chang. Supervised hashing with kernels. CVPR 2012.
    """

    def loss(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        return (r - n_bits * s) ** 2 / 4

    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> PairTerms:
        return PairTerms(linear=-n_bits * s / 2, quadratic=0.25)


@dataclass(frozen=True, repr=False)
class SPLH(Energy):
    """Energy ``−s r / 2`` of a pair.

    No quadratic term couples the bits, so every bit solves the same problem: minimizing over all
    codes gives one bit, repeated. Hence EM-SPLH is a one-bit method.

    Wang, Kumar, Chang. Sequential projection learning for hashing with compact codes. ICML 2010.
    """

    def loss(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        return -s * r / 2

    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> PairTerms:
        return PairTerms(linear=-s / 2, quadratic=0.0)


@dataclass(frozen=True, repr=False)
class LFH(Energy):
    """Energy ``−log σ(α s r)`` of a pair (s = ±1), bounded by a parabola.

    Jaakkola and Jordan's bound ``log σ(x) ≥ x/2 + λ(ξ) x² + const`` with
    ``λ(ξ) = −tanh(ξ/2) / (4ξ)`` touches at ``x = ±ξ``. Here ``x = α r``, and the tightest bound
    under a random code is at ``ξ = α √E[r²]``. The paper prints √(E[r]²), which is never larger;
    ``printed=True`` takes that.
    Graded similarities interpolate between the two verdicts. ``α`` is 1 in the paper we follow
    and ½ in LFH's own.

    Zhang, Zhang, Li, Guo. Supervised hashing with latent factor models. SIGIR 2014.
    """

    alpha: float = 1.0
    printed: bool = False

    @property
    def tangent(self) -> Literal["mean", "rms"]:  # type: ignore[override]
        """Where the bound touches: √E[r²], or ``|E[r]|`` as printed (the bound is even in ξ)."""
        return "mean" if self.printed else "rms"

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            raise InvalidInput(f"LFH's alpha is {self.alpha}", "a positive number", "The paper uses 1")

    def loss(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        x = self.alpha * r
        similar = np.logaddexp(0, -x)
        return similar + (1 - s) / 2 * x  # −log σ(−x) = −log σ(x) + x, mixed by s

    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> PairTerms:
        assert xi is not None
        return PairTerms(
            linear=-self.alpha * s / 2, quadratic=-self.alpha * self.alpha * curvature(self.alpha * xi)
        )


def curvature(xi: Floats) -> Floats:
    """λ(ξ) = −tanh(ξ/2)/(4ξ), with its limit −1/8 at 0."""
    small = np.abs(xi) < 1e-4
    safe = np.where(small, 1.0, xi)
    # Series −1/8 + ξ²/96 keeps full precision where the quotient would be 0/0.
    return np.where(small, -0.125 + xi**2 / 96, -np.tanh(safe / 2) / (4 * safe))


@dataclass(frozen=True, repr=False)
class BRE(Energy):
    """Energy ``(t − (d − r) / (2 d))²`` of a pair with target distance ``t = (1 − s) / 2``.

    With ``s = 1 − 2t`` this is ``(r − d s)² / (4 d²)``: KSH divided by ``d²``. An energy's scale
    does not matter to inference, so with targets 0 and 1 it gives KSH's codes; it earns its place
    with real-valued targets, which are passed as graded similarities ``s`` in [−1, 1].

    Kulis, Darrell. Learning to hash with binary reconstructive embeddings. NIPS 2009.
    """

    def loss(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        target = (1 - s) / 2
        return (target - (n_bits - r) / (2 * n_bits)) ** 2

    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> PairTerms:
        return PairTerms(linear=-s / (2 * n_bits), quadratic=1 / (4 * n_bits**2))


@dataclass(frozen=True, repr=False)
class ExpH(Energy):
    """Energy ``exp(−β s r)`` of a pair, bounded by the parabola that touches it at ``ξ = E[r]``.

    The second-order expansion would dip below the loss. The smallest curvature that keeps the
    parabola above is the largest of ``(ℓ(r) − ℓ(ξ) − ℓ′(ξ)(r − ξ)) / (r − ξ)²`` over the possible
    ``r``; with ``x = −βs(r − ξ)`` that is ``β²s² ℓ(ξ) · (eˣ − 1 − x)/x²``, which rises with ``x``, so
    the largest sits at the end of the range where the loss is largest, ``r = −d sign(s)``.

    Lin, Shen, Suter, van den Hengel. A general two-step approach to learning-based hashing. ICCV 2013.
    The source's constants could not be read; ``β = 1/(2d)`` is our choice.
    """

    beta: float | None = None  # None = 1 / (2 d)
    tangent: ClassVar[Literal["mean"]] = "mean"

    def loss(self, r: Floats, s: Floats, n_bits: int) -> Floats:
        return np.exp(-self._rate(n_bits) * s * r)

    def terms(self, s: Floats, n_bits: int, xi: Floats | None = None) -> PairTerms:
        assert xi is not None
        rate = self._rate(n_bits) * s
        at = np.exp(-rate * xi)
        reach = np.abs(rate) * n_bits + rate * xi  # x at the far end, never negative
        small = np.abs(reach) < 1e-3
        safe = np.where(small, 1.0, reach)
        # (eˣ − 1 − x)/x², with its limit ½ at 0
        second = np.where(small, 0.5 + reach / 6 + reach**2 / 24, (np.expm1(safe) - safe) / safe**2)
        quadratic = rate**2 * at * second
        return PairTerms(linear=-rate * at - 2 * quadratic * xi, quadratic=quadratic)

    def _rate(self, n_bits: int) -> float:
        return 1 / (2 * n_bits) if self.beta is None else self.beta


ENERGIES = Table(
    "energy",
    {
        "bre": "kinhash.paper.energies:BRE",
        "exph": "kinhash.paper.energies:ExpH",
        "ksh": "kinhash.paper.energies:KSH",
        "lfh": "kinhash.paper.energies:LFH",
        "splh": "kinhash.paper.energies:SPLH",
    },
    entry_points="kinhash.energies",
)
