"""Codes from tags: kin share at least one, some rows have none, and some are unknown.

    python examples/tags.py

The tags are made up from digits: what they are, whether they are even, and whether they have a loop.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from kinhash import EnergyHasher
from kinhash.metrics import mean_average_precision


def tags_of(digit: int) -> set[str]:
    """Tags of a digit; a 1 and a 7 have none and are kin to nobody."""
    tags = {"loop"} if digit in (0, 6, 8, 9) else set()
    return tags | {"curve"} if digit in (2, 3, 5) else tags | {"cross"} if digit == 4 else tags


def main() -> float:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, new = order[:1400], order[1400:]
    tags = [tags_of(digit) for digit in y]
    known = [tags[row] if number % 10 else None for number, row in enumerate(train)]  # a tenth is unknown

    hasher = EnergyHasher(n_bits=32, random_state=0).fit(X[train], known)
    score = mean_average_precision(
        hasher.encode(X[new]), hasher.encode(X[train]), [tags[row] for row in new], known, return_details=True
    )
    print(score)
    return score.value


if __name__ == "__main__":
    main()
