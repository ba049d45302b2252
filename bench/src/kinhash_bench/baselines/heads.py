"""Deep losses on the features at hand: heads of OrthoHash, CSQ, DPN, CRH, CroVCA, GreedyHash and HashNet.

The authors train a network end to end. Here the features are given, and the head is linear in them, in
RBF features of them, or in both; so these rows say what the loss is worth, not what the network is. All are
trained alike: Adam, steps that fall to 0, decay of the weights; features, step, penalty and epochs are chosen
on held-out rows, as ours are. Classes and tags. Rows of weight w are drawn w times as often.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinhash.paper.method import Baseline, Card, Solved
from kinhash.paper.similarity import Training
from kinhash.plugins import Floats

from .cards import LABELS
from .hadamard import majority
from .head import AUTO, HeadLoss, OpenSettings, fit_head
from .head_losses import (
    CenteredLoss,
    CRHLoss,
    CroVCALoss,
    CSQLoss,
    DPNLoss,
    GreedyHashLoss,
    HashNetLoss,
    OrthoHashLoss,
)
from .two_step import TwoStepBaseline, label_matrix

__all__ = ["CRH", "CSQ", "DPN", "CenteredHead", "CroVCA", "GreedyHash", "HashNet", "Head", "OrthoHash"]

TUNED = "features, step, penalty and epochs chosen on held-out rows in each fit"
OWN_MAP = "linear head, on features as chosen"


@dataclass(eq=False, repr=False, kw_only=True)
class Head(Baseline):
    """A linear map trained on a loss of its own scores; subclasses give the loss.

    Parameters
    ----------
    n_bits : length of the codes.
    features : "plain", "rbf", "both", or "auto".
    step : of Adam, falling to 0. "auto" chooses it, ``penalty`` and ``n_epochs`` on held-out rows (a fifth of
        at most 8,000; with fewer than 250 rows they are .01, .1 and 10, and at least 200 batches are seen).
    penalty : decay of the weights per unit of step.
    n_epochs : passes over at most 100,000 rows.
    batch : rows of one step.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    It has no codes of its own: ``codes_`` are mapped ones. Memory beyond X: prepared rows as float32.
    """

    features: Any = AUTO
    step: float | str = AUTO
    penalty: float | str = AUTO
    n_epochs: int | str = AUTO
    batch: int = 256

    @abstractmethod
    def _loss(self, n_labels: int, rng: np.random.Generator) -> HeadLoss:
        """The loss for ``n_labels`` labels."""

    def check_parameters(self) -> None:
        super().check_parameters()
        open_settings(self).check()

    def _solve(self, training: Training) -> Solved:
        n_labels = label_matrix(training, type(self).__name__).shape[1]
        found, facts = fit_head(
            training, open_settings(self), self.n_bits, lambda rng: self._loss(n_labels, rng)
        )
        return Solved(None, found, facts)


@dataclass(eq=False, repr=False, kw_only=True)
class CenteredHead(TwoStepBaseline):
    """A head that draws rows towards fixed codewords of their labels, which are the learned codes.

    Parameters as in `Head`, and ``map``, ``alpha`` and ``n_centers`` as in `TwoStepBaseline`; map="own" is
    the trained head.
    """

    features: Any = AUTO
    step: float | str = AUTO
    penalty: float | str = AUTO
    n_epochs: int | str = AUTO
    batch: int = 256

    @abstractmethod
    def _loss(self, codewords: Floats) -> CenteredLoss:
        """The loss that draws rows to these codewords."""

    @abstractmethod
    def _codewords(self, n_labels: int, rng: np.random.Generator) -> Floats:
        """Codewords (labels, bits) of ±1."""

    def check_parameters(self) -> None:
        super().check_parameters()
        open_settings(self).check()

    def _solve(self, training: Training) -> Solved:
        labels = label_matrix(training, type(self).__name__)
        codewords = self._codewords(labels.shape[1], training.rng)
        loss = self._loss(codewords)
        targets = majority(labels, codewords)
        if self._chosen != "own":
            return Solved(targets)
        found, facts = fit_head(training, open_settings(self), self.n_bits, lambda rng: loss)
        return Solved(targets, found, facts)


def open_settings(head: Any) -> OpenSettings:
    """What the user of a head gave."""
    return OpenSettings(head.features, head.step, head.penalty, head.n_epochs, head.batch)


class OrthoHash(CenteredHead):
    """One loss: the softmax of ``8·(cos(s, c) − .2·[own label])`` over random codewords c of the labels.

    Constants are those of the authors' program (scale 8, margin .2, codewords of fair coins, batches of 256,
    labels of several tags in equal shares). What differs: the head learns intercepts where theirs has batch
    normalization. Pitfall: with few bits random codewords can be near each other.

    Reference: Hoe, Ng, Zhang, Chan, Song, Xiang. One loss for all: deep hashing with a single cosine
    similarity based learning objective. NeurIPS 2021.
    """

    card = Card(
        "Hoe et al., NeurIPS 2021; its loss on given features",
        LABELS,
        OWN_MAP,
        f"a head in place of a network, intercepts in place of batch normalization; {TUNED}",
    )

    def _codewords(self, n_labels: int, rng: np.random.Generator) -> Floats:
        return np.where(rng.random((n_labels, self.n_bits)) < 0.5, 1.0, -1.0)

    def _loss(self, codewords: Floats) -> CenteredLoss:
        return OrthoHashLoss(codewords)


class CSQ(CenteredHead):
    """Central similarity quantization: cross entropy of ``(1 + tanh s)/2`` with the bits of hash centers.

    Centers are rows of a Hadamard matrix, and beyond their number their negatives, then fair coins; a row
    with several tags is drawn to the majority, ties going to its first. Plus 1e-4 times ``(|tanh s| − 1)²``.
    What differs: rows of the matrix are drawn, not the first ones, which repeat their columns where there are
    more bits than classes; the majority's ties are not random.

    Reference: Yuan, Wang, Zhang, Tay, Jie, Liu, Feng. Central similarity quantization for efficient image and
    video retrieval. CVPR 2020.
    """

    card = Card(
        "Yuan et al., CVPR 2020; its loss on given features",
        LABELS,
        OWN_MAP,
        f"a head in place of a network; rows of the Hadamard matrix are drawn; constants from a "
        f"re-implementation; {TUNED}",
    )

    def _codewords(self, n_labels: int, rng: np.random.Generator) -> Floats:
        return hash_centers(n_labels, self.n_bits, rng)

    def _loss(self, codewords: Floats) -> CenteredLoss:
        return CSQLoss(codewords)


class DPN(CenteredHead):
    """Deep polarised network: ``max(0, 1 − s·t)`` for each bit, towards random codewords, half of them ones.

    Codewords stay as drawn (the paper also has a variant that updates them). Tags as in `CSQ`.

    Reference: Fan, Ng, Ju, Zhang, Chan. Deep polarized network for supervised learning of accurate binary
    hashing codes. IJCAI 2020.
    """

    card = Card(
        "Fan et al., IJCAI 2020; its loss on given features",
        LABELS,
        OWN_MAP,
        f"a head in place of a network; constants from a re-implementation; {TUNED}",
    )

    def _codewords(self, n_labels: int, rng: np.random.Generator) -> Floats:
        half = np.where(np.arange(self.n_bits) < self.n_bits // 2, -1.0, 1.0)
        return np.stack([rng.permutation(half) for _ in range(n_labels)])

    def _loss(self, codewords: Floats) -> CenteredLoss:
        return DPNLoss(codewords)


class GreedyHash(Head):
    """A softmax classifier on ``sign(s)``, whose gradient passes the sign unchanged, and .1·||s| − 1|³.

    Of several tags, labels count in equal shares (the authors have classes alone).

    Reference: Su, Zhang, Han, Tian. Greedy hash: towards fast optimization for accurate hash coding in CNN.
    NeurIPS 2018.
    """

    card = Card(
        "Su et al., NeurIPS 2018; its loss on given features",
        LABELS,
        OWN_MAP,
        f"a head in place of a network; tags in equal shares; constants from a re-implementation; {TUNED}",
    )

    def _loss(self, n_labels: int, rng: np.random.Generator) -> HeadLoss:
        return GreedyHashLoss(n_labels, self.n_bits, rng)


class HashNet(Head):
    """Likelihood of kinship in every pair of a batch, ``σ(10/d · h·h')`` with h = tanh(β s), β growing.

    Kin and strangers weigh alike in every batch. β grows as ``√(1 + 50 t)`` while t goes from 0 to 1, as far
    as the authors' program takes it in 10,000 iterations.

    Reference: Cao, Long, Wang, Yu. HashNet: deep learning to hash by continuation. ICCV 2017.
    """

    card = Card(
        "Cao et al., ICCV 2017; its loss on given features",
        LABELS,
        OWN_MAP,
        f"a head in place of a network; pairs within a batch; {TUNED}",
    )

    def _loss(self, n_labels: int, rng: np.random.Generator) -> HeadLoss:
        return HashNetLoss()


class CRH(Head):
    """Center-reassigned hashing: as `OrthoHash`, and labels choose their codewords anew while training.

    Of a codebook of random codewords, twice as many as labels, every label takes the one that agrees most with
    the codes of its rows (an assignment that maximizes the sum), ten times in the first half of a fit.

    What is ours: size of the codebook, number of reassignments, loss and constants (of OrthoHash; the authors'
    is a margin-based cross entropy, too), one head where the authors have several.

    Reference: Yin, Yin, Hou, Liu, Chen, Zhang. Codebook-centric deep hashing: end-to-end joint learning of
    semantic hash centers and neural hash function. AAAI 2026 (arXiv 2511.12162).
    """

    card = Card(
        "Yin et al., AAAI 2026; its centers on given features",
        LABELS,
        OWN_MAP,
        f"**a reconstruction** from the abstract: OrthoHash's loss and constants, 2 C random codewords, ten "
        f"reassignments, one codebook; a head in place of a network; {TUNED}",
    )

    def _loss(self, n_labels: int, rng: np.random.Generator) -> HeadLoss:
        return CRHLoss(np.where(rng.random((2 * n_labels, self.n_bits)) < 0.5, 1.0, -1.0), n_labels)


class CroVCA(Head):
    """Cross-view code alignment with labels: each bit predicts the bit of its label's mean in the batch.

    Cross entropy with those bits, and a coding rate that keeps the codes apart. Constants are those of the
    authors' program (ε .05, rate .1, batches of 256). Without labels its two views are pictures that were
    altered; given features have none, so that half is not here.

    Reference: Moummad, Zaher, Goëau, Joly. Image hashing via cross-view code alignment in the age of
    foundation models. arXiv 2510.27584, 2025.
    """

    card = Card(
        "Moummad et al., arXiv 2510.27584; its supervised loss on given features",
        LABELS,
        OWN_MAP,
        f"a linear head in place of two layers, intercepts in place of batch normalization, one view; {TUNED}",
    )

    def _loss(self, n_labels: int, rng: np.random.Generator) -> HeadLoss:
        return CroVCALoss()


def hash_centers(n_labels: int, n_bits: int, rng: np.random.Generator) -> Floats:
    """±1 rows (C, d): drawn from a Hadamard matrix, then from its negative, then fair coins."""
    from scipy.linalg import hadamard

    coins = np.where(rng.random((n_labels, n_bits)) < 0.5, 1.0, -1.0)
    if n_bits & (n_bits - 1):
        return coins
    rows = hadamard(n_bits, dtype=np.float64)[rng.permutation(n_bits)]
    return np.concatenate([rows, -rows, coins])[:n_labels]
