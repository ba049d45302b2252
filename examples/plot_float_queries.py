"""
Queries with margins
====================

If the score of a bit is near zero, the bit is uncertain. `hasher.search` lets look-alike bits of the query count by
their margins: the database stays bits, and fewer rows tie.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import kinhash

X, y = load_digits(return_X_y=True)
hasher = kinhash.EnergyHasher(n_bits=24, random_state=0).fit(X[:1400], y[:1400])
index = kinhash.HammingIndex.from_codes(hasher.encode(X[:1400]))

# %%
# The margins of one digit: kin bits first, then look-alike bits.

margins = hasher.decision_function(X[1400:1401])[0]
kin = hasher.codes_.fields.kin(24)
axes = plt.subplots(figsize=(7, 2.8), layout="constrained")[1]
axes.bar(range(24), margins / np.abs(margins).max(), color=["#1a7f5a"] * kin + ["#3b5ba5"] * (24 - kin))
axes.set(xlabel="bit", ylabel="margin (largest = 1)")
axes.spines[["top", "right"]].set_visible(False)

# %%
# Among its ten nearest, how many distances are different?

for floats in (None, "alike", "both"):
    found = hasher.search(index, X[1400:], k=10, floats=floats)
    different = np.mean([len(np.unique(one)) for one in found.distances])
    right = (y[found.ids] == y[1400:, None]).mean()
    print(f"floats={floats!r:8}: {different:4.1f} different distances in ten, {right:.3f} of the same class")
