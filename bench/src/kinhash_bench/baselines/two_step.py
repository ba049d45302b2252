"""A rival that learns codes first, then a map onto them: any method's codes combine with any map.

``map="own"`` is what its authors use, "linear" and "rbf" are our ridge maps with the intercept kept, "tuned"
is ridge with features and penalty chosen on held-out rows, and any scikit-learn regressor works too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.errors import InvalidInput, UnknownName
from kinhash.models import Map
from kinhash.paper.maps import (
    LinearMap,
    Preparation,
    PreparedMap,
    choose_alpha,
    prepare_rows,
    standardized_moments,
)
from kinhash.paper.method import Baseline, Solved
from kinhash.paper.similarity import Training
from kinhash.plugins import Array, Floats, Floats32, check_choice, check_integer, check_number

from .features import features_of_name
from .similar_rows import guess_of_rows

__all__ = ["RegressorMap", "RowCodes", "TwoStepBaseline", "fit_row_map", "label_matrix"]

MAP_NAMES = ("own", "linear", "rbf", "tuned")

RowCodes = npt.NDArray[np.float64]


@dataclass(eq=False, repr=False, kw_only=True)
class TwoStepBaseline(Baseline):
    """A rival that learns codes of its training rows, to which any map can be fitted.

    `_solve` gives the targets, and the authors' map where that is no ridge onto them.

    Parameters
    ----------
    n_bits : length of the codes.
    map : "own" (what the authors use); "linear" or "rbf" (our ridge maps onto the learned codes, with an
        intercept); "tuned" (the one of the two, and its penalty, that do best on held-out rows); or a
        scikit-learn regressor, one copy per bit where it needs that.
    alpha : penalty of map="linear" and "rbf": a number, "auto" (n/p; by "gcv" for rbf) or "gcv".
    n_centers : centers of RBF features.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.
    """

    map: Any = "own"
    alpha: float | str = "auto"
    n_centers: int = 1000

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

    def _map_of(self, training: Training, solved: Solved) -> tuple[Map, dict[str, Any]]:
        if solved.targets is None:
            raise InvalidInput(
                f"{type(self).__name__} gave no learned codes",
                "targets (n, d) from a TwoStepBaseline",
                "Return them from _solve, or subclass Baseline",
            )
        if self._chosen == "tuned":
            from .tuned_penalty import fit_tuned_map

            return fit_tuned_map(training, solved.targets)
        if self._chosen == "own" and solved.map is not None:
            return solved.map, {}
        return fit_row_map(training, solved.targets, self.map, self.alpha, self.n_centers), {}

    @property
    def _chosen(self) -> str:
        return self.map if isinstance(self.map, str) else "regressor"


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


def fit_row_map(training: Training, targets: RowCodes, map_: Any, alpha: float | str, n_centers: int) -> Map:
    """A ridge map or a regressor onto targets (n, d) that belong to rows, with the intercept kept."""
    options = features_of_name("rbf" if map_ == "rbf" else "plain", n_centers)
    similarities = options.similarities(training.rows, np.arange(len(targets)), training.rng)
    guess = guess_of_rows(training.rows, similarities)
    if isinstance(map_, str):
        moments = standardized_moments(training, guess, lambda part: targets[part])
        strength = "gcv" if map_ == "rbf" and alpha == "auto" else alpha
        return LinearMap.fit(moments, choose_alpha(strength, moments), np.zeros(targets.shape[1]))
    preparation = standardized_moments(training, guess).preparation
    rows = training.known_rows
    features = prepare_rows(training.rows, preparation, rows, training.n_jobs)
    kept = None if training.weights is None else training.weights[rows]
    return RegressorMap.fit(map_, preparation, features, targets[rows], kept)


@dataclass(frozen=True)
class RegressorMap(PreparedMap):
    """``scores = regressor.predict(z)``; regressors with one output are fitted once per bit.

    Lives in memory only: an arbitrary object cannot be stored in a model file safely. Its arithmetic is its
    own, too: a row gets the same bits in any batch and on any machine where the regressor predicts every row
    by itself in one order (trees, neighbors in a tree), and up to scores within rounding error of zero
    elsewhere.
    """

    regressor: Any
    n_bits: int
    kind: ClassVar[str] = "regressor"

    @classmethod
    def fit(
        cls,
        regressor: Any,
        preparation: Preparation,
        features: Floats32,
        targets: RowCodes,
        weights: Floats | None = None,
    ) -> RegressorMap:
        """Fit a clone of ``regressor`` on prepared features (n, q) and targets (n, d)."""
        from sklearn.base import clone
        from sklearn.multioutput import MultiOutputRegressor
        from sklearn.utils import get_tags

        fitted = clone(regressor)
        if targets.shape[1] > 1 and not get_tags(fitted).target_tags.multi_output:
            fitted = MultiOutputRegressor(fitted)
        values = targets if targets.shape[1] > 1 else targets[:, 0]
        if weights is None:
            fitted.fit(features, values)
        else:
            fitted.fit(features, values, sample_weight=weights)
        return cls(preparation, fitted, targets.shape[1])

    def scores(self, block: Array) -> Array:
        predicted = np.asarray(self.regressor.predict(self.preparation(block)))
        return predicted.reshape(len(block), self.n_bits)
