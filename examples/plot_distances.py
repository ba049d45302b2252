"""
How far apart are rows of one class, and of two?
================================================

The less the two histograms overlap, the better a distance tells rows of the same class from others. LSH and ITQ read
no labels.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import kinhash
from kinhash.baselines import ITQ, LSH

X, y = load_digits(return_X_y=True)
figure, three = plt.subplots(3, 1, figsize=(7, 8.4), layout="constrained")
for ax, method in zip(three, (kinhash.EnergyHasher, ITQ, LSH), strict=True):
    hasher = method(n_bits=32, random_state=0).fit(X[:1400], y[:1400])
    kinhash.plot.distances(hasher.encode(X[1400:]), hasher.encode(X[:1400]), y[1400:], y[:1400], ax=ax)
    ax.set_ylabel(f"{method.__name__}\nshare of pairs")
