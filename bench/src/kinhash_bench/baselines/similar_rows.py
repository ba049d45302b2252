"""Rows prepared by their similarities to training rows, alone or after their own columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from kinhash.models import SIMILARITY_BITS, Builder
from kinhash.paper.maps import GUESS_ROWS, Preparation, first_preparation
from kinhash.plugins import Array, Floats, Floats32, Ints, Rows

__all__ = ["Similarities", "SimilarityPreparation", "guess_of_block", "guess_of_rows"]

# A column ends at this many spreads; a sum with similarities has these bits.
LARGEST, SUM_BITS = 128.0, 45


@dataclass(frozen=True)
class Similarities(ABC):
    """Similarities of rows to ``centers`` (k, p), which are training rows: a stored model contains them."""

    centers: Array
    width: float

    @abstractmethod
    def __call__(self, block: Floats) -> Floats:
        """Similarities (b, k) of raw rows (b, p), with their columns before them where these are kept."""

    @abstractmethod
    def steps(self, builder: Builder) -> int:
        """The place of the similarities among the steps of whole numbers."""

    def prepared(self, block: Floats, preparation: SimilarityPreparation) -> Floats32:
        """The same, standardized."""
        return preparation.standardized(self(block))


@dataclass(frozen=True)
class SimilarityPreparation(Preparation):
    """``(f(x) − mean) / scale`` per column, with f the similarities of a row, or its columns and these."""

    similarities: Similarities | None = None  # always given; a field after one that has a default

    @property
    def near(self) -> Similarities:
        """The similarities."""
        assert self.similarities is not None
        return self.similarities

    def __call__(self, block: Floats) -> Floats32:
        return self.near.prepared(block, self)

    def of_rows(self, rows: Rows, part: slice | Ints) -> Floats32:
        return self(rows.read(part))

    def product(
        self, builder: Builder, weights: Floats32, constant: Floats32, units: int | Array | None = None
    ) -> tuple[int, Array]:
        n, own = self.n_columns, np.asarray(weights, np.float64)
        folded = own[n:] / self.scale[n:, None]
        rest = constant - self.mean[n:] @ folded
        plus = None
        if n:
            columns = self.mean[:n], self.scale[:n]
            if units is None:  # one for both parts
                largest = LARGEST * np.abs(own[:n]).sum(axis=0) + np.abs(folded).sum(axis=0) + np.abs(rest)
                units = SUM_BITS - np.ceil(np.log2(np.where(largest > 0, largest, 1.0))).astype(np.int64)
            plus, units = builder.affine(*columns, own[:n], np.zeros(own.shape[1]), units)
        return builder.linear(self.near.steps(builder), SIMILARITY_BITS, folded, rest, units, plus)

    @property
    def n_columns(self) -> int:
        """How many columns of the row itself come before the similarities."""
        return len(self.mean) - len(self.near.centers)

    @property
    def n_features(self) -> int:
        return int(self.near.centers.shape[1])


def guess_of_block(block: Floats, similarities: Similarities | None) -> Preparation:
    """Means and spreads of some rows, by their columns where there are no similarities."""
    if similarities is None:
        return Preparation.first_guess(block)
    guess = Preparation.first_guess(similarities(block))
    return SimilarityPreparation(guess.mean, guess.scale, similarities=similarities)


def guess_of_rows(rows: Rows, similarities: Similarities | None) -> Preparation:
    """The same of some rows spread over the matrix."""
    if similarities is None:
        return first_preparation(rows)
    n = len(rows)
    some = np.unique(np.linspace(0, n - 1, min(n, GUESS_ROWS)).astype(np.int64))
    return guess_of_block(rows.read(some), similarities)
