"""Listed pairs, losses of their Hamming distances, and the binary problem that one more bit has to solve.

With H⁰ the Hamming distance of a pair over earlier bits, one more bit costs ``ℓ(H⁰)`` where it agrees and
``ℓ(H⁰+1)`` where it differs. So, up to a constant and a factor 2, the bit z ∈ {−1, +1}ⁿ minimizes
``Σ a_ij z_i z_j`` with ``a_ij = ℓ(H⁰_ij) − ℓ(H⁰_ij + 1)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.paper.similarity import PairSupervision, Training
from kinhash.plugins import Floats, Ints, require_memory

from .sample import known_rows

__all__ = ["LOSSES", "ListedPairs", "bit_weights"]


def ksh_loss(share: Floats, S: Floats) -> Floats:
    """``(S − (1 − 2D))²``: inner products as similarities."""
    return (S - (1 - 2 * share)) ** 2


def bre_loss(share: Floats, S: Floats) -> Floats:
    """``(t − D)²`` with target t = 0 for kin, 1 for strangers."""
    return ((1 - S) / 2 - share) ** 2


def hinge_loss(share: Floats, S: Floats) -> Floats:
    """Kin ``D²``; strangers ``max(0, ½ − D)²``: half of the bits apart is far enough."""
    return np.where(S > 0, share**2, np.maximum(0.5 - share, 0.0) ** 2) * np.abs(S)


def exph_loss(share: Floats, S: Floats) -> Floats:
    """``exp(−½ S (1 − 2D))``; the constant ½ is ours, since TSH's own could not be read."""
    return np.exp(-0.5 * S * (1 - 2 * share))


# Losses of the share D of differing bits, for a pair of similarity S.
LOSSES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "bre": bre_loss,
    "exph": exph_loss,
    "hinge": hinge_loss,
    "ksh": ksh_loss,
}


def bit_weights(loss: str, hamming: Ints, S: Floats, n_bits: int) -> Floats:
    """``a = ℓ(H⁰) − ℓ(H⁰ + 1)`` of pairs at Hamming distance H⁰ so far, counted in shares of ``n_bits``.

    Distances are whole numbers and most verdicts are ±1, so that the loss can be looked up.
    """
    share = np.arange(n_bits + 1) / n_bits
    if (np.abs(S) == 1).all():
        table = np.stack([LOSSES[loss](share, np.full_like(share, value)) for value in (-1.0, 1.0)])
        steps = np.concatenate([table[:, :-1] - table[:, 1:], np.zeros((2, 1))], axis=1)
        return steps[(S > 0).astype(np.int8), hamming]
    return LOSSES[loss](hamming / n_bits, S) - LOSSES[loss]((hamming + 1) / n_bits, S)


