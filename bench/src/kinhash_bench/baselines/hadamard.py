"""Hadamard codes: classes are rows of a Hadamard matrix, as far from each other as can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinhash.paper.method import Card, Solved
from kinhash.paper.similarity import Training
from kinhash.plugins import Floats

from .cards import LABELS
from .row_sets import RidgeRows, TrainingRows, count_rows, rbf_preparation
from .two_step import TwoStepBaseline, label_matrix

__all__ = ["HadamardHashing"]


class HadamardHashing(TwoStepBaseline):
    """HC-SDH: class c has row c of a Hadamard matrix as its code; least squares on RBF features maps to it.

    Objective: ``‖B − φ P‖²`` with B given: any two classes differ in exactly half the bits. φ as in `SDH`,
    without the column of ones, and without a penalty. Nothing is learned but the map, which makes it the
    cheapest strong line on classes.

    The authors need a number of bits that is a power of two and at least the number of classes. For others
    we take signs of random projections of Hadamard rows of the next order that holds all classes (as
    HMOH does). With tags (ours) a row takes the majority of its tags' rows, ties going to its first tag.
    The first row of the matrix is all ones, and some bits are the same for all classes when
    there are few classes: ``report_.dead_bits``.

    Learns from classes or tags. Their demo maps the database; `codes_` are the class codes.

    Parameters as in `TwoStepBaseline`; map="own" is least squares on ``n_centers`` RBF features.
    Memory beyond X: n·n_centers·4 bytes (see `TrainingRows`), 8·n·n_bits bytes, 3·8·n_centers².

    Reference: Koutaki, Shirai, Ambai. Hadamard coding for supervised discrete hashing. TIP 2018.
    """

    card = Card(
        "HC-SDH: Koutaki, Shirai, Ambai, TIP 2018",
        LABELS,
        "least squares on 1,000 RBF features",
        "numbers of bits that are no power of two; majority of codewords for tags",
    )

    def _solve(self, training: Training) -> Solved:
        counted = count_rows(training, label_matrix(training, "HadamardHashing"))
        codewords = hadamard_codewords(counted.labels.shape[1], self.n_bits, training.rng)
        B = majority(counted.labels, codewords)
        if not (isinstance(self.map, str) and self.map == "own"):
            return Solved(counted.everywhere(B), None)
        rows = TrainingRows(counted.training, rbf_preparation(counted.training, self.n_centers))
        least_squares = RidgeRows(rows, 0.0, constant=False)
        return Solved(counted.everywhere(B), least_squares.as_map(least_squares.fit(B)))


def hadamard_codewords(n_classes: int, n_bits: int, rng: np.random.Generator) -> Floats:
    """±1 codewords (C, d): Hadamard rows where their size allows, else signs of their projections."""
    from scipy.linalg import hadamard

    order = 1 << (n_classes - 1).bit_length()
    if n_bits >= order and n_bits & (n_bits - 1) == 0:
        return hadamard(n_bits, dtype=np.float64)[:n_classes]
    rows = hadamard(order, dtype=np.float64)[:n_classes]
    return np.where(rows @ rng.standard_normal((order, n_bits)) > 0, 1.0, -1.0)


def majority(labels: Any, codewords: Floats) -> Floats:
    """±1 codes (n, d): the sign of the sum of a row's codewords; ties go to its first; 0 without any."""
    sums: Floats = labels @ codewords
    first = np.zeros_like(sums)
    some = np.diff(labels.indptr) > 0
    first[some] = codewords[labels.indices[labels.indptr[:-1][some]]]
    return np.sign(sums + 0.5 * first)
