"""An energy is two numbers per pair: the coefficients of a parabola in the inner product of codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .._internal.types import Facts, Floats

__all__ = ["Energy", "Floats", "PairTerms"]


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
        parameters = ", ".join(f"{name}={value!r}" for name, value in sorted(self._parameters().items()))
        return f"{type(self).__name__}({parameters})"

    def _parameters(self) -> Facts:
        return dict(vars(self))