@dataclass(frozen=True)
class ListedPairs:
    """Pairs of known rows, once each: ``first`` and ``second`` (e,) count among ``rows`` (k,), S is (e,).

    ``indptr``, ``partner`` and ``number`` list each row's partners and the pairs' numbers.
    """

    rows: Ints
    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    S: Floats
    indptr: Ints
    partner: npt.NDArray[np.int32]
    number: npt.NDArray[np.int32]

    @classmethod
    def draw(cls, training: Training, n_partners: int) -> ListedPairs:
        """At most ``n_partners`` kin and as many strangers drawn for each row; listed pairs are all taken.

        Memory: about 50 bytes per pair, 200 pairs per row by default.
        """
        rows = known_rows(training)
        k = len(rows)
        supervision = training.supervision
        if isinstance(supervision, PairSupervision):
            listed = sp.triu(supervision.listed[rows][:, rows], k=1).tocoo()
            return cls.of(rows, listed.coords[0], listed.coords[1], listed.data)
        require_memory(50 * 2 * k * n_partners, f"Pairs of {k} rows", "Lower n_partners")
        key = np.sort(_drawn_keys(training, rows, n_partners))
        key = key[np.diff(key, prepend=-1) > 0]  # much faster than np.unique on millions
        first, second = key // k, key % k
        groups, member = np.unique(supervision.group_of_row[rows], return_inverse=True)
        S = np.empty(len(key))
        if len(groups) <= 2000 and supervision.anchors is None:
            S[:] = supervision.similarity(groups, groups)[member[first], member[second]]
        else:
            S[:] = _similarity_of_pairs(training, rows, first, second)
        return cls.of(rows, first, second, S)

    @classmethod
    def of(cls, rows: Ints, first: Ints, second: Ints, S: Floats) -> ListedPairs:
        """From distinct pairs."""
        order = np.argsort(np.concatenate([first, second]), kind="stable").astype(np.int32)
        others = np.concatenate([second, first]).astype(np.int32)
        counts = np.bincount(first, minlength=len(rows)) + np.bincount(second, minlength=len(rows))
        return cls(
            rows,
            first.astype(np.int32),
            second.astype(np.int32),
            np.asarray(S, np.float64),
            np.concatenate([[0], np.cumsum(counts)]),
            others[order],
            order % np.int32(max(len(first), 1)),
        )

    def matrix(self, weights: Floats) -> sp.csr_array:
        """Symmetric sparse matrix (k, k) of weights (e,) of the pairs."""
        k = len(self.rows)
        return sp.csr_array((weights[self.number], self.partner, self.indptr), shape=(k, k))

    def add_bit(self, hamming: Ints, z: npt.NDArray[np.bool_]) -> None:
        """Count one more bit (k,) in the Hamming distances (e,), in place."""
        hamming += z[self.first] != z[self.second]


def _drawn_keys(training: Training, rows: Ints, n_partners: int) -> Ints:
    """``low·k + high`` of the drawn pairs, some of them several times."""
    supervision, rng = training.supervision, training.rng
    groups, member = np.unique(supervision.group_of_row[rows], return_inverse=True)
    allowed = np.ones(len(groups), bool)
    if supervision.anchors is not None:  # only these have columns in S
        allowed = np.isin(groups, supervision.group_of_row[supervision.anchors])
    order = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[order], np.arange(len(groups) + 1))
    keys = []
    for g in range(len(groups)):
        mine = order[starts[g] : starts[g + 1]]
        S = supervision.similarity(groups[g : g + 1], groups[allowed])[0]
        for sign in (1, -1):
            wanted = np.zeros(len(groups), bool)
            wanted[np.flatnonzero(allowed)[S * sign > 0]] = True
            others = np.flatnonzero(wanted[member])
            if not len(others):
                continue
            count = min(n_partners, len(others))
            if len(others) <= n_partners:
                drawn = np.broadcast_to(others, (len(mine), count))
            else:
                drawn = others[rng.integers(0, len(others), (len(mine), count))]
            low, high = np.minimum(mine[:, None], drawn), np.maximum(mine[:, None], drawn)
            keys.append((low * len(rows) + high)[low < high])
    return np.concatenate(keys) if keys else np.empty(0, np.int64)


def _similarity_of_pairs(training: Training, rows: Ints, first: Ints, second: Ints) -> Floats:
    """S of many pairs among many groups: row by row, since no block would fit."""
    supervision = training.supervision
    group = supervision.group_of_row[rows]
    columns = None
    if supervision.anchors is not None:
        columns = np.zeros(supervision.n_groups, bool)
        columns[supervision.group_of_row[supervision.anchors]] = True
    S = np.empty(len(first))
    starts = np.searchsorted(first, np.arange(len(rows) + 1))
    for i in range(len(rows)):
        part = slice(starts[i], starts[i + 1])
        if part.start == part.stop:
            continue
        others = group[second[part]]
        mine = group[i : i + 1]
        if columns is None or columns[others].all():
            S[part] = supervision.similarity(mine, others)[0]
        else:
            S[part] = supervision.similarity(others, mine)[:, 0]
    return S
