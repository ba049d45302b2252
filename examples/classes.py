"""Codes from one class per row: learn, save, search, and see how good they are.

python examples/classes.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from kinhash import EnergyHasher, HammingIndex, load
from kinhash.metrics import mean_average_precision


def main() -> float:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, new = order[:1400], order[1400:]

    hasher = EnergyHasher(n_bits=64, random_state=0).fit(X[train], y[train])
    with tempfile.TemporaryDirectory() as folder:
        hasher.save(Path(folder) / "model.kin")
        codes = load(Path(folder) / "model.kin").encode(X[new])

    index = HammingIndex.from_codes(hasher.codes_, ids=train, model_id=hasher.model_id_)
    found = index.search(codes, k=5)
    print(f"a new {y[new[0]]} finds rows {found.ids[0].tolist()}, which are {y[found.ids[0]].tolist()}")

    for name, database in (("learned", hasher.codes_), ("mapped", hasher.encode(X[train]))):
        score = mean_average_precision(codes, database, y[new], y[train])
        print(f"mAP of {len(new)} new digits, {name} database: {score:.3f} (ties: expected value)")
    return score


if __name__ == "__main__":
    main()
