"""Small data sets, and every hasher in the tables as its users would set it up."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils import get_tags

from kinhash.model_file import HASHERS


def classes(n=90, p=6, k=5, seed=0):
    """Rows around k centres, and their classes."""
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
    "linear": {"map": "linear"},
    "rbf": {"map": "rbf", "n_centers": 20},
    "coordinate": {"solver": "coordinate", "map": "linear"},
    "coordinate, expected": {"solver": "coordinate"},
    "linearised": {"solver": "linearised", "map": "linear"},
    "mean field": {"solver": "mean_field", "map": "linear"},
    "lean": {"solver": "coordinate", "map": "linear", "lean": 0.1},
    "lfh": {"energy": "lfh"},
    "open set": {"open_set": True, "n_bits": 16},
    "ridge labels": {"label_model": "ridge"},
    "classifier": {"label_model": LogisticRegression(max_iter=500)},
    "regressor": {"map": KNeighborsRegressor(3)},
    "paper": {"preset": "paper"},
    "paper-literal": {"preset": "paper-literal"},
}
# The rivals' codes with our map, once for classes' codes and once for codes of rows.
RIVALS_CODES = {"COSDISH, expected": {"map": "expected"}, "LFH, expected": {"map": "expected"}}
# Rivals that are slow by design, in fewer rounds: contracts are about what goes in and out.
QUICK = {"FastHash": {"n_rounds": 4, "n_partners": 20}, "MLH": {"n_epochs": 2, "n_pairs": 2000}}
TABLE = list(HASHERS)  # every row of the table, ours and the rivals'
ALL = [*TABLE, *(f"EnergyHasher, {name}" for name in VARIANTS), *RIVALS_CODES]


def make(name):
    """A hasher with few bits and a seed: a row of the table, or a way to set up the product."""
    table, _, variant = name.partition(", ")
    settings = {"n_bits": 1 if table == "EMSPLH" else 8, "random_state": 0}
    settings |= QUICK.get(table, {})
    settings |= (RIVALS_CODES.get(name) or VARIANTS[variant]) if variant else {}
    return clone(HASHERS[table]().set_params(**settings))


def learns_codes(hasher):
    """Whether learned codes are a function of the labels: ours are, the rivals' are the map's."""
    return not type(hasher).__module__.startswith("kinhash.baselines")


def needs_labels(hasher):
    return get_tags(hasher).target_tags.required


def with_known(hasher, **parameters):
    """Set those parameters the hasher has."""
    known = hasher.get_params()
    return hasher.set_params(**{name: value for name, value in parameters.items() if name in known})
