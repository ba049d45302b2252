"""Methods by the names that tasks use, and estimators that parameters may name."""

from __future__ import annotations

from typing import Any

from .._table import Table
from ..model_file import HASHERS

__all__ = ["RANKINGS", "REGRESSORS", "is_ranking", "make_method", "parameter_names"]

RANKINGS = Table(
    "float ranking",
    {
        "Cosine": "kinhash.evaluation:Cosine",
        "ClassScores": "kinhash.baselines.toplines:ClassScores",
        "LabelModel": "kinhash.bench._topline:LabelModelScores",
        "PredictedClass": "kinhash.baselines.toplines:PredictedClass",
    },
)

# A parameter whose value is "@name" is one of these estimators.
REGRESSORS = Table(
    "estimator",
    {
        "boosted-trees": "kinhash.bench.methods:boosted_trees",
        "boosted-regression-trees": "kinhash.bench.methods:boosted_regression_trees",
    },
)


def is_ranking(name: str) -> bool:
    """Whether a method ranks by floats and so has no length."""
    return name in RANKINGS


def parameter_names(name: str) -> list[str]:
    """What a task may give to a method: all it takes but its length and its seed, which cells have."""
    made = RANKINGS[name] if is_ranking(name) else HASHERS[name]
    return [key for key in made().get_params(deep=False) if key not in ("n_bits", "random_state")]


def make_method(name: str, given: dict[str, Any], n_bits: int | None, seed: int) -> Any:
    """A method as a task names it, unfitted."""
    parameters = {key: _value(value, seed) for key, value in given.items()}
    if is_ranking(name):
        ranking: Any = RANKINGS[name](**parameters)
        return ranking.set_params(random_state=seed) if "random_state" in ranking.get_params() else ranking
    return HASHERS[name](n_bits, random_state=seed, **parameters)


def _value(value: Any, seed: int) -> Any:
    if isinstance(value, str) and value.startswith("@"):
        return REGRESSORS[value[1:]](seed)
    return value


def boosted_trees(seed: int) -> Any:
    """A classifier by boosted trees, for label models."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed, early_stopping=False)


def boosted_regression_trees(seed: int) -> Any:
    """A regressor by boosted trees, for maps: one ensemble per bit."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=seed, early_stopping=False)
