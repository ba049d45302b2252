"""What the rivals share: our contract, and a map that can be chosen apart from the codes.

Any method's learned codes combine with any map: ``map="own"`` is what its authors use, "linear" and "rbf" are
our ridge maps with the intercept kept, "expected" is our expected supervision, and any scikit-learn
regressor works too.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._check import check_choice, check_integer, check_number
from ..codes import pack_bits
from ..encoders import Fitted, Map
from ..encoders.features import RBF, Plain, first_preparation
from ..errors import InvalidInput, UnknownName
from ..hashers.base import Hasher
from ..supervision import Supervision
from ..training import Training
from ._expected import fit_expected_map, require_labels

__all__ = ["Baseline", "Nothing", "RowCodes", "Solved", "Unsupervised", "fit_row_map", "label_matrix"]

MAP_NAMES = ("own", "linear", "rbf", "expected")

RowCodes = npt.NDArray[np.float64]
Solved = (
    tuple[RowCodes | None, Map | None] | tuple[RowCodes | None, Map | None, dict[str, Any]]
)  # targets, own map, facts


class Baseline(Hasher):
    """A rival. Subclasses implement `_solve`, and have a constructor of their own if they have constants.

    Parameters
    ----------
    n_bits : length of the codes.
    map : "own" (what the authors use); "linear" or "rbf" (our ridge maps onto the learned codes, with an
        intercept); "expected" (our label model, and the code that belongs to the similarities it expects:
        classes or tags only); or a scikit-learn regressor, one copy per bit where it needs that.
    alpha : penalty of map="linear" and "rbf": a number, "auto" (n/p; by "gcv" for rbf) or "gcv".
    n_centers : centres of RBF features.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.
    """

    map: Any
    alpha: float | str
    n_centers: int

    def __init__(
        self,
        n_bits: int = 64,
        *,
        map: Any = "own",
        alpha: float | str = "auto",
        n_centers: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.map = map
        self.alpha = alpha
        self.n_centers = n_centers
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        super().check_parameters()
        if isinstance(self.map, str):
            if self.map not in MAP_NAMES:
                raise UnknownName.among("map", self.map, MAP_NAMES)
        elif not hasattr(self.map, "predict"):
            raise InvalidInput(
                f"map is {self.map!r}",
                f"one of {', '.join(MAP_NAMES)}, or a scikit-learn regressor",
                "Pass one",
            )
        check_integer("n_centers", self.n_centers, 1)
        if isinstance(self.alpha, str):
            check_choice("alpha", self.alpha, ("auto", "gcv"))
        else:
            check_number("alpha", self.alpha, 0.0)

    @abstractmethod
    def _solve(self, training: Training) -> Solved:
        """Fitted targets (n, d), whose signs are the learned codes (None if the method has no codes of its
        own), the authors' own map (None if it is a ridge onto those targets), and facts for the report, if
        there are any."""

    def _learn(self, training: Training) -> Fitted:
        name = self.map if isinstance(self.map, str) else "regressor"
        if name == "expected":
            require_labels(training)
        with training.stages("codes"):
            targets, own, *told = self._solve(training)
        group = training.supervision.group_of_row
        facts: dict[str, Any] = {}
        for some in told:
            facts |= some
        with training.stages("map"):
            chosen = own
            if name == "expected" and targets is not None:
                chosen, found = fit_expected_map(training, targets)
                facts |= found
            elif own is None or name != "own":
                chosen = fit_row_map(training, targets, self.map, self.alpha, self.n_centers)
        assert chosen is not None
        codes = None if targets is None else pack_bits(targets > 0)
        return Fitted(chosen, codes, group, facts=facts)


class Unsupervised(Baseline):
    """A rival that looks at the features alone: y may be left out, and is not read where it is given.

    Its map is its own, always: there are no learned codes that another map could be fitted to.
    """

    map = "own"
    alpha = "auto"
    n_centers = 1

    def __init__(
        self,
        n_bits: int = 64,
        *,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows X (n, p); y is there for pipelines only."""
        return self._fit(X, Nothing, sample_weight, y)

    def _learn(self, training: Training) -> Fitted:
        return super()._learn(replace(training, supervision=Nothing(len(training.rows))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


class Nothing(Supervision):
    """No word about who is kin: all rows in one group, every similarity unknown."""

    complete = False

    def __init__(self, n_rows: int) -> None:
        self.group_of_row = np.zeros(n_rows, np.int64)
        self.n_groups = 1

    def similarity(self, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> RowCodes:
        return np.zeros((len(left), len(right)))

    def product(
        self, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64], values: RowCodes
    ) -> RowCodes:
        return np.zeros((len(left), values.shape[1]))


def label_matrix(training: Training, method: str) -> sp.csr_array:
    """The labels as a 0/1 matrix (n, C), empty for unknown rows; an error where there are only pairs."""
    labels = training.supervision.labels
    if labels is None:
        raise InvalidInput(
            f"{method} was given pairs or similarities",
            "classes or tags, since it learns from the label matrix itself",
            "Call fit(X, y), or use a method that learns from pairs, such as EnergyHasher",
        )
    return labels.indicator()


def fit_row_map(
    training: Training, targets: RowCodes | None, map_: Any, alpha: float | str, n_centers: int
) -> Map:
    """A ridge map or a regressor onto targets (n, d) that belong to rows, with the intercept kept."""
    from ..encoders.features import standardised_moments
    from ..encoders.least_squares import choose_alpha
    from ..encoders.linear import LinearMap
    from ..encoders.prepared import prepare_rows
    from ..encoders.regressor import RegressorMap

    if targets is None:
        raise InvalidInput(
            f"map={map_!r} was asked for with a method that has no learned codes",
            "map='own' for such a method",
            "Leave map out",
        )
    options = RBF(n_centers=n_centers) if map_ == "rbf" else Plain()
    preparation = first_preparation(training.rows, options, training.rng)
    if isinstance(map_, str):
        moments = standardised_moments(training, options, preparation, lambda part: targets[part])
        strength = "gcv" if map_ == "rbf" and alpha == "auto" else alpha
        return LinearMap.fit(moments, choose_alpha(strength, moments), np.zeros(targets.shape[1]))
    moments = standardised_moments(training, options, preparation, lambda part: targets[part, :0])
    weights = training.known_weights
    rows = np.arange(len(targets)) if weights is None else np.flatnonzero(weights > 0)
    features = prepare_rows(training.rows, moments.preparation, rows, training.n_jobs)
    kept = None if training.weights is None else training.weights[rows]
    return RegressorMap.fit(map_, moments.preparation, features, targets[rows], kept)
