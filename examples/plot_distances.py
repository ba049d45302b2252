"""
How far apart are rows of one class, and of two?
================================================

The less the two histograms overlap, the better a distance tells rows of the same class from others. LSH and ITQ read
no labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import kinhash
from kinhash.paper import ITQ, LSH

X, y = load_digits(return_X_y=True)
figure, three = plt.subplots(3, 1, figsize=(7, 8.4), layout="constrained", sharex=True)
for axes, method in zip(three, (kinhash.EnergyHasher, ITQ, LSH), strict=True):
    hasher = method(n_bits=32, random_state=0).fit(X[:1400], y[:1400])
    new, old = np.indices((397, 1400)).reshape(2, -1)  # all pairs of a new row and an old one
    distances = hasher.encode(X[1400:])[new].distances(hasher.encode(X[:1400])[old])
    similar = y[1400:][new] == y[:1400][old]
    for which, name in ((similar, "same class"), (~similar, "other class")):
        axes.hist(distances[which], bins=np.arange(34) - 0.5, density=True, alpha=0.5, label=name)
    axes.set(ylabel=f"{method.__name__}\nshare of pairs", xlabel="distance (differing bits)")
axes.legend()
