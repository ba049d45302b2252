"""
Beside the rivals
=================

Every method has `fit`, `encode` and `codes_`. Here on 397 held-out digits, 16 bits, ours from labels alone
(``looks=0``), mapped database, ties as the expected value over all orders. One split only: not a benchmark.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import kinhash
from kinhash.metrics import evaluate
from kinhash_bench.baselines import BASELINES

X, y = load_digits(return_X_y=True)
methods = {"EnergyHasher": kinhash.EnergyHasher(16, looks=0, random_state=0)}
names = ("SDH", "COSDISH", "KSH", "CCAITQ", "FSDH", "ITQ", "SpectralHashing", "LSH")
methods |= {name: BASELINES[name](n_bits=16, random_state=0) for name in names}

scores = {}
for name, method in methods.items():
    method.fit(X[:1400], y[:1400])
    codes = method.encode(X[1400:]), method.encode(X[:1400])
    scores[name] = evaluate(*codes, y[1400:], y[:1400])

# %%

axes = plt.subplots(figsize=(7, 3.8), layout="constrained")[1]
ordered = sorted(scores, key=scores.get)
bars = axes.barh(
    ordered,
    [scores[name] for name in ordered],
    color=["#1a7f5a" if n == "EnergyHasher" else "#9aa3b2" for n in ordered],
)
axes.bar_label(bars, fmt="%.3f", padding=3)
axes.set(xlabel="mAP, mapped database", xlim=(0, 1.12))
axes.spines[["top", "right"]].set_visible(False)
