"""TALR: hashing as learning to rank, with average precision that knows ties."""

from __future__ import annotations

import numpy as np

from kinhash.paper.method import Card

from .cards import LABELS
from .head import HeadLoss
from .heads import OWN_MAP, TUNED, Head
from .histograms import TieAwarePrecision

__all__ = ["TALR"]


class TALR(Head):
    """Maximize a relaxation of tie-aware average precision: the closest of all losses to what is reported.

    Each row of a batch asks the others. Distances as in `MIHash`, in d + 1 soft bins, one for every Hamming
    distance; rows of one bin are tied. With k_l kin in bin l, K_l kin and N_l rows up to it,

        AP = Σ_l k_l (K_l + K_{l−1} + 1)/(N_l + N_{l−1} + 1) / K

    which is the simplified relaxation of the authors' program, with its constants: a bin per distance,
    batches of 256, steepness 1. Parameters as in `heads.Head`.

    Pitfall: average precision within a batch is not that of the database.

    Reference: He, Cakir, Bargal, Sclaroff. Hashing as tie-aware learning to rank. CVPR 2018.
    """

    card = Card(
        "He, Cakir, Bargal, Sclaroff, CVPR 2018",
        LABELS,
        OWN_MAP,
        f"a head in place of a network; Adam in place of momentum; {TUNED}",
    )

    def _loss(self, n_labels: int, rng: np.random.Generator) -> HeadLoss:
        return TieAwarePrecision(self.n_bits)
