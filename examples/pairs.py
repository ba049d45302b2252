"""Codes from pairs alone, such as "clicked together" and "shown, not clicked".

python examples/pairs.py
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from kinhash import EnergyHasher


def main() -> float:
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 1400, (2, 8000))
    left, right = left[left != right], right[left != right]
    verdict = y[left] == y[right]  # nobody says which digit it is, only whether two are the same

    hasher = EnergyHasher(n_bits=32, random_state=0).fit_pairs(X[:1400], left, right, verdict)

    new = hasher.encode(X[1400:]).packed
    i, j = np.triu_indices(len(new), 1)
    differing = np.bitwise_count(new[i] ^ new[j]).sum(axis=1)
    score = float(roc_auc_score(y[1400:][i] == y[1400:][j], -differing.astype(int)))
    print(f"new rows: a pair of kin is nearer than a pair of strangers in {score:.1%} of the cases")
    return score


if __name__ == "__main__":
    main()
