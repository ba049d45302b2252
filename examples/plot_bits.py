"""
What does each bit say?
=======================

Kin bits split the classes: among the rows of a class each is nearly always 0 or nearly always 1. Look-alike bits tell
rows of one class apart.
"""

from sklearn.datasets import load_digits

import kinhash

X, y = load_digits(return_X_y=True)
hasher = kinhash.EnergyHasher(n_bits=64, random_state=0).fit(X[:1500], y[:1500])
kinhash.plot.bits(hasher.codes_, y[:1500])

# %%
# The same for codes of rows the fit did not see: kin bits are less sure.

kinhash.plot.bits(hasher.encode(X[1500:]), y[1500:])

# %%
# Over all rows a bit says most if it is one in half of them.

kinhash.plot.bits(hasher.encode(X[1500:]))
