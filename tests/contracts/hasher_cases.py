"""Small data sets, and every hasher in the tables as its users would set it up."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils import get_tags

from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.features import RBF, Both
from kinhash.encoders.regressor import Regressor
from kinhash.encoders.ridge import Ridge
from kinhash.hashers.model_file import HASHERS
from kinhash.solvers import SOLVERS
from kinhash.solvers.coordinate import Polished
from kinhash.solvers.spectral import Spectral


def classes(n=90, p=6, k=5, seed=0):
    """Rows around k centers, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y], y


def tags(n=90, p=6, t=7, seed=0):
    """Rows that are sums of their tags' directions, and their tag sets."""
    rng = np.random.default_rng(seed)
    y = [set(rng.choice(t, rng.integers(1, 4), replace=False).tolist()) for _ in range(n)]
    Y = np.array([[tag in row for tag in range(t)] for row in y], float)
    return Y @ rng.normal(size=(t, p)) * 2 + rng.normal(size=(n, p)), y


VARIANTS = {
    "ridge": {"encoder": "ridge"},
    "rbf": {"encoder": Ridge(features=RBF(n_centers=20))},
    "expected on rbf": {"encoder": ExpectedLabels(features=RBF(n_centers=20))},
    "expected on both": {"encoder": ExpectedLabels(features=Both(n_centers=20))},
    "coordinate": {"solver": "coordinate", "encoder": "ridge"},
    "coordinate, expected": {"solver": "coordinate"},
    "linearized": {"solver": "linearized", "encoder": "ridge"},
    "mean field": {"solver": "mean_field", "encoder": "ridge"},
    "polished": {"solver": Polished(first=Spectral()), "encoder": "ridge"},
    "lfh": {"energy": "lfh"},
    "alike": {"alike": 0.5, "n_bits": 16},
    "labels alone": {"trust": 1.0, "kinship": "any"},
    "classifier": {"encoder": ExpectedLabels(label_model=LogisticRegression(max_iter=500))},
    "regressor": {"encoder": Regressor(estimator=KNeighborsRegressor(3))},
}
# The rivals' codes with our map, once for classes' codes and once for codes of rows.
RIVALS_CODES = {f"{name}, expected": {"map": "expected"} for name in ("COSDISH", "LFH") if name in HASHERS}
LITERAL = {f"{name}, literal": {"literal": True} for name in ("EMKSH", "EMLFH")}
# Rivals that are slow by design, in fewer rounds: contracts are about what goes in and out.
QUICK = {"FastHash": {"n_rounds": 4, "n_partners": 20}, "MLH": {"n_epochs": 2, "n_pairs": 2000}}
HEADS = ("CSQ", "DPN", "GreedyHash", "HashNet", "MIHash", "OrthoHash", "TALR")
QUICK |= {name: {"n_epochs": 3} for name in HEADS}
METRICS = ("ITML", "MMC", "SDML")  # of metric-learn, which is an extra of kinhash-bench
QUICK |= {name: {"n_pairs": 60} for name in METRICS}
# Every row of the table: ours, and the rivals' where kinhash-bench and what they need is installed.
TABLE = [name for name in HASHERS if name not in METRICS or find_spec("metric_learn")]
ALL = [*TABLE, *(f"EnergyHasher, {name}" for name in VARIANTS), *LITERAL, *RIVALS_CODES]


def make(name):
    """A hasher with few bits and a seed: a row of the table, or a way to set up the product."""
    table, _, variant = name.partition(", ")
    settings = {"n_bits": 1 if table == "EMSPLH" else 8, "random_state": 0}
    settings |= QUICK.get(table, {})
    if variant and table == "EnergyHasher":
        settings["alike"] = 0  # kin bits alone are what most variants are about
    settings |= (RIVALS_CODES | LITERAL).get(name) or VARIANTS[variant] if variant else {}
    return clone(HASHERS[table]().set_params(**settings))


def is_rival(hasher):
    return type(hasher).__module__.startswith(("kinhash.baselines", "kinhash_bench.baselines"))


def of_labels_alone(hasher):
    """The same hasher with learned codes that are a function of the labels. Those of rivals are not."""
    return with_known(hasher, alike=0, trust=1.0)


def needs_labels(hasher):
    return get_tags(hasher).target_tags.required


def with_known(hasher, **parameters):
    """Set those parameters the hasher, or its solver, has."""
    known = hasher.get_params()
    for name, value in parameters.items():
        if name in known:
            hasher.set_params(**{name: value})
        elif "solver" in known and name in SOLVERS["spectral"]().get_params():
            solver = known["solver"]
            if isinstance(solver, str):
                automatic = "spectral" if hasher.energy == "ksh" else "coordinate"
                solver = SOLVERS[automatic if solver == "auto" else solver]()
            hasher.set_params(solver=solver.set_params(**{name: value}))
    return hasher
