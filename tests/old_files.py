"""Contents of model files as versions before whole numbers wrote them, from maps in floating point."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinhash.encoders.expected import ClassSimilarity, ExpectedMap, RegressedSimilarity
from kinhash.encoders.gaussian import Gaussian
from kinhash.encoders.label_models import LINKS
from kinhash.encoders.linear import LinearMap
from kinhash.encoders.periodic import PeriodicMap
from kinhash.encoders.preparation import ColumnsAndRBF
from kinhash.encoders.stacked import StackedMap
from kinhash.encoders.stored_readout import FORMS, KINDS
from kinhash.encoders.trees import TreesMap

Contents = tuple[dict[str, Any], dict[str, Any]]


def of_old(contents: Contents, map_: Any) -> Contents:
    """A whole-number file's contents with the floating-point map that it was rounded from."""
    arrays, header = contents
    labels = {name: array for name, array in arrays.items() if name.startswith("labels.")}
    return {**old_arrays(map_), **labels}, {**header, "map": map_.kind}


def old_arrays(map_: Any) -> dict[str, Any]:
    """The arrays of a map in floating point."""
    if isinstance(map_, StackedMap):
        found = {}
        for place, part in enumerate(map_.parts):
            found |= {f"{place}.kind": letters(part.kind)}
            found |= {f"{place}.{name}": array for name, array in old_arrays(part).items()}
        return found
    found = _prepared(map_.preparation)
    if isinstance(map_, LinearMap):
        return {**found, "weights": map_.weights, "intercept": map_.intercept}
    if isinstance(map_, PeriodicMap):
        return {**found, "weights": map_.weights, "phase": map_.phase}
    if isinstance(map_, TreesMap):
        return {**found, **_trees(map_)}
    assert isinstance(map_, ExpectedMap)
    return {**found, "threshold": map_.threshold, **_expected(map_.expected), **_readout(map_.readout)}


def letters(word: str) -> Any:
    """A word as an array."""
    return np.frombuffer(word.encode(), np.uint8)


def _prepared(preparation: Any) -> dict[str, Any]:
    found = {"mean": preparation.mean, "scale": preparation.scale}
    rbf = preparation.rbf
    if rbf is None:
        return found
    kind = {Gaussian: "gaussian", ColumnsAndRBF: "added"}.get(type(rbf), "rbf")
    found |= {f"{kind}_centers": rbf.centers, f"{kind}_width": np.array([float(rbf.width)])}
    if kind == "rbf" and rbf.power == 1:
        found["rbf_power"] = np.array([1])
    return found


def _trees(map_: TreesMap) -> dict[str, Any]:
    names = ("feature", "threshold", "right", "value")
    joined = {name: np.concatenate([getattr(bit, name) for bit in map_.bits]) for name in names}
    return joined | {
        "edges": map_.steps_.edges,
        "edge_starts": map_.steps_.starts.astype(np.int64),
        "base": np.array([bit.base for bit in map_.bits]),
        "nodes": np.concatenate([np.diff(bit.starts) for bit in map_.bits]).astype(np.int64),
        "trees": np.array([len(bit.starts) - 1 for bit in map_.bits]),
    }


def _expected(expected: Any) -> dict[str, Any]:
    if isinstance(expected, RegressedSimilarity):
        return {"similarity_weights": expected.weights, "similarity_intercept": expected.intercept}
    model = expected.model
    found = {
        "label_weights": model.weights,
        "label_intercept": model.intercept,
        "label_logistic": np.array([LINKS.index(model.link)], np.uint8),
    }
    if isinstance(expected, ClassSimilarity):
        found["anchor_classes"] = expected.classes.astype(np.int32)
        return found | ({} if expected.between is None else {"between": expected.between})
    found |= {"patterns": expected.patterns, "exclusive": np.zeros(1, np.uint8)}
    return found | ({"graded": np.ones(1, np.uint8)} if expected.graded else {})


def _readout(readout: Any) -> dict[str, Any]:
    kind = next(name for name, each in KINDS.items() if type(readout) is each)
    found = {}
    for name, form in FORMS[kind].items():
        value = getattr(readout, name)
        if isinstance(value, str):
            value = letters(value)
        found[f"readout.{kind}.{name}"] = np.array(value, form.dtype, ndmin=1)
    return found
