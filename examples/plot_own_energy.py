"""
An energy of your own
=====================

Similar pairs with different codes cost three times as much as different pairs with similar codes. A loss that is a
parabola in the inner product r of two codes needs only its two coefficients.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kinhash import EnergyHasher
from kinhash.paper import Energy, PairTerms
from kinhash.testing import check_energy


class KinFirst(Energy):
    """Energy ``w(s) (r − d s)²`` with w = 3 for similar pairs and 1 for others."""

    def loss(self, r, s, n_bits):
        return self.weight(s) * (r - n_bits * s) ** 2

    def terms(self, s, n_bits, xi=None):
        return PairTerms(linear=-2 * self.weight(s) * n_bits * s, quadratic=self.weight(s))

    def weight(self, s):
        return np.where(s > 0, 3.0, 1.0)


check_energy(KinFirst())  # the parabola is the loss

# %%

r = np.linspace(-16, 16)
axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")[1]
axes.plot(r, KinFirst().loss(r, 1.0, 16), label="similar", color="#1a7f5a", lw=2)
axes.plot(r, KinFirst().loss(r, -1.0, 16), "--", label="different", color="#d1344b", lw=2)
axes.set(xlabel="inner product of two codes of 16 bits", ylabel="cost of the pair")
axes.legend()

# %%

X, y = load_digits(return_X_y=True)
for energy in ("rank", "ksh", KinFirst()):
    hasher = EnergyHasher(n_bits=16, energy=energy, random_state=0)
    hasher.fit(X[:600], y[:600])
    print(f"{energy!r:12}: mAP of unseen digits {hasher.score(X[600:1200], y[600:1200]):.3f}")
