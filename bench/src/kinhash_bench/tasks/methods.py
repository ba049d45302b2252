"""Methods by the names that tasks use, and estimators that parameters may name."""

from __future__ import annotations

from typing import Any

from kinhash.errors import UnknownName
from kinhash.files import HASHERS, with_settings
from kinhash.plugins import Table

__all__ = ["RANKINGS", "REGRESSORS", "check_given", "is_ranking", "make_method"]

RANKINGS = Table(
    "float ranking",
    {
        "Cosine": "kinhash_bench.protocols:Cosine",
        "ClassScores": "kinhash_bench.baselines.toplines:ClassScores",
        "LabelByte": "kinhash_bench.baselines.label_byte:LabelByte",
        "LabelBytePQ": "kinhash_bench.baselines.label_byte:LabelBytePQ",
        "LDAInt8": "kinhash_bench.baselines.int8:LDAInt8",
        "OPQ": "kinhash_bench.baselines.opq:OPQ",
        "PCAInt8": "kinhash_bench.baselines.int8:PCAInt8",
        "PCARaBitQ": "kinhash_bench.baselines.rabitq:PCARaBitQ",
        "PredictedClass": "kinhash_bench.baselines.toplines:PredictedClass",
    },
)

# A parameter whose value is "@name" is one of these estimators.
REGRESSORS = Table(
    "estimator",
    {
        "boosted-trees": "kinhash_bench.tasks.methods:boosted_trees",
        "boosted-regression-trees": "kinhash_bench.tasks.methods:boosted_regression_trees",
    },
)


def is_ranking(name: str) -> bool:
    """Whether a method ranks by floats and so has no length."""
    return name in RANKINGS


def check_given(name: str, given: dict[str, Any]) -> None:
    """Refuse settings that a method does not have, and those that cells have of their own."""
    method = make_method(name, given, None, 0)
    for own in {"n_bits", "random_state"} & set(given):
        known = set(method.get_params(deep=False)) - {"n_bits", "random_state"}
        raise UnknownName.among(f"parameter of {name}", own, known)


def make_method(name: str, given: dict[str, Any], n_bits: int | None, seed: int) -> Any:
    """A method as a task names it, unfitted."""
    method = RANKINGS[name]() if is_ranking(name) else HASHERS[name]()
    settings = {key: _value(value, seed) for key, value in given.items()}
    if n_bits is not None:
        settings["n_bits"] = n_bits
    if "random_state" in method.get_params(deep=False):
        settings["random_state"] = seed
    return with_settings(method, settings)


def _value(value: Any, seed: int) -> Any:
    if isinstance(value, str) and value.startswith("@"):
        return REGRESSORS[value[1:]](seed)
    return value


def boosted_trees(seed: int) -> Any:
    """A classifier by boosted trees, for toplines."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed, early_stopping=False)


def boosted_regression_trees(seed: int) -> Any:
    """A regressor by boosted trees, for maps: one ensemble per bit."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=seed, early_stopping=False)
