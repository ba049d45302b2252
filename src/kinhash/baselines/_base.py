"""What the rivals share: our contract, and a map that can be chosen apart from the codes.

Any method's learned codes combine with any map: ``map="own"`` is what its authors use, "linear" and "rbf" are
our ridge maps with the intercept kept, and any scikit-learn regressor works too.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from .._check import check_integer, check_number
from .._hasher import Hasher, Learned, Training
from ..codes import pack_bits
from ..errors import InvalidInput, UnknownName
from ..learning.features import FeatureOptions, first_preparation
from ..maps import Map

__all__ = ["Baseline", "RowCodes"]

MAP_NAMES = ("own", "linear", "rbf")

RowCodes = npt.NDArray[np.float64]


class Baseline(Hasher):
    """A rival. Subclasses implement `_codes` (learned targets per row) and, for their own map, `_own_map`.

    Subclasses store ``map``, ``alpha``, ``n_centers``, ``random_state``, ``n_jobs`` and ``verbose`` as they come.
    """

    map: Any
    alpha: float | str
    n_centers: int

    def _check_parameters(self) -> None:
        super()._check_parameters()
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
        if not isinstance(self.alpha, str):
            check_number("alpha", self.alpha, 0.0)

    @abstractmethod
    def _solve(self, training: Training) -> tuple[RowCodes | None, Map | None]:
        """Learned targets (n, d), whose signs are the learned codes (None if the method has no codes of its
        own), and the authors' own map (None if it is a ridge onto those targets)."""

    def _learn(self, training: Training) -> Learned:
        with training.stages("codes"):
            targets, own = self._solve(training)
        group = training.supervision.group_of_row
        with training.stages("map"):
            chosen = own
            if own is None or not (isinstance(self.map, str) and self.map == "own"):
                chosen = fit_row_map(training, targets, self.map, self.alpha, self.n_centers)
        assert chosen is not None
        codes = None if targets is None else pack_bits(targets > 0)
        return Learned(chosen, codes, group)


def fit_row_map(
    training: Training, targets: RowCodes | None, map_: Any, alpha: float | str, n_centers: int
) -> Map:
    """A ridge map or a regressor onto targets (n, d) that belong to rows, with the intercept kept."""
    from ..learning.features import known_weights, standardised_moments
    from ..maps.linear import LinearMap
    from ..maps.prepared import prepare_rows
    from ..maps.regressor import RegressorMap
    from ..maps.ridge import choose_alpha

    if targets is None:
        raise InvalidInput(
            f"map={map_!r} was asked for with a method that has no learned codes",
            "map='own' for such a method",
            "Leave map out",
        )
    options = FeatureOptions("rbf" if map_ == "rbf" else "plain", n_centers=n_centers)
    preparation = first_preparation(training, options, training.rng)
    if isinstance(map_, str):
        moments = standardised_moments(training, options, preparation, lambda part: targets[part])
        strength = "gcv" if map_ == "rbf" and alpha == "auto" else alpha
        return LinearMap.fit(moments, choose_alpha(strength, moments), np.zeros(targets.shape[1]))
    moments = standardised_moments(training, options, preparation, lambda part: targets[part, :0])
    weights = known_weights(training)
    rows = np.arange(len(targets)) if weights is None else np.flatnonzero(weights > 0)
    features = prepare_rows(training.rows, moments.preparation, rows, training.n_jobs)
    kept = None if training.weights is None else training.weights[rows]
    return RegressorMap.fit(map_, moments.preparation, features, targets[rows], kept)
