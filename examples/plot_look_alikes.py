"""
The right class first, then look-alikes
=======================================

Codes that know labels alone are one code per class, and the row number decides among a hundred rows of that class.
Look-alike bits rank them by how similar they look. By default half of the bits are look-alike bits.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import kinhash
from kinhash.metrics import near_kin

X, y = load_digits(return_X_y=True)
pictures, new = X.reshape(-1, 8, 8), slice(1500, 1797)
figure, both = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=(8, 6.5))
for ax, given in zip(both, ({}, {"alike": 0, "trust": 1}), strict=True):
    hasher = kinhash.EnergyHasher(n_bits=64, random_state=0, **given).fit(X[:1500], y[:1500])
    codes = hasher.encode(X[new])
    found = kinhash.HammingIndex.from_codes(hasher.codes_).search(codes, k=6)
    kinhash.plot.neighbors(
        found,
        pictures,
        queries=None if given else pictures[new],
        kin=y[found.ids] == y[new, None],
        rows=(0, 1, 5, 17, 40),
        ax=ax,
    )
    ax.set_title("labels alone" if given else "kin bits and look-alike bits")
    nearest = near_kin(codes, hasher.codes_, y[new], y[:1500], X[new], X[:1500])
    print(f"{given or 'default'}: {nearest}")
