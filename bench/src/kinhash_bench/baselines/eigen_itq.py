"""Eigenvectors of the centered similarity, rotated to round well: what a spectral solver alone gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinhash.errors import InvalidInput
from kinhash.paper.inference import draw_sample
from kinhash.paper.method import Card, Solved
from kinhash.paper.similarity import PairSupervision, Training
from kinhash.plugins import Floats, block_slices, check_integer, fit_rotation, require_memory

from .cards import PAIRS
from .two_step import TwoStepBaseline

__all__ = ["EigenITQ"]

SMALLEST = 1e-3  # eigenvalues below this share of the largest are noise
NEARLY = 0.3  # directions beyond the bits are kept down to this share of the last one needed
MOST = 3  # ... and at most this number per bit


@dataclass(eq=False, repr=False, kw_only=True)
class EigenITQ(TwoStepBaseline):
    """Top eigenvectors of the doubly centered S, turned by an ITQ rotation; ridge for new rows.

    Objective: ``min ‖U Uᵀ − d J S J‖²`` over real U (n, d), J taking off the mean; then the rotation of U
    that loses least by taking signs. No discrete optimization at all: a discrete method that does not
    beat this line has not earned its sweeps.

    Rows of equal supervision count as one weighted row. With more than ``n_anchors`` distinct ones, the
    eigenvectors are those of a sample, and the others follow by the usual (Nyström) extension.
    Learns from classes, tags, pairs or similarities. Own map: ridge onto the rotated eigenvectors.

    Parameters
    ----------
    n_bits : length of the codes.
    n_anchors : sampled columns of S.
    map : "own" (= "linear"), "rbf", or a regressor; see `TwoStepBaseline`.
    alpha : ridge penalty; "auto" is n/p.
    n_centers : centers of map="rbf".
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    Memory beyond X: n_anchors² and 8·n·n_bits bytes.
    """

    card = Card(
        "our own reference: eigenvectors of centered S, rotated",
        PAIRS,
        "ridge",
        "all of it",
    )

    n_anchors: int = 1000

    def check_parameters(self) -> None:
        super().check_parameters()
        check_integer("n_anchors", self.n_anchors, 2)

    def _solve(self, training: Training) -> Solved:
        supervision = training.supervision
        if isinstance(supervision, PairSupervision):  # every row with a pair counts; their mean says nothing
            T = supervision.among_groups()
            T.data -= T.data.mean()
            embedding, _ = leading_directions(T, np.ones(supervision.n_groups), self.n_bits)
            rotation = fit_rotation(embedding, self.n_bits, training.rng)
            return Solved((embedding @ rotation)[supervision.group_of_row])
        sample = draw_sample(supervision, self.n_anchors, training.rng, row_weights=training.weights)
        groups, weights = sample.groups, sample.weights
        require_memory(48 * len(groups) ** 2, f"{len(groups)} anchors", "Lower n_anchors")
        S = supervision.similarity(groups, groups)
        similar = (S > 0).any(axis=1)
        if similar.any() and not similar.all():  # rows that are similar to none say nothing
            groups, weights, S = groups[similar], weights[similar], S[np.ix_(similar, similar)]
        share = weights / weights.sum()
        means = S @ share
        grand = float(share @ means)
        T = S - (means - 0.5 * grand)[:, None] - (means - 0.5 * grand)
        embedding, readout = leading_directions(T, weights, self.n_bits)
        V = readout @ fit_rotation(embedding, self.n_bits, training.rng, weights=weights)
        # T_x V of a row x follows from its similarities alone, since T is affine in S.
        matrix = V - share[:, None] * V.sum(axis=0)
        constant = -0.5 * grand * V.sum(axis=0) + (means - 0.5 * grand) @ V
        parts = block_slices(supervision.n_groups, min(1024, max(1, 8_000_000 // len(groups))))
        everyone = np.arange(supervision.n_groups)
        scores = [supervision.similarity(everyone[part], groups) @ matrix - constant for part in parts]
        return Solved(np.concatenate(scores)[supervision.group_of_row])


def leading_directions(T: Any, weights: Floats, n_bits: int) -> tuple[Floats, Floats]:
    """Scaled top eigenvectors (m, r) of ``W^½ T W^½``, and what turns a row's targets into the same (m, r).

    Negative eigenvalues are never used. Where more directions than bits are nearly as good (nine for ten
    classes), they are kept, and the rotation chooses among them.
    """
    d, m = n_bits, len(weights)
    count, root = min(MOST * d, m), np.sqrt(weights)
    if sp.issparse(T) and m > 500 and count < m // 2:
        from scipy.sparse.linalg import eigsh

        start = np.ones(m) / np.sqrt(m)  # a fixed start makes Lanczos repeatable
        values, vectors = eigsh(T, k=count, which="LA", v0=start)
    else:
        values, vectors = _dense((T.toarray() if sp.issparse(T) else T) * root[:, None] * root, count)
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = max(SMALLEST * values[0], 1e-9 * weights.sum())
    last = values[min(d, len(values)) - 1]
    n_kept = max(d, int((values[: MOST * d] >= NEARLY * last).sum()))
    keep = (values > noise) & (np.arange(len(values)) < n_kept)
    if not keep.any():
        raise InvalidInput(
            "The targets have no positive eigenvalue: no two rows attract each other",
            "some similar rows among the sampled ones",
            "Check the labels, or raise n_anchors so that similar rows are sampled",
        )
    values, vectors = values[keep], vectors[:, keep]
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    column = root[:, None]
    return vectors * np.sqrt(d * values) / column, column * vectors * np.sqrt(d / values)


def _dense(matrix: Floats, count: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues of a symmetric matrix, in rising order.

    LAPACK's solver for a few eigenpairs can fail where many eigenvalues are equal, as those of balanced
    classes are. The one for all of them by divide and conquer takes longer and does not.
    """
    from scipy.linalg import LinAlgError, eigh

    m = len(matrix)
    try:
        values, vectors = eigh(matrix, subset_by_index=(m - count, m - 1))
    except LinAlgError:
        values, vectors = eigh(matrix, driver="evd")
    return values[-count:], vectors[:, -count:]
