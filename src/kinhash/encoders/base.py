"""Encoders learn maps; a map gives rows their scores, and a bit is 1 where its score is above zero.

The bits of a row are the same on every machine, alone or in any batch. Its scores are not: they agree to
the last digits or so, and only their signs are promised. `Map.decide` keeps the promise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from .._arithmetic import FAST, FIXED, Arithmetic, doubtful_rows
from .._types import Array, Bools, Bytes, Floats, Floats32, Ints
from ..codes import pack_bits
from ..errors import InvalidInput
from ..fields import KIN_ONLY, Fields
from ..solvers import Solution
from ..training import Training

if TYPE_CHECKING:
    from .label_codes import LabelCodes

__all__ = ["Arrays", "Candidate", "Encoder", "Fitted", "HoldOut", "Map", "in_agreement", "select"]

Arrays = dict[str, Array]


class Map(ABC):
    """Scores of rows. Maps made of plain arrays can be stored in a model file."""

    kind: ClassVar[str]
    n_bits: int
    n_features: int

    @property
    def widest(self) -> int:
        """The most numbers that a row becomes on its way to its scores; 0 for no more than it has columns."""
        return 0

    @property
    def takes_float32(self) -> bool:
        """Whether `evaluate` gives rows of float32 the scores it gives the same numbers in float64."""
        return False

    @abstractmethod
    def evaluate(
        self, block: npt.NDArray[np.float64], by: Arithmetic
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
        """Scores (k, d) of raw rows (k, p), and how far FAST scores may be from the FIXED ones.

        The bounds are (k, 1) or (k, d). None says that there is nothing to decide: scores are the same in
        both arithmetics, or are somebody else's, of which we know no bound.
        """

    def scores(self, block: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        """Scores (k, d) of raw rows (k, p); their signs are those of the FIXED scores."""
        return self.decide(block)[0]

    def decide(self, block: npt.NDArray[np.float64]) -> tuple[npt.NDArray[Any], int]:
        """Those scores, and how many rows lay so near zero that they were computed again."""
        scores, bound = self.evaluate(block, FAST)
        if bound is None:
            return scores, 0
        doubtful = doubtful_rows(scores, bound)
        if len(doubtful):
            fixed = self.evaluate(block[doubtful], FIXED)[0]
            if not in_agreement(scores[doubtful], fixed, bound[doubtful]):
                return self.evaluate(block, FIXED)[0].astype(scores.dtype), len(block)
            scores[doubtful] = fixed
        return scores, len(doubtful)

    def arrays(self) -> Arrays:
        """What a model file stores; `from_arrays` undoes it."""
        raise InvalidInput(
            f"A {type(self).__name__} cannot be written to a model file",
            "a map made of plain arrays (linear, rbf, or expected with a logistic label model)",
            "Fit again with one of those, or keep this model with joblib",
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Map:
        """Build the map that `arrays` came from. A stranger may have written them: check them all first."""
        raise InvalidInput(f"A {cls.__name__} is never stored in a model file", "", "Fit it again")


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves: a map, and the learned packed codes (n, bytes) of the training rows.

    Methods without codes of their own leave ``codes`` None. ``group_of_row`` (n,) is −1 for rows without
    supervision, which take the map's code; it points into ``marginals`` (g, d) and into ``scores`` (g, d),
    which the supervision alone gives. ``facts`` go into the report, ``fields`` say how much each bit counts,
    ``labels`` which scores a label has, ``mapped_share`` whether learned and mapped rows mix (see `Codes`),
    ``warnings`` what to warn of.
    """

    map: Map
    codes: Bytes | None = None
    group_of_row: Ints | None = None
    marginals: Floats32 | None = None
    scores: Floats32 | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    fields: Fields = KIN_ONLY
    labels: LabelCodes | None = None
    mapped_share: float | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of_groups(
        cls,
        map: Map,
        bits: Bools,
        marginals: Floats,
        group_of_row: Ints,
        scores: Floats | None = None,
        **facts: Any,
    ) -> Fitted:
        """Every row takes the bits (g, d) of its group: the signs of ``scores``, if there are any."""
        codes = pack_bits(bits)[group_of_row]
        kept = None if scores is None else scores.astype(np.float32)
        return cls(map, codes, group_of_row, marginals.astype(np.float32), kept, facts)


@dataclass(frozen=True)
class HoldOut:
    """Row numbers: ``part`` to fit candidates on, in random order, and ``held`` to compare them by."""

    part: Ints
    held: Ints


@dataclass(frozen=True)
class Candidate:
    """An encoder with nothing left open, fitted on a part of the rows.

    ``losses`` (h,) are those of the held-out rows, ``chance`` (h,) those of not looking at the features;
    ``cost`` ranks candidates by the time they take to encode. ``weights`` (h,) say how much rows count.
    """

    encoder: Encoder
    losses: Floats
    chance: Floats
    cost: int
    weights: Floats | None = None

    def mean(self, losses: Floats) -> float:
        """Weighted mean over the held-out rows."""
        return float(np.average(losses, weights=self.weights))

    def is_better(self, than: Candidate) -> bool:
        """Whether the mean loss is lower by more than one standard error of the paired differences."""
        gains = than.losses - self.losses
        mean, w = self.mean(gains), np.ones(len(gains)) if self.weights is None else self.weights
        return bool(mean > np.sqrt((w**2 * (gains - mean) ** 2).sum()) / w.sum())


class Encoder(BaseEstimator, ABC):
    """Settings of a way to encode new rows: scikit-learn style (``get_params``, ``clone``)."""

    def check(self) -> None:
        """Refuse settings outside their range."""

    def candidates(self, training: Training, split: HoldOut) -> Iterator[Candidate]:
        """What this encoder leaves open, settled in several ways; nothing if all is settled."""
        return iter(())

    @abstractmethod
    def fit(self, training: Training, solution: Solution) -> Fitted:
        """Learn the map from rows to the codes of a solution."""


def in_agreement(fast: Array, fixed: Array, bound: Array) -> bool:
    """Whether fast scores are as near to the fixed ones as they were said to be.

    Errors are a tenth of their bounds or so. Where one comes near, no bound is to be trusted.
    """
    return not (np.abs(fixed - fast) > 0.5 * np.abs(bound)).any()


def select(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names start with ``prefix``, without it."""
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
