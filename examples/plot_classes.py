"""
What do new rows find?
======================

Codes are learned from the classes of 1,400 handwritten digits. New digits are encoded from their pixels alone, and
searched among the 1,400.
"""

import numpy as np
from sklearn.datasets import load_digits

import kinhash
from kinhash.metrics import mean_average_precision

X, y = load_digits(return_X_y=True)
pictures = X.reshape(-1, 8, 8)
order = np.random.default_rng(0).permutation(len(X))
train, new = order[:1400], order[1400:]

hasher = kinhash.EnergyHasher(n_bits=64, random_state=0).fit(X[train], y[train])
print(hasher.report_)

# %%
# Each query with its ten nearest rows, and the distance below (a kin bit counts three times). A green frame is the
# same class, a red cross another one.

index = kinhash.HammingIndex.from_codes(hasher.codes_, ids=train)
codes = hasher.encode(X[new])
found = index.search(codes, k=10)
kinhash.plot.neighbors(found, pictures, queries=pictures[new], kin=y[found.ids] == y[new, None])

# %%
# The score of all 397 new digits, ties counted as the expected value over all orders, with two databases: codes
# learned from labels and pixels, and codes mapped from pixels like those of the queries.

for name, database in (("learned", hasher.codes_), ("mapped", hasher.encode(X[train]))):
    score = mean_average_precision(codes, database, y[new], y[train])
    print(f"mAP, {name} database: {score:.3f}")
