"""
A check-up for codes
====================

Dead bits never change, twin bits always agree, crowded codes tie. `kinhash.metrics.code_health` says so in words; here
beside a picture of how bits go together.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import kinhash
from kinhash.metrics import code_health
from kinhash.paper import LSH

X, y = load_digits(return_X_y=True)
figure, both = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, method in zip(both, (kinhash.EnergyHasher, LSH), strict=True):
    hasher = method(n_bits=32, random_state=0).fit(X[:1400], y[:1400])
    health = code_health(hasher.encode(X[1400:]))
    image = ax.imshow(health.correlation, cmap="RdBu_r", vmin=-1, vmax=1)
    ax.set(title=method.__name__, xlabel="bit", ylabel="bit")
    print(method.__name__, health, sep="\n", end="\n\n")
figure.colorbar(image, ax=both, label="correlation", shrink=0.8)
