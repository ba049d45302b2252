"""
Rows with tags
==============

Kin share at least one tag. Some rows have none and are kin to nobody; of a tenth nothing is known. The tags are
made up from digits: a loop, a curve, a cross.
"""

import numpy as np
from sklearn.datasets import load_digits

import kinhash
from kinhash.metrics import mean_average_precision

TAGS = {
    0: {"loop"},
    2: {"curve"},
    3: {"curve"},
    4: {"cross"},
    5: {"curve"},
    6: {"loop", "curve"},
    8: {"loop"},
}
TAGS[9] = {"loop", "curve"}

X, y = load_digits(return_X_y=True)
tags = [TAGS.get(digit, set()) for digit in y]
order = np.random.default_rng(0).permutation(len(X))
train, new = order[:1400], order[1400:]
known = [tags[row] if number % 10 else None for number, row in enumerate(train)]

hasher = kinhash.EnergyHasher(n_bits=32, random_state=0).fit(X[train], known)
codes, database = hasher.encode(X[new]), hasher.encode(X[train])

# %%
# How far kin and strangers are from new rows, both sides mapped.

kinhash.plot.distances(codes, database, [tags[row] for row in new], known)

# %%
# What each bit says of each tag. Kin bits are mostly of one colour in a line, alike bits are mixed.

kinhash.plot.bits(hasher.codes_, known)

# %%
# The score says what it left out: rows of unknown tags, and queries that are kin to nobody.

score = mean_average_precision(codes, database, [tags[row] for row in new], known, return_details=True)
print(score)
