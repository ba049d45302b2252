"""A random codeword per class and a ridge map: how far one comes without learning any code."""

from __future__ import annotations

from kinhash.paper.method import Card, Solved
from kinhash.paper.similarity import Training

from .cards import LABELS
from .two_step import TwoStepBaseline, label_matrix

__all__ = ["RandomCodewords"]


class RandomCodewords(TwoStepBaseline):
    """Every class gets a random code; new rows are mapped by ridge regression onto the codes.

    Objective: none. Random codes of d bits differ in about d/2 ± √d/2 places, so with many bits they separate
    classes nearly as well as any; what is left is how well the map knows the class. The first line to
    print beside a supervised method.

    With tags, a row's code is the sign of the sum of its tags' normal vectors (random hyperplanes on the
    label matrix): rows that share tags share bits. Learns from classes or tags. `codes_` are these codes.

    Parameters as in `TwoStepBaseline`; map="own" is "linear". Memory beyond X: 8·n·n_bits bytes and p².
    """

    card = Card(
        "our own reference: a random codeword per class",
        LABELS,
        "ridge",
        "all of it",
    )

    def _solve(self, training: Training) -> Solved:
        labels = label_matrix(training, "RandomCodewords")
        vectors = training.rng.standard_normal((labels.shape[1], self.n_bits))
        sums = labels @ vectors
        return Solved((sums > 0) * 2.0 - 1.0, None)
