"""
Queries with margins
====================

If the score of a bit is near zero, the bit is uncertain. With ``margins=True``, `hasher.search` lets the bits of a query
count by how firmly it has them: the database stays bits, and fewer rows tie.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import kinhash

X, y = load_digits(return_X_y=True)
hasher = kinhash.EnergyHasher(n_bits=24, random_state=0).fit(X[:1400], y[:1400])
index = kinhash.HammingIndex.from_codes(hasher.encode(X[:1400]))

# %%
# The margins of one digit.

margins = hasher.decision_function(X[1400:1401])[0]
axes = plt.subplots(figsize=(7, 2.8), layout="constrained")[1]
axes.bar(range(24), margins / np.abs(margins).max(), color="#1a7f5a")
axes.set(xlabel="bit", ylabel="margin (largest = 1)")
axes.spines[["top", "right"]].set_visible(False)

# %%
# Among its ten nearest, how many distances are different?

for margins in (False, True):
    found = hasher.search(index, X[1400:], k=10, margins=margins)
    different = np.mean([len(np.unique(one)) for one in found.distances])
    right = (y[found.ids] == y[1400:, None]).mean()
    print(
        f"margins={margins!r:5}: {different:4.1f} different distances in ten, {right:.3f} of the same class"
    )
