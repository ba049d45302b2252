"""MIHash: distances should tell who is kin, measured by mutual information."""

from __future__ import annotations

import numpy as np

from kinhash.paper.method import Card

from .cards import LABELS
from .head import HeadLoss
from .heads import OWN_MAP, TUNED, Head
from .histograms import MutualInformation

__all__ = ["MIHash"]


class MIHash(Head):
    """Maximize ``I(D; C)``: what the distance of two rows says about whether they are kin.

    Each row of a batch asks the others. With ``φ = tanh(s/2)`` and ``D = (d − φ·φ')/2``, distances fall into
    soft histograms of d/2 + 1 bins (`histograms.py`), one of kin and one of strangers; the loss is
    ``H(D | C) − H(D)``, mean over rows. Constants are those of the authors' program: d/2 bins, batches of
    256, steepness 1. Rows without kin or without strangers in their batch do not ask.

    Parameters as in `heads.Head`. Pitfall: with many classes a batch holds few kin of each row.

    Reference: Cakir, He, Bargal, Sclaroff. MIHash: online hashing with mutual information. ICCV 2017; Hashing
    with mutual information. TPAMI 2019.
    """

    card = Card(
        "Cakir, He, Bargal, Sclaroff, ICCV 2017 and TPAMI 2019",
        LABELS,
        OWN_MAP,
        f"a head in place of a network, in batches and not online; Adam in place of momentum; {TUNED}",
    )

    def _loss(self, n_labels: int, rng: np.random.Generator) -> HeadLoss:
        return MutualInformation(max(self.n_bits // 2, 1))
