"""
Which labels are probably wrong?
================================

We change a twentieth of the labels. With ``trust=1`` a learned code follows from the label alone, and a mapped code from
the features: where they are far apart, one of the two is probably wrong. Every row is encoded by a model that was not
trained on it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import kinhash

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
changed = rng.random(len(y)) < 0.05
said = np.where(changed, (y + rng.integers(1, 10, len(y))) % 10, y)

doubt = np.zeros(len(y), int)
for fold in range(3):
    kept = np.arange(len(y)) % 3 != fold
    hasher = kinhash.EnergyHasher(n_bits=32, looks=0, trust=1, random_state=0).fit(X[kept], said[kept])
    doubt[~kept] = hasher.learned_codes(X[~kept], said[~kept]).distances(hasher.encode(X[~kept]))

# %%
# The most doubtful rows, with the given label above each.

ranked = np.argsort(-doubt, kind="stable")
figure, cells = plt.subplots(2, 8, figsize=(9, 2.9), layout="constrained")
for cell, row in zip(cells.flat, ranked, strict=False):
    cell.imshow(X[row].reshape(8, 8), cmap="gray_r")
    cell.set_title(f"“{said[row]}”", color="#d1344b" if changed[row] else "0.2", fontsize=10)
    cell.axis("off")

first = changed[ranked[: changed.sum()]].mean()
print(f"{first:.0%} of the first {changed.sum()} rows are among the {changed.sum()} that were changed.")
