"""The pieces of learning by expected supervision: spectral codes for any rarity, rows split off to choose
on, codes of tag sets fitted to the map's bits. What is chosen, and how, is told in `choosing`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._hasher import Training
from ..energies import Energy
from ..inference.coordinate import polish_rows
from ..inference.problem import DenseProblem
from ..inference.readout import LinearReadout
from ..inference.sample import Sample
from ..inference.spectral import spectral_basis
from ..inference.targets import AnchorSums, Targets
from ..maps.label_models import LabelModel, LinearLabels
from ..maps.preparation import Preparation
from .label_learners import LabelledSet, Yardstick

__all__ = [
    "Embedding",
    "HeldOut",
    "SpectralCoder",
    "labelled_part",
    "recoded_groups",
    "split_often",
    "split_rows",
    "temper",
    "true_embedding",
    "yardstick_for",
]

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Embedding:
    """Relaxed codes of rows before rotation: ``S_x @ matrix − constant``, (m, r) and (r,)."""

    matrix: Floats
    constant: Floats

    def of(self, similarity: Floats) -> Floats:
        """Relaxed codes (k, r)."""
        return similarity @ self.matrix - self.constant


class SpectralCoder:
    """Spectral codes of a sample, for any rarity; embeddings are computed once each."""

    def __init__(self, energy: Energy, sample: Sample, similarity: Floats, n_bits: int, targets: str) -> None:
        self.energy, self.sample, self.similarity = energy, sample, similarity
        self.n_bits, self.targets = n_bits, targets
        self._known: dict[float, Embedding] = {}

    def embedding(self, rarity: float) -> Embedding:
        """Embedding with anchors weighted by ``kin share^−rarity``."""
        if rarity not in self._known:
            weights = self.sample.weights / self.sample.weights.sum()
            share = (self.similarity > 0) @ weights
            weights = weights * np.maximum(share, 1e-6) ** -rarity
            targets = Targets.of(self.targets, self.similarity, weights)
            problem = DenseProblem(self.energy, targets.rows(self.similarity), weights, self.n_bits)
            sums = AnchorSums.of(targets, spectral_basis(problem).readout)
            self._known[rarity] = Embedding(*sums.folded())
        return self._known[rarity]

    def energy_of(self, codes: Floats) -> float:
        """Energy of ±1 codes (m, d) of the sample."""
        targets = Targets.of(self.targets, self.similarity, self.sample.weights)
        rows = targets.rows(self.similarity)
        return DenseProblem(self.energy, rows, self.sample.weights, self.n_bits).energy(codes)

    def readout(self, rarity: float, rotation: Floats) -> LinearReadout:
        """The rotated embedding as a readout; scores have unit size on the sample."""
        found = self.embedding(rarity)
        matrix, constant = found.matrix @ rotation, found.constant @ rotation
        size = float(np.sqrt(((self.similarity @ matrix - constant) ** 2).mean())) or 1.0
        return LinearReadout(matrix / size, constant / size, 1.0)


@dataclass(frozen=True)
class HeldOut:
    """Rows to choose on: a part to fit with, and rows split off from it, by number.

    ``places`` (of the part, in the labelled set) say where its labels and weights stand.
    """

    part: Ints
    held: Ints
    places: Ints
    part_features: Floats32
    held_features: Floats32


def split_rows(full: LabelledSet, rng: np.random.Generator) -> HeldOut:
    """Rows to try settings on and rows to judge them by: at most 20,000 and 2,000."""
    return split_often(full, rng, 1)[0]


def split_often(full: LabelledSet, rng: np.random.Generator, times: int) -> list[HeldOut]:
    """Several such splits, each with other rows to judge by; ``times`` is at most 5."""
    order = rng.permutation(full.some(rng, len(full.rows)))
    n_held = min(2000, len(order) // 5)
    n_part = int(np.clip(4_000_000 // max(full.labels.shape[1], 1), 4000, 20_000))
    splits = []
    for turn in range(times):
        # Kept in random order: parts of the part are taken from its front, and rows may be sorted by class.
        turned = np.roll(order, -turn * n_held)
        part, held = turned[n_held : n_held + n_part], turned[:n_held]
        held_features = _as_if_new(full.features[held], full.moments.preparation)
        splits.append(HeldOut(full.rows[part], full.rows[held], part, full.features[part], held_features))
    return splits


def _as_if_new(features: Floats32, preparation: Preparation) -> Floats32:
    """Prepared rows without their similarity to themselves: a row that is an RBF centre knows its own, a new
    row never does. 0 is the mean of a column, so the entry says nothing."""
    if preparation.rbf is None:
        return features
    itself = ((1.0 - preparation.mean) / preparation.scale).astype(np.float32)
    return np.where(np.isclose(features, itself, rtol=1e-4, atol=1e-4), np.float32(0), features)


def temper(model: LabelModel, factor: float) -> LabelModel:
    """Soften a logistic model's certainty; other models have no scores to soften."""
    if isinstance(model, LinearLabels) and model.link != "cut" and factor != 1:
        scale = np.float32(factor)
        return LinearLabels(scale * model.weights, scale * model.intercept, model.link)
    return model


