"""
What do new rows find?
======================

Codes are learned from the classes of 1,400 handwritten digits. New digits are encoded from their pixels alone, and
searched among the 1,400.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import kinhash
from kinhash.metrics import evaluate

X, y = load_digits(return_X_y=True)
pictures = X.reshape(-1, 8, 8)
order = np.random.default_rng(0).permutation(len(X))
train, new = order[:1400], order[1400:]

hasher = kinhash.EnergyHasher(n_bits=64, random_state=0).fit(X[train], y[train])
print(hasher.report_)

# %%
# Each query (left) with its eight nearest rows and their distances; red: another class.

index = kinhash.HammingIndex.from_codes(hasher.codes_, ids=train)
codes = hasher.encode(X[new])
found = index.search(codes, k=10)
figure, cells = plt.subplots(6, 9, figsize=(8, 6), layout="constrained")
for row, line in enumerate(cells):
    ids = [new[row], *found.ids[row][:8]]
    titles = ["query", *found.distances[row][:8]]
    for axes, own, title in zip(line, ids, titles, strict=True):
        axes.imshow(pictures[own], cmap="gray_r")
        axes.set_title(title, fontsize=8, color="black" if y[own] == y[new[row]] else "red")
        axes.axis("off")

# %%
# The score of all 397 new digits, ties counted as the expected value over all orders, with two databases: codes
# learned from labels and pixels, and codes mapped from pixels like those of the queries.

for name, database in (("learned", hasher.codes_), ("mapped", hasher.encode(X[train]))):
    score = evaluate(codes, database, y[new], y[train])
    print(f"mAP, {name} database: {score:.3f}")
