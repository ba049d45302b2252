"""Learning by expected supervision: label model, spectral codes, and a few choices made on held-out rows.

Every choice is made inside ``fit`` on rows split off from the training rows, by the sum of learned and
mapped mAP (see docs/research.md for what each is worth):

* *temper*: label scores are multiplied by it before the sigmoid; below 1 it softens a label model that
  is too sure of itself, so that the runners-up shape the code too;
* *rarity*: anchors weigh ``kin share^−rarity``, so that common tags do not take all the bits;
* *recode*: learned codes of tag sets are fitted to the bits the map really produces, with this curvature;
* *start*: which of several random rotations rounds best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._hasher import Training
from ..codes import Codes, pack_bits
from ..energies import Energy
from ..inference.coordinate import polish_rows
from ..inference.problem import DenseProblem
from ..inference.readout import LinearReadout
from ..inference.sample import Sample
from ..inference.spectral import fit_rotation, spectral_basis
from ..inference.targets import AnchorSums, Targets
from ..labels import Labels
from ..maps.expected import expected_similarity
from ..maps.label_models import LabelModel, LinearLabels
from .label_learners import LabelledSet, Yardstick

__all__ = ["Choice", "Embedding", "HeldOut", "SpectralCoder", "choose", "split_rows", "temper"]

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
GAIN = 0.002  # a choice must earn this much held-out mAP (learned + mapped) to replace the simpler one


@dataclass(frozen=True)
class Choice:
    """What was chosen; the defaults are the plain method."""

    temper: float = 1.0
    rarity: float = 0.0
    recode: float = 0.0
    start: int = 0


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
    order = rng.permutation(full.some(rng, len(full.rows)))
    n_held = min(2000, len(order) // 5)
    n_part = int(np.clip(4_000_000 // max(full.labels.shape[1], 1), 4000, 20_000))
    # Kept in random order: parts of the part are taken from its front, and rows may be sorted by class.
    part, held = order[n_held : n_held + n_part], order[:n_held]
    return HeldOut(full.rows[part], full.rows[held], part, full.features[part], full.features[held])


def temper(model: LabelModel, factor: float) -> LabelModel:
    """Soften a logistic model's certainty; other models have no scores to soften."""
    if isinstance(model, LinearLabels) and model.link != "cut" and factor != 1:
        scale = np.float32(factor)
        return LinearLabels(scale * model.weights, scale * model.intercept, model.link)
    return model


@dataclass
class Trial:
    """Everything needed to try choices on held-out rows; rotations are remembered."""

    training: Training
    coder: SpectralCoder
    patterns: npt.NDArray[np.uint8]
    exclusive: bool
    rows: HeldOut
    model: LabelModel
    seeds: Ints
    rotate_for_map: bool = True
    done: dict[tuple[float, float, int], Any] = field(default_factory=dict)

    def rotation(self, choice: Choice) -> Floats:
        """The rotation this choice leads to."""
        return self._mapped(choice)[0]

    def value(self, choice: Choice) -> float:
        """Held-out mAP against learned codes plus against mapped codes."""
        from ..metrics import mean_average_precision

        rotation, part_bits, held_bits, mapped = self._mapped(choice)
        supervision = self.training.supervision
        part_groups = supervision.group_of_row[self._shown]
        unique, inverse = np.unique(part_groups, return_inverse=True)
        readout = self.coder.readout(choice.rarity, rotation)
        scores = readout.scores(supervision.similarity(unique, self.coder.sample.groups))
        learned = scores > 0
        if choice.recode:
            few = min(4000, len(part_bits))
            learned = recoded_groups(
                self.training, unique, scores, part_groups[:few], part_bits[:few], self.coder, choice.recode
            )
        labels = _labels(self.training)
        found = mean_average_precision(
            _codes(held_bits), _codes(learned[inverse]), labels[self.rows.held], labels[self._shown]
        )
        return float(np.nan_to_num(found)) + mapped

    @property
    def _shown(self) -> Ints:
        return self.rows.part[:10_000]

    def _mapped(self, choice: Choice) -> tuple[Floats, Any, Any, float]:
        from ..metrics import mean_average_precision

        key = (choice.rarity, choice.temper, choice.start)
        if key not in self.done:
            model = temper(self.model, choice.temper)
            embedding = self.coder.embedding(choice.rarity)
            part = embedding.of(self._expected(model, self.rows.part_features[: len(self._shown)]))
            held = embedding.of(self._expected(model, self.rows.held_features))
            rng = np.random.default_rng(self.seeds[choice.start])
            rotation = fit_rotation(self._rotated_on(embedding, part), self.coder.n_bits, rng)
            part_bits, held_bits = part @ rotation > 0, held @ rotation > 0
            labels = _labels(self.training)
            mapped = mean_average_precision(
                _codes(held_bits), _codes(part_bits), labels[self.rows.held], labels[self._shown]
            )
            self.done[key] = (rotation, part_bits, held_bits, float(np.nan_to_num(mapped)))
        return self.done[key]

    def _rotated_on(self, embedding: Embedding, predicted: Floats) -> Floats:
        if self.rotate_for_map:
            return predicted
        return true_embedding(self.training, self.coder, embedding, self._shown)

    def _expected(self, model: LabelModel, features: Floats32) -> Floats:
        return expected_similarity(model.probabilities(features), self.patterns, self.exclusive)


def true_embedding(training: Training, coder: SpectralCoder, embedding: Embedding, rows: Ints) -> Floats:
    """Relaxed codes of rows from their known supervision."""
    groups, inverse = np.unique(training.supervision.group_of_row[rows], return_inverse=True)
    return embedding.of(training.supervision.similarity(groups, coder.sample.groups))[inverse]


def choose(trial: Trial, n_starts: int) -> tuple[Choice, float]:
    """Greedy: one setting after the other, each kept only if it clearly pays on held-out rows."""
    best = Choice()
    value = trial.value(best)
    for candidate, gain in _candidates(trial, n_starts):
        changed = replace(best, **candidate)
        found = trial.value(changed)
        if found > value + gain:
            best, value = changed, found
    return best, value


def _candidates(trial: Trial, n_starts: int) -> Iterator[tuple[dict[str, Any], float]]:
    if isinstance(trial.model, LinearLabels) and trial.model.link != "cut":
        yield from (({"temper": factor}, GAIN) for factor in (0.7, 0.5))
    if not trial.exclusive:  # classes are all alike, and their codes are free already
        yield {"rarity": 0.5}, GAIN
        yield {"recode": 1.5}, GAIN
    yield from (({"start": start}, 0.0) for start in range(1, n_starts))


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


def _codes(bits: npt.NDArray[np.bool_]) -> Codes:
    return Codes(pack_bits(bits), bits.shape[1])


def _labels(training: Training) -> Labels:
    assert training.supervision.labels is not None
    return training.supervision.labels
