"""
Which radius?
=============

All rows within a distance, instead of the nearest ten: precision and recall at every radius, and the largest radius
at which few matches are false. A query that finds nothing counts as precision 0, so the curve begins low.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import kinhash
from kinhash.metrics import precision_recall_curve

X, y = load_digits(return_X_y=True)
hasher = kinhash.EnergyHasher(n_bits=32, random_state=0).fit(X[:1000], y[:1000])
codes, database = hasher.encode(X[1400:]), hasher.encode(X[:1000])
curve = precision_recall_curve(codes, database, y[1400:], y[:1000])

# %%
# Choose the radius on rows that are not the queries.

decision = hasher.decide(X[1000:1400], y[1000:1400], max_false=0.05)
radius = decision.radius
print(decision)

# %%

axes = plt.subplots(figsize=(7, 3.6), layout="constrained")[1]
axes.plot(curve.radius, curve.precision, label="precision", color="#1a7f5a", lw=2)
axes.plot(curve.radius, curve.recall, "--", label="recall", color="#3b5ba5", lw=2)
if radius is not None:
    axes.axvline(radius, color="0.4", lw=1, ls=":")
    axes.text(radius, 0.02, f" radius {radius}", color="0.3")
axes.set(xlabel="radius (distance)", ylim=(0, 1.03), xlim=(0, None))
axes.spines[["top", "right"]].set_visible(False)
axes.legend(loc="center right")
