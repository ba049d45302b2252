"""BRE: one weight of one hash function at a time, moved to the best place there is on its line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.paper.maps import LinearMap, prepare_rows
from kinhash.paper.method import Baseline, Card, Solved
from kinhash.paper.similarity import PairSupervision, Training
from kinhash.paper.unsupervised import center_columns
from kinhash.plugins import Floats, Ints, check_integer, check_number, njit

from .cards import PAIRS
from .sample import draw_rows

__all__ = ["BRE", "PairList", "best_place", "descend"]

BEYOND = 1e-6  # how far past the outermost threshold the end candidates lie
PATIENCE = 10  # sweeps without progress before giving up


@dataclass(eq=False, repr=False, kw_only=True)
class BRE(Baseline):
    """Binary reconstructive embeddings (Kulis, Darrell, NIPS 2009), with targets from labels.

    ``min_W Σ_{(i,j)∈N} (t_ij − Hamming_ij/d)²``, ``t = 0`` for kin and 1 for strangers, with hash functions
    ``h_b(x) = [Σ_q W_qb κ(x_bq, x) > 0]`` over s random training rows per bit and the linear kernel of
    centered rows at unit length.

    Coordinate descent: a sweep visits every bit and one random weight of it. As that weight moves along
    the line, row i flips at ``W_qb − (KW)_ib / K_iq``; between two neighboring thresholds nothing changes,
    so trying one place in each gap finds the exact minimum. No step raises the objective, which stands per
    sweep in ``report_.facts["objective"]``.

    Constants are those of the authors' release as a toolkit copies it: s = 50, weights started at
    0.001·N(0, 1), partners of a row 5 % of the sample, tolerance 1e-6. What differs: a pair counts once
    though both its rows may have drawn it; the tolerance must hold for ten sweeps, since one draw of weights
    may be unlucky; ``max_sweeps``. That labels give targets 0 and 1 is from memory of the paper.

    It has no codes of its own: ``codes_`` are mapped ones. Classes, tags, pairs, and graded similarities,
    which become targets (1 − S)/2.

    Memory beyond X: the kernel among the sample (8 MB for 1,000 rows), and its pairs.

    Parameters
    ----------
    n_labeled : rows of the sample.
    n_basis : s, training rows per bit.
    partners : share of the sample each row is paired with.
    max_sweeps : sweeps over all bits, at most.
    tolerance : relative gain below which sweeps end, if it holds for ten of them.
    """

    card = Card(
        "Kulis, Darrell, NIPS 2009",
        PAIRS,
        "signs of sums of 50 linear kernels per bit",
        "targets 0 and 1 for similar and dissimilar pairs (from memory of the paper); patience of ten sweeps",
    )

    n_labeled: int = 1000
    n_basis: int = 50
    partners: float = 0.05
    max_sweeps: int = 200
    tolerance: float = 1e-6

    def check_parameters(self) -> None:
        super().check_parameters()
        check_integer("n_labeled", self.n_labeled, 2)
        check_integer("n_basis", self.n_basis, 1)
        check_number("partners", self.partners, 0.0, 1.0, open_low=True)
        check_integer("max_sweeps", self.max_sweeps, 1)
        check_number("tolerance", self.tolerance, 0.0)

    def _solve(self, training: Training) -> Solved:
        preparation, shares = center_columns(training)
        rows, rng, d = draw_rows(training, self.n_labeled), training.rng, self.n_bits
        X = prepare_rows(training.rows, preparation, rows, training.n_jobs).astype(np.float64) * shares
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-30)
        pairs = PairList.draw(training, rows, self.partners)
        n_basis = min(self.n_basis, len(rows))
        basis = np.stack([rng.choice(len(rows), n_basis, replace=False) for _ in range(d)], axis=1)
        W = 0.001 * rng.normal(size=basis.shape)
        picks = rng.integers(0, n_basis, (self.max_sweeps, d))
        history = descend(X @ X.T, basis, W, picks, pairs, self.tolerance)
        directions = np.stack([X[basis[:, b]].T @ W[:, b] for b in range(d)], axis=1)
        size = np.maximum(np.abs(directions).max(axis=0), 1e-30)  # signs alone matter
        weights = (shares[:, None] * directions / size).astype(np.float32)
        own = LinearMap(preparation, weights, np.zeros(d, np.float32))
        return Solved(None, own, {"objective": history})


@dataclass(frozen=True)
class PairList:
    """Pairs once each: ends (e, 2) and targets (e,); and by row, CSR-like, partners and the pair's number."""

    ends: Ints
    targets: Floats
    indptr: Ints
    partner: Ints
    number: Ints

    @classmethod
    def of(cls, ends: Ints, targets: Floats, n_rows: int) -> PairList:
        """From distinct pairs."""
        rows = np.concatenate([ends[:, 0], ends[:, 1]])
        others = np.concatenate([ends[:, 1], ends[:, 0]])
        numbers = np.concatenate([np.arange(len(ends))] * 2)
        order = np.argsort(rows, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
        return cls(ends, targets, indptr, others[order], numbers[order])

    @classmethod
    def draw(cls, training: Training, rows: Ints, share: float) -> PairList:
        """Random partners for each row of a sample, or its listed pairs where there are such."""
        supervision, n = training.supervision, len(rows)
        if isinstance(supervision, PairSupervision):
            listed = sp.triu(supervision.listed[rows][:, rows], k=1).tocoo()
            ends = np.column_stack(listed.coords).astype(np.int64)
            return cls.of(ends, (1 - listed.data) / 2, n)
        count = max(1, round(share * n))
        drawn = np.concatenate([training.rng.choice(n, count, replace=False) for _ in range(n)])
        first = np.repeat(np.arange(n), count)
        low, high = np.minimum(first, drawn), np.maximum(first, drawn)
        key = np.unique((low * n + high)[low < high])
        ends = np.column_stack([key // n, key % n])
        group = supervision.group_of_row[rows]
        groups, member = np.unique(group, return_inverse=True)
        S = supervision.similarity(groups, groups)[member[ends[:, 0]], member[ends[:, 1]]]
        return cls.of(ends, (1 - S) / 2, n)


def descend(K: Floats, basis: Ints, W: Floats, picks: Ints, pairs: PairList, tolerance: float) -> list[float]:
    """Improve W (s, d) in place; ``picks`` (sweeps, d) says which weight of each bit a sweep visits.

    K (n, n) is the kernel among the sample and ``basis`` (s, d) the rows of each bit. Returns the objective
    at the start and after each sweep.
    """
    d = basis.shape[1]
    scores = np.stack([K[:, basis[:, b]] @ W[:, b] for b in range(d)], axis=1)
    bits = scores > 0
    first, second = pairs.ends.T
    hamming = (bits[first] != bits[second]).sum(axis=1)
    history = [_objective(pairs, hamming, d)]
    idle = 0
    for chosen in picks:
        for b, q in enumerate(chosen):
            column, row = K[:, basis[q, b]], scores[:, b].copy()
            differ = bits[first, b] != bits[second, b]
            place, change = best_place(
                column,
                row,
                W[q, b],
                bits[:, b].copy(),
                pairs.indptr,
                pairs.partner,
                pairs.number,
                hamming - differ,
                pairs.targets,
                d,
            )
            if change >= 0:
                continue
            moved = row + (place - W[q, b]) * column
            new = moved > 0
            now = hamming - differ + (new[first] != new[second])
            if _objective(pairs, now, d) <= _objective(pairs, hamming, d):  # else rounding misled us
                W[q, b], scores[:, b], bits[:, b], hamming = place, moved, new, now
        history.append(_objective(pairs, hamming, d))
        idle = idle + 1 if history[-2] - history[-1] <= tolerance else 0
        if idle >= PATIENCE:
            break
    return history


def _objective(pairs: PairList, hamming: Ints, d: int) -> float:
    return float(((pairs.targets - hamming / d) ** 2).sum())


@njit(cache=True, nogil=True)
def best_place(
    column: Floats,
    scores: Floats,
    weight: float,
    bits: npt.NDArray[np.bool_],
    indptr: Ints,
    partner: Ints,
    number: Ints,
    others: Ints,
    targets: Floats,
    d: int,
) -> tuple[float, float]:
    """Best value of one weight, and by how much it changes the objective (at most 0).

    ``column`` (n,) is the kernel to the weight's row, ``scores`` (n,) and ``bits`` (n,) those of its hash
    function, ``others`` (e,) the Hamming distances of the pairs without this bit. ``bits`` is used up.
    """
    moving = np.flatnonzero(np.abs(column) > 1e-12)
    thresholds = weight - scores[moving] / column[moving]
    order = np.argsort(thresholds)
    change = 0.0
    for i in moving:  # from the current weight to minus infinity
        if bits[i] != (column[i] < 0):
            change += _flip(i, bits, indptr, partner, number, others, targets, d)
    best, best_change = weight, 0.0
    for place in range(-1, len(order)):
        if place >= 0:
            i = moving[order[place]]
            change += _flip(i, bits, indptr, partner, number, others, targets, d)
        if place + 1 < len(order) and place >= 0:
            here, after = thresholds[order[place]], thresholds[order[place + 1]]
            if here == after:
                continue  # no gap between equal thresholds
            candidate = (here + after) / 2
        elif place < 0:
            if len(order) == 0:
                break
            candidate = thresholds[order[0]] - BEYOND
        else:
            candidate = thresholds[order[place]] + BEYOND
        if change < best_change - 1e-12:
            best, best_change = candidate, change
    return best, best_change


@njit(cache=True, nogil=True)
def _flip(
    i: int,
    bits: npt.NDArray[np.bool_],
    indptr: Ints,
    partner: Ints,
    number: Ints,
    others: Ints,
    targets: Floats,
    d: int,
) -> float:
    """Flip the bit of row i; by how much the objective changes."""
    change = 0.0
    for place in range(indptr[i], indptr[i + 1]):
        pair = number[place]
        differ = bits[i] != bits[partner[place]]
        with_, without = (others[pair] + 1) / d, others[pair] / d
        step = (targets[pair] - with_) ** 2 - (targets[pair] - without) ** 2
        change += -step if differ else step
    bits[i] = not bits[i]
    return change
