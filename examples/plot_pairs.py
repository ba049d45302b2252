"""
Only pairs are known
====================

Nobody says which digit a row is, only whether two of them are the same: "clicked together", "shown, not clicked".
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

import kinhash

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
left, right = rng.integers(0, 1400, (2, 8000))
left, right = left[left != right], right[left != right]
verdict = y[left] == y[right]

hasher = kinhash.EnergyHasher(n_bits=32, random_state=0).fit_pairs(X[:1400], left, right, verdict)

# %%
# 397 new rows among themselves. The classes, which the fit never saw, say who is kin.

codes = hasher.encode(X[1400:])
kinhash.plot.distances(codes, codes, y[1400:], y[1400:], exclude_self=True)

# %%
# How often a pair of kin is nearer than a pair of strangers.

i, j = np.triu_indices(len(codes), 1)
score = roc_auc_score(y[1400:][i] == y[1400:][j], -codes[i].distances(codes[j]))
print(f"{score:.1%}")