def true_embedding(training: Training, coder: SpectralCoder, embedding: Embedding, rows: Ints) -> Floats:
    """Relaxed codes of rows from their known supervision."""
    groups, inverse = np.unique(training.supervision.group_of_row[rows], return_inverse=True)
    return embedding.of(training.supervision.similarity(groups, coder.sample.groups))[inverse]


def recoded_groups(
    training: Training,
    groups: Ints,
    scores: Floats,
    row_groups: Ints,
    row_bits: npt.NDArray[np.bool_],
    coder: SpectralCoder,
    curvature: float,
) -> npt.NDArray[np.bool_]:
    """Codes of groups fitted to the bits the map gives to some rows: coordinate descent on each group.

    A query is compared with learned codes but comes through the map, so the groups' codes should agree
    with the map's bits of their kin, not with the kin's own learned codes. Memory: groups × d.
    """
    bits = np.where(row_bits, 1.0, -1.0)
    start = np.where(scores > 0, 1.0, -1.0)
    weights = coder.sample.weights / coder.sample.weights.sum()
    mean = float(weights @ coder.similarity @ weights)
    pull = training.supervision.product(groups, row_groups, bits / len(bits)) - mean * bits.mean(axis=0)
    gram = bits.T @ bits / len(bits)
    counts = training.supervision.group_weights(training.weights)[groups][:, None]
    # The best multiple of B Bᵀ to compare the targets with, by least squares.
    scale = (counts * start * pull).sum() / max((counts * (start @ gram) * start).sum(), 1e-12)
    if scale <= 0:
        return scores > 0
    codes = start.copy()
    polish_rows(codes, pull / scale, gram, curvature, 10)
    return codes > 0


def yardstick_for(
    training: Training, sample: Sample, patterns: npt.NDArray[np.uint8], exclusive: bool, rows: HeldOut
) -> Yardstick:
    """Held-out rows as a yardstick for label models."""
    groups = training.supervision.group_of_row[rows.held]
    kin = training.supervision.similarity(groups, sample.groups) > 0
    return Yardstick(rows.held_features, kin, patterns, sample.weights, exclusive)


def labelled_part(full: LabelledSet, rows: HeldOut) -> LabelledSet:
    """The part of the rows that settings are tried on, as a set of its own."""
    z, labels = rows.part_features, sp.csr_array(full.labels[rows.places])
    weights = None if full.weights is None else full.weights[rows.places]
    w = np.ones(len(z)) if weights is None else weights
    total = float(w.sum())
    means = (labels.T @ w) / total
    weighted = z if weights is None else z * w[:, None].astype(np.float32)
    gram = (weighted.T @ z).astype(np.float64)
    cross = np.asarray((sp.csr_array(labels, dtype=np.float32).T @ weighted).T, np.float64)
    cross -= np.outer(weighted.sum(axis=0, dtype=np.float64), means)
    moments = replace(
        full.moments,
        n_rows=len(z),
        weight=total,
        gram=gram,
        cross=cross,
        target_mean=means,
        target_squares=means * total,
    )
    return LabelledSet(rows.part, z, labels, weights, moments, full.exclusive, full.n_jobs)
