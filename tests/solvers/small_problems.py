"""Small problems and the truth about them, by enumeration of all codes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kinhash.energies import PairTerms
from kinhash.energies.ksh import KSH
from kinhash.solvers.problem import DenseProblem, SparseProblem


class Offset(KSH):
    """KSH with a price on agreement: its linear term is no multiple of s."""

    def loss(self, r, s, n_bits):
        return super().loss(r, s, n_bits) + 0.3 * n_bits * r

    def terms(self, s, n_bits, xi=None):
        terms = super().terms(s, n_bits, xi)
        return PairTerms(terms.linear + 0.3 * n_bits, terms.quadratic)


def all_codes(n, d):
    """Every assignment of n codes of d bits: (2^(nd), n, d) of ±1."""
    return 1.0 - 2.0 * ((np.arange(2 ** (n * d))[:, None] >> np.arange(n * d)) & 1).reshape(-1, n, d)


def random_targets(rng, n, graded=False):
    T = rng.uniform(-1, 1, (n, n)) if graded else rng.choice([-1.0, 1.0], (n, n))
    T = np.triu(T, 1)
    return T + T.T + np.eye(n)


def dense(energy, T, d, weights=None, **more):
    return DenseProblem(
        energy, T, np.ones(len(T)) if weights is None else np.asarray(weights, float), d, **more
    )


def sparse(energy, T, d, **more):
    """The same as listed pairs; entries that are 0 are unknown."""
    listed = sp.csr_array(T - np.diag(np.diag(T)))
    listed.sort_indices()
    return SparseProblem(energy, listed, d, **more)


def energy_by_pairs(problem, codes, T, weights):
    """E = Σ_{i<j} w_i w_j ℓ(r_ij), pairs with T = 0 left out if the problem is sparse."""
    total = np.zeros(codes.shape[:-2])
    n = codes.shape[-2]
    for i in range(n):
        for j in range(i + 1, n):
            if isinstance(problem, SparseProblem) and T[i, j] == 0:
                continue
            r = (codes[..., i, :] * codes[..., j, :]).sum(-1)
            total += weights[i] * weights[j] * problem.pair_loss(r, np.full_like(r, T[i, j]))
    return total


def chances(codes, q):
    """Probability of every assignment under independent bits of means q."""
    return np.prod((1 + codes * q) / 2, axis=(-2, -1))
