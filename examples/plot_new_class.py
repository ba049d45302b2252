"""
A class that nobody labeled
===========================

No row of the digit 7 has a label. Its rows can be in the fit all the same, without labels, where their looks are
learned beside the labels of the others. Or no seven was in the fit at all.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import kinhash

X, y = load_digits(return_X_y=True)
new = np.arange(1400, 1797)
labels = np.array([None if digit == 7 else int(digit) for digit in y[:1400]])
known = np.flatnonzero(y[:1400] != 7)
fits = {"sevens in the fit, unlabeled": (X[:1400], labels), "no sevens in the fit": (X[known], y[known])}
scores = {}
for name, given in fits.items():
    hasher = kinhash.EnergyHasher(n_bits=64, random_state=0).fit(*given)
    found = kinhash.HammingIndex.from_codes(hasher.encode(X[:1400])).search(hasher.encode(X[new]), k=10)
    right = (y[found.ids] == y[new, None]).mean(axis=1)
    scores[name] = [right[y[new] == digit].mean() for digit in range(10)]

# %%
# Share of the ten nearest that are of the query's class. The database holds all digits, sevens too, mapped.

axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")[1]
for shift, (name, heights) in enumerate(scores.items()):
    axes.bar(np.arange(10) + 0.4 * shift - 0.2, heights, 0.38, label=name, hatch="//" * shift, alpha=0.85)
axes.set(
    xticks=range(10), xlabel="class of the query (7 had no label)", ylabel="precision at 10", ylim=(0, 1.02)
)
axes.axvspan(6.5, 7.5, color="0.9", zorder=0)
axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
