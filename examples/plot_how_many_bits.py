"""
How many bits are enough?
=========================

`kinhash.advise` fits several lengths on random splits of your rows, scores them on held-out rows, and recommends the
shortest that loses less than .02 against the best.
"""

from sklearn.datasets import load_digits

import kinhash

X, y = load_digits(return_X_y=True)
advice = kinhash.advise(X, y, bits=(4, 8, 16, 32), n_splits=1, random_state=0)
kinhash.plot.advice(advice)

# %%
# In sentences:

for sentence in advice.recommendation.sentences:
    print("-", sentence)
