"""The energy of partners and its gradient, and how held-out pairs are scored."""

from __future__ import annotations

import numpy as np

from kinhash.encoders.partners import SHARPNESS, _wrong, shares_behind

rng = np.random.default_rng(0)


def energy(u, v, partner):
    """Cross-entropies of finding the partner and of being found, divided by SHARPNESS, per row."""
    total = 0.0
    for i in range(len(u)):
        others = [j for j in range(len(u)) if j == i or partner[j] != partner[i]]
        row, column = np.exp(SHARPNESS * (v[others] @ u[i])), np.exp(SHARPNESS * (u[others] @ v[i]))
        own = np.exp(SHARPNESS * (u[i] @ v[i]))
        total -= (np.log(own / row.sum()) + np.log(own / column.sum())) / SHARPNESS
    return total / len(u)


def test_the_push_is_the_gradient_of_the_energy():
    u, v = rng.uniform(-1, 1, (2, 6, 3))
    v /= 3  # agreements stay below 1
    partner = np.array([0, 1, 2, 1, 3, 4])  # rows 1 and 3 have one partner
    v[3] = v[1]
    push = _wrong(u.astype(np.float32), v.astype(np.float32), partner) @ v
    for i, k in ((0, 0), (1, 2), (3, 1), (5, 2)):
        up, down = u.copy(), u.copy()
        up[i, k] += 1e-5
        down[i, k] -= 1e-5
        slope = (energy(up, v, partner) - energy(down, v, partner)) / 2e-5
        np.testing.assert_allclose(push[i, k], slope, rtol=1e-3, atol=1e-6)


def test_shares_behind_count_what_is_farther_in_both_directions():
    bits, others = rng.integers(0, 2, (2, 30, 7)) > 0
    partner, counts = rng.integers(0, 12, 30), np.array([3, 3, 3, 1, 1, 1, 1])
    away = ((bits[:, None] != others) * counts).sum(axis=2)
    wanted = []
    for i in range(30):
        rest = np.flatnonzero(partner != partner[i])
        both = [np.sign(away[i, rest] - away[i, i]), np.sign(away[rest, i] - away[i, i])]
        wanted.append(np.mean((np.array(both) + 1) / 2))
    np.testing.assert_allclose(shares_behind(bits, others, partner, counts), wanted, rtol=1e-6)
