"""Small data sets, and every hasher in the table as its users would set it up."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from kinhash.files import HASHERS


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


VARIANTS = {"of an energy": {"energy": "lfh"}, "of labels alone": {"looks": 0.0, "trust": 1.0}}
LITERAL = {f"{name}, literal": {"literal": True} for name in ("EMKSH", "EMLFH")}
# Rivals that are slow by design, in fewer rounds: contracts are about what goes in and out.
QUICK = {"FastHash": {"n_rounds": 4, "n_partners": 20}, "MLH": {"n_epochs": 2, "n_pairs": 2000}}
HEADS = ("CRH", "CSQ", "CroVCA", "DPN", "GreedyHash", "HashNet", "MIHash", "OrthoHash", "TALR")
QUICK |= {name: {"n_epochs": 3} for name in HEADS}
METRICS = ("ITML", "MMC", "SDML")  # of metric-learn, which is an extra of kinhash-bench
QUICK |= {name: {"n_pairs": 60} for name in METRICS}
# Every row of the table: ours, and the rivals' where kinhash-bench and what they need is installed.
TABLE = [name for name in HASHERS if name not in METRICS or find_spec("metric_learn")]
ALL = [*TABLE, *(f"EnergyHasher, {name}" for name in VARIANTS), *LITERAL]
OURS = [name for name in ALL if HASHERS[name.partition(",")[0]].__module__.startswith("kinhash.")]


def make(name):
    """A hasher with few bits and a seed: a row of the table, or a way to set one up."""
    table, _, variant = name.partition(", ")
    settings = {"n_bits": 1 if table == "EMSPLH" else 8, "random_state": 0} | QUICK.get(table, {})
    settings |= LITERAL.get(name) or (VARIANTS[variant] if variant else {})
    return clone(HASHERS[table]().set_params(**settings))


def needs_labels(hasher):
    return get_tags(hasher).target_tags.required
