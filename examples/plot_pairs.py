"""
Only pairs are known
====================

The digits are unknown. Of some pairs it is known whether both are the same digit: "clicked together", "shown, not
clicked".
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

import kinhash

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
left, right = rng.integers(0, 1400, (2, 20_000))
left, right = left[left != right], right[left != right]
verdict = y[left] == y[right]

hasher = kinhash.EnergyHasher(n_bits=32, random_state=0).fit_pairs(X[:1400], left, right, verdict)

# %%
# 397 new rows among themselves. The classes, which the fit never saw, say which pairs are similar.

codes = hasher.encode(X[1400:])
i, j = np.triu_indices(len(codes), 1)
distances, similar = codes[i].distances(codes[j]), y[1400:][i] == y[1400:][j]
axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")[1]
for which, name in ((similar, "same digit"), (~similar, "other digit")):
    axes.hist(distances[which], bins=np.arange(34) - 0.5, density=True, alpha=0.5, label=name)
axes.set(xlabel="distance (differing bits)", ylabel="share of pairs")
axes.legend()

# %%
# How often a similar pair is nearer than a different pair.

score = roc_auc_score(similar, -distances)
print(f"{score:.1%}")
