"""One fitted hasher for each kind of whole-number model, and rows to encode that try to break it."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from kinhash import EMKSH, EnergyHasher
from kinhash.encoders import ExpectedLabels, Ridge
from kinhash.hashers.model_file import HASHERS
from kinhash.models import WholeMap
from kinhash.models.steps import Columns, Linear, Lookup, Settle, Softmax, Solve, Unit
from kinhash.solvers import Linearized

N_FEATURES, N_CLASSES = 24, 5
MODELS = {
    "classes": lambda: EnergyHasher(48, encoder=ExpectedLabels(features="both"), random_state=0),
    "tags": lambda: EnergyHasher(32, random_state=0),
    "any tag": lambda: EnergyHasher(32, kinship="any", alike=0, random_state=0),
    "ridge": lambda: EnergyHasher(32, encoder="ridge", alike=0, random_state=0),
    "emksh": lambda: EMKSH(32, random_state=0),
    "rbf": lambda: EnergyHasher(32, encoder=Ridge(features="rbf"), alike=0, random_state=0),
    "settle": lambda: EnergyHasher(24, solver="coordinate", alike=0, random_state=0),
    "solve": lambda: EnergyHasher(24, solver="linearized", alike=0, random_state=0),
    "solve, symmetric": lambda: EnergyHasher(
        16, solver=Linearized(renormalize="symmetric"), alike=0, random_state=0
    ),
    "solve, not stretched": lambda: EnergyHasher(
        16, solver=Linearized(renormalize="none"), alike=0, random_state=0
    ),
}
if "SCDH" in HASHERS:  # where kinhash-bench is installed: steps that only rivals have
    MODELS |= {
        "distances not squared": lambda: HASHERS["SCDH"](16, n_centers=100, random_state=0),
        "trees": lambda: HASHERS["FastHash"](8, n_rounds=10, random_state=0),
        "waves": lambda: HASHERS["SpectralHashing"](24, random_state=0),
    }
STEPS = {  # that each kind of model must have
    "classes": {"columns", "relative", "unit", "similarities", "softmax", "linear", "join"},
    "tags": {"lookup", "tags", "linear"},
    "any tag": {"lookup", "tags"},
    "ridge": {"columns", "linear"},
    "emksh": {"linear"},
    "rbf": {"relative", "similarities", "linear"},
    "distances not squared": {"similarities"},
    "trees": {"trees"},
    "waves": {"lookup"},
    "settle": {"settle"},
    "solve": {"solve"},
    "solve, symmetric": {"solve"},
    "solve, not stretched": {"solve"},
}


def some_rows(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Features (n, 24) around the centers of five classes, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, N_CLASSES, n)
    centers = np.random.default_rng(100).normal(size=(N_CLASSES, N_FEATURES))
    return centers[y] + 0.8 * rng.normal(size=(n, N_FEATURES)), y


@functools.cache
def fitted(kind: str) -> Any:
    """A hasher of that kind, fitted on 600 rows."""
    X, y = some_rows(600)
    labels = [{f"t{c}", f"u{c % 2}"} for c in y] if "tag" in kind else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[kind]().fit(X, labels)


def hard_rows(n: int, dtype: Any) -> Any:
    """Rows (n, 24) of which some are zero, huge, tiny, mixed in scale, or sums of few entries."""
    X, _ = some_rows(n, 1)
    rng = np.random.default_rng(2)
    X[0] = 0
    X[1:20] *= 1e30
    X[20:40] *= 1e-30
    X[40:60] *= 10.0 ** rng.integers(-30, 31, (20, N_FEATURES))
    X[60:80] = np.round(X[60:80])
    X[80:100] *= rng.random((20, N_FEATURES)) < 0.1
    X[100:110] = rng.choice([-1, 1], (10, N_FEATURES)) * 3e38
    if np.dtype(dtype) == np.float64:
        X[110:115] *= 1e300
        X[115:120] *= 1e-310  # subnormal
    else:
        X[115:120] *= 1e-42
    return X.astype(dtype)


def expected(hasher: Any, X: Any) -> tuple[Any, Any]:
    """Whole scores and packed codes of rows in Python, without the warning that hard rows get."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hasher.fitted_.map.run(X), hasher.encode(X).packed


def made_by_hand(seed: int = 0) -> dict[str, WholeMap]:
    """Models of one step after the columns, whose arrays reach what fitted ones hardly ever do."""
    rng = np.random.default_rng(seed)
    p, columns = 6, Columns((0,), np.zeros(6), np.ones(6), 2**20)
    small = rng.integers(-3, 4, (p, p))
    table = rng.integers(-1000, 1000, 37).astype(np.int32)
    falling = np.sort(rng.integers(1, 2**24, 50))[::-1].astype(np.int32)
    steps = {
        "around": Lookup((1,), table, 11, 3, 1),
        "held": Lookup((1,), table, -40, 1, 0),
        "shares": Softmax((1,), falling, 2),
        "settled": Settle((1,), (small + small.T).astype(np.int64), 3),
        "not settled": Settle((1,), 1000 * (small + small.T).astype(np.int64), 2),
        "near singular": Solve(
            (1,), (small * 2**14).astype(np.int32), np.full(p, 20.0), np.full(p, 9.0), np.array([1.7]), 0
        ),
    }
    made = {name: WholeMap(p, (columns, step), np.zeros(p, np.int16)) for name, step in steps.items()}
    weights = rng.integers(-5000, 5000, (p, p)).astype(np.int32)
    shift, constant = np.array([-3, -2, -1, 0, 1, 2], np.int16), rng.integers(-9, 9, p)
    for name, before in (("lengths", (Unit((1,), 4096),)), ("no lengths", ())):
        steps_ = (columns, *before, Linear((1 + len(before),), weights, shift, constant))
        made[name] = WholeMap(p, steps_, np.zeros(p, np.int16))
    return made
