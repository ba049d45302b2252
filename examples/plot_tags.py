"""
Rows with tags
==============

Rows with the same tags get the most similar codes, rows that share some tags less similar ones. Some rows have no tags;
of a tenth the tags are unknown. The tags describe digits: a loop, a curve, a cross.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import kinhash
from kinhash.metrics import evaluate

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
# Distances of new rows to rows that share a tag and to others, both sides mapped.

rows = [row for row, own in enumerate(known) if own]
i, j = np.indices((len(new), len(rows))).reshape(2, -1)
distances = codes[i].distances(database[rows][j])
similar = np.array([bool(tags[row] & known[other]) for row in new for other in rows])
axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")[1]
for which, name in ((similar, "a tag in common"), (~similar, "none")):
    axes.hist(distances[which], bins=np.arange(34) - 0.5, density=True, alpha=0.5, label=name)
axes.set(xlabel="distance (differing bits)", ylabel="share of pairs")
axes.legend()

# %%
# The score also counts what it left out: rows of unknown tags, and queries without relevant rows.

score = evaluate(codes, database, [tags[row] for row in new], known)
print(score)
