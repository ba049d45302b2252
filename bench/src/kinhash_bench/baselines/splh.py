"""SPLH: directions that spread the data and respect the labels, each minding the pairs the last got wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinhash.paper.maps import LinearMap, prepare_rows
from kinhash.paper.method import Baseline, Card, Solved
from kinhash.paper.similarity import Training
from kinhash.paper.unsupervised import centered_moments
from kinhash.plugins import Floats, check_integer, check_number

from .cards import PAIRS
from .sample import draw_rows

__all__ = ["SPLH", "raise_violated"]


@dataclass(eq=False, repr=False, kw_only=True)
class SPLH(Baseline):
    """Sequential projection learning for hashing, S3PLH (Wang, Kumar, Chang, ICML 2010 and PAMI 2012).

    Bit k maximizes ``wᵀ (XᵀX/n + η·X_lᵀ S_k X_l / l) w`` over unit vectors w: a covariance term over all
    rows, a label term over l labeled ones. Then the pairs it got wrong weigh more, and it is taken out of X:

        T = X_l w wᵀ X_lᵀ,    S_{k+1} = S_k − T∘[S_k∘T < 0],    X ← X − X w wᵀ   (X_l stays whole)

    and a bit is ``[x·w > 0]``. Constants are those of the authors' program (η = 0.2, S_ii = 0, 1,000 labeled
    rows). What differs: rows are centered, which their program leaves to the caller, and brought to a mean
    squared length of 1 by one common factor, so that the growth of S does not depend on the unit of the
    features; the deflation is done on the covariance matrix. On validation rows (CIFAR-10 GIST, two
    partitions) 1 is the best of the lengths ¼, ½, 1, 2 and 4 at 16 and at 64 bits, by .01 mAP or more.

    It has no codes of its own: ``codes_`` are mapped ones. Classes, tags and pairs (unlisted pairs are 0).
    Not to be confused with EM-SPLH, which keeps the label term alone.

    Memory beyond X: O(l² + p²).

    Parameters
    ----------
    n_labeled : rows l with labels that are looked at.
    eta : weight of the label term.
    """

    card = Card(
        "Wang, Kumar, Chang, ICML 2010 and PAMI 2012",
        PAIRS,
        "linear, no offset",
        "centering, and one common scale of the rows, confirmed on validation rows",
    )

    n_labeled: int = 1000
    eta: float = 0.2

    def check_parameters(self) -> None:
        super().check_parameters()
        check_integer("n_labeled", self.n_labeled, 2)
        check_number("eta", self.eta, 0.0)

    def _solve(self, training: Training) -> Solved:
        moments, shares = centered_moments(training)
        covariance = moments.gram * np.outer(shares, shares) / moments.weight
        length = np.sqrt(max(float(np.trace(covariance)), 1e-30))
        factors = shares / length
        rows = draw_rows(training, self.n_labeled)
        group = training.supervision.group_of_row[rows]
        S = training.supervision.similarity(group, group)
        np.fill_diagonal(S, 0.0)
        X = prepare_rows(training.rows, moments.preparation, rows, training.n_jobs) * factors
        W = sequential_directions(covariance / length**2, X, S, self.n_bits, self.eta)
        weights = (factors[:, None] * W).astype(np.float32)
        return Solved(None, LinearMap(moments.preparation, weights, np.zeros(self.n_bits, np.float32)))


def sequential_directions(covariance: Floats, X: Floats, S: Floats, n_bits: int, eta: float) -> Floats:
    """Unit directions (p, d), each found after the last was taken out and its mistakes weighted up."""
    from scipy.linalg import eigh

    l, p = X.shape
    W = np.empty((p, n_bits))
    for k in range(n_bits):
        form = covariance + eta / l * (X.T @ (S @ X))
        w = eigh((form + form.T) / 2, subset_by_index=(p - 1, p - 1))[1][:, 0]
        w *= 1.0 if w[np.abs(w).argmax()] > 0 else -1.0  # an eigenvector has no sign of its own
        W[:, k] = w
        S = raise_violated(S, X @ w)
        pull = covariance @ w
        covariance = covariance - np.outer(w, pull) - np.outer(pull, w) + (w @ pull) * np.outer(w, w)
    return W


def raise_violated(S: Floats, projected: Floats) -> Floats:
    """``S − T∘[S∘T < 0]`` with ``T = projected projectedᵀ``: pairs on the wrong sides pull harder."""
    T = np.outer(projected, projected)
    return S - np.where(S * T < 0, T, 0.0)
