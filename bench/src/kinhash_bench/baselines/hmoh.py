"""HMOH: Hadamard codewords, and a perceptron for each bit that sees every row once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinhash.base import FitReport, Model
from kinhash.errors import InvalidInput
from kinhash.labels import Labels, read_labels
from kinhash.paper.maps import LinearMap, Preparation
from kinhash.paper.method import Baseline, Card, Solved
from kinhash.paper.similarity import NoSupervision, Training
from kinhash.paper.unsupervised import center_columns
from kinhash.plugins import (
    Floats,
    Ints,
    Rows,
    Stages,
    block_slices,
    check_features,
    check_integer,
    make_rng,
    single_blas_thread,
)

from .cards import LABELS
from .hadamard import hadamard_codewords, majority
from .row_sets import count_rows
from .two_step import label_matrix

__all__ = ["HMOH"]


@dataclass(eq=False, repr=False, kw_only=True)
class HMOH(Baseline):
    """Hadamard matrix guided online hashing: averaged perceptrons towards Hadamard codewords.

    Class c has row c of a Hadamard matrix as its code, or signs of random projections of such rows where the
    number of bits is no power of two; a row with several tags the majority. Rows come one after the other:

        W ← W + x·(t∘[sign(xW) ≠ t]),    sign(0) = −1,    and the map is the mean of W over all steps

    A perceptron that starts at 0 does not depend on its step, so there is none to choose. ``fit`` goes
    through the rows once, in random order; ``partial_fit`` takes them as they come. It has no codes of its
    own: ``codes_`` are mapped ones. What differs: columns are standardized (by the first block, in a
    stream), and ties of a majority go to the first tag.

    Parameters
    ----------
    n_bits : length of the codes.
    n_labels : classes or tags that will ever come, for ``partial_fit``; None: those of the first block.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    Pitfalls: the first row of the matrix is all ones, and with few classes bits repeat. Memory beyond X: a
    block of rows.

    Reference: Lin, Ji, Liu, Sun, Chen, Tian. Hadamard matrix guided online hashing. IJCV 2020.
    """

    card = Card(
        "Lin et al., IJCV 2020",
        LABELS,
        "averaged perceptrons, no intercept",
        "columns standardized; ties of tags go to the first; no kernel features",
    )

    n_labels: int | None = None

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.n_labels is not None:
            check_integer("n_labels", self.n_labels, 1)

    def _solve(self, training: Training) -> Solved:
        counted = count_rows(training, label_matrix(training, "HMOH"))
        rng = training.rng
        codewords = hadamard_codewords(counted.labels.shape[1], self.n_bits, rng)
        learner = Perceptrons(center_columns(counted.training)[0], codewords)
        targets, order = majority(counted.labels, codewords), rng.permutation(len(counted))
        learner.see(counted.training.rows, targets, counted.weights, order)
        return Solved(None, learner.map())

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """See one more block of rows with labels, in their order. Memory: one block."""
        start = time.perf_counter()
        self.check_parameters()
        first = not hasattr(self, "_stream")
        X = check_features(self, X, reset=first)
        labels = read_labels(y, X.shape[0])
        with single_blas_thread():
            if first:
                self._stream = _Stream.start(self, X, labels)
            self._stream.add(X, labels)
            self._adopt(Model(self._stream.learner.map().whole()))
        self._stream.seconds += time.perf_counter() - start
        spent = {"all blocks": self._stream.seconds}
        self.report_ = FitReport(n_rows=self._stream.n_rows, n_bits=self.n_bits, seconds=spent)
        return self


class Perceptrons:
    """The weights of all bits after the rows seen so far, and the sums their mean needs."""

    def __init__(self, preparation: Preparation, codewords: Floats) -> None:
        self.preparation, self.codewords = preparation, codewords
        self.weights = np.zeros((len(preparation.mean), codewords.shape[1]))
        self.late = np.zeros_like(self.weights)  # every move times the step it was made at
        self.n_steps = 0

    def see(self, rows: Rows, targets: Floats, row_weights: Floats, order: Ints) -> None:
        """Rows one after the other in this order; targets of 0 are passed over."""
        for part in block_slices(len(order), rows.block_rows()):
            block = self.preparation(rows.read(order[part])).astype(np.float64)
            for z, number in zip(block, order[part], strict=True):
                self.n_steps += 1
                t = targets[number]
                wrong = np.flatnonzero(np.where(z @ self.weights > 0, 1.0, -1.0) * t < 0)
                move = np.outer(z, row_weights[number] * t[wrong])
                self.weights[:, wrong] += move
                self.late[:, wrong] += self.n_steps * move

    def map(self) -> LinearMap:
        """By the mean of the weights over all steps."""
        mean = (self.weights * (self.n_steps + 1) - self.late) / max(self.n_steps, 1)
        return LinearMap(self.preparation, mean.astype(np.float32), np.zeros(mean.shape[1], np.float32))


class _Stream:
    """Perceptrons, and which codeword belongs to which label, in the order they came."""

    def __init__(self, learner: Perceptrons) -> None:
        self.learner = learner
        self.places: dict[Any, int] = {}
        self.n_rows, self.seconds = 0, 0.0

    @classmethod
    def start(cls, hasher: HMOH, X: Any, labels: Labels) -> _Stream:
        rng = make_rng(hasher.random_state)
        n_labels = len(labels.names) if hasher.n_labels is None else hasher.n_labels
        codewords = hadamard_codewords(max(n_labels, 1), hasher.n_bits, rng)
        block = Training(Rows(X), NoSupervision(X.shape[0]), None, rng, Stages())
        return cls(Perceptrons(center_columns(block)[0], codewords))

    def add(self, X: Any, labels: Labels) -> None:
        codewords = self._codewords(labels)
        targets = majority(sp.csr_array(labels.indicator(), dtype=np.float64), codewords)
        n = X.shape[0]
        self.learner.see(Rows(X), targets, np.ones(n), np.arange(n))
        self.n_rows += n

    def _codewords(self, labels: Labels) -> Floats:
        """The codewords of a block's own labels (names, d)."""
        for name in labels.names.tolist():
            self.places.setdefault(name, len(self.places))
        if len(self.places) > len(self.learner.codewords):
            raise InvalidInput(
                f"{len(self.places)} classes or tags have come, and there are codewords for "
                f"{len(self.learner.codewords)}",
                "all of them in the first block, or n_labels at the start",
                "Start again with n_labels set to how many will ever come",
            )
        return self.learner.codewords[[self.places[name] for name in labels.names.tolist()]]
