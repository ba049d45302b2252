"""What methods in this room share: `Baseline` has its own map, `Unsupervised` reads no labels.

Packages that add methods subclass them too; see `kinhash.plugins`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from .._internal.types import Facts, Features, Floats, Ints, LabelsLike, Numbers, Seed
from ..codes import pack_bits
from ..encoders import Fitted
from ..errors import InvalidInput
from ..hashers import Hasher
from ..models import Map
from ..supervision import Supervision, Training

__all__ = ["Baseline", "NoSupervision", "Solved", "Unsupervised"]

RowCodes = Floats


@dataclass(frozen=True)
class Solved:
    """What a rival found.

    ``targets`` (n, d) have the learned codes as their signs; None if it has no codes of its own.
    ``map`` is the authors' map; None if that is a ridge onto the targets. ``facts`` go to ``report_``.
    """

    targets: RowCodes | None = None
    map: Map | None = None
    facts: Facts = field(default_factory=dict)


@dataclass(eq=False, repr=False, kw_only=True)
class Baseline(Hasher):
    """A rival with a map of its own. Subclasses implement `_solve`.

    Those with settings of their own are dataclasses, too, with the same options.

    Parameters
    ----------
    n_bits : length of the codes.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.
    """

    n_bits: int = field(default=64, kw_only=False)
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int = 0

    @abstractmethod
    def _solve(self, training: Training) -> Solved:
        """Learn from the training rows; everything that came in has been checked."""

    def _learn(self, training: Training) -> Fitted:
        with training.stages("codes"):
            solved = self._solve(training)
        with training.stages("map"):
            chosen, facts = self._map_of(training, solved)
        codes = None if solved.targets is None else pack_bits(solved.targets > 0)
        return Fitted(chosen, codes, training.supervision.group_of_row, facts=solved.facts | facts)

    def _map_of(self, training: Training, solved: Solved) -> tuple[Map, Facts]:
        """The map of new rows, and what was chosen about it."""
        if solved.map is None:
            raise InvalidInput(
                f"{type(self).__name__} gave no map of its own",
                "a map from a Baseline or an Unsupervised",
                "Return one from _solve",
            )
        return solved.map, {}


class Unsupervised(Baseline):
    """A rival that looks at the features alone: y may be left out, and is not read where it is given."""

    def fit(self, X: Features, y: LabelsLike = None, sample_weight: Numbers | None = None) -> Self:
        """Learn from rows X (n, p); y is there for pipelines only."""
        return self._fit(X, NoSupervision, sample_weight, y)

    def _learn(self, training: Training) -> Fitted:
        return super()._learn(replace(training, supervision=NoSupervision(len(training.rows))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


class NoSupervision(Supervision):
    """Supervision of an unsupervised method: all rows in one group, every similarity unknown."""

    complete = False

    def __init__(self, n_rows: int) -> None:
        self.group_of_row = np.zeros(n_rows, np.int64)
        self.n_groups = 1

    def of_rows(self, rows: Ints) -> NoSupervision:
        return NoSupervision(len(rows))

    def similarity(self, left: Ints, right: Ints) -> RowCodes:
        return np.zeros((len(left), len(right)))

    def product(self, left: Ints, right: Ints, values: RowCodes) -> RowCodes:
        return np.zeros((len(left), values.shape[1]))
