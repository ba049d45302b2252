"""Spectral hashing: eigenfunctions of a box around the data, the slowest waves first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kinhash.models import Builder
from kinhash.paper.maps import PreparedMap, Standardized
from kinhash.paper.method import Card, Solved, Unsupervised
from kinhash.paper.similarity import Training
from kinhash.paper.unsupervised import centered_moments, principal_directions
from kinhash.plugins import Array, Floats, Floats32, Ints, block_slices, map_blocks

from ..model_steps import Lookup
from .cards import FEATURES

__all__ = ["PeriodicMap", "SpectralHashing", "slowest_waves"]

ANGLE_BITS, TURN_BITS, SCORE_BITS = 20, 14, 20  # parts of a turn, of them in the table, and of a score


@dataclass(frozen=True)
class PeriodicMap(PreparedMap):
    """``scores = cos(z W + phase)`` with z the prepared row: W (q, d) float32, phase (d,) float32."""

    weights: Floats32
    phase: Floats32
    kind: ClassVar[str] = "periodic"

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return self.weights.shape[1]

    def scores(self, block: Array) -> Array:
        scores: Array = np.cos(self.preparation(block) @ self.weights + self.phase)
        return scores

    def steps(self, builder: Builder) -> tuple[int, Array]:
        # Angles count in parts of a turn, so that a table of one turn wraps around.
        turn = 1 / (2 * np.pi)
        angles, _ = self.preparation.product(builder, self.weights * turn, self.phase * turn, ANGLE_BITS)
        table = np.rint(np.cos(np.arange(2**TURN_BITS) * (2 * np.pi / 2**TURN_BITS)) * 2.0**SCORE_BITS)
        step = Lookup((angles,), table.astype(np.int32), 0, ANGLE_BITS - TURN_BITS, 1)
        return builder.add(step), np.full(self.n_bits, SCORE_BITS, np.int16)


class SpectralHashing(Unsupervised):
    """Balanced, uncorrelated bits that change slowly over the data, in closed form for a uniform box.

    Objective: ``min Σ w_ij ‖y_i − y_j‖²`` over balanced, uncorrelated codes, w the nearness of rows. For rows
    spread evenly in a box its relaxation is solved by cosines along the sides.

    Steps: center the columns; project on the top min(d, p) principal components; side j of the box runs from
    the least to the largest projection, length R_j; waves ``cos(k π (x_j − least_j) / R_j)`` with
    k = 1, 2, … along one side each; the d waves of lowest frequency k/R_j are the bits.

    Nothing is random. Rows outside the box meet the same waves again. Differs from the authors' program in
    the sign of the components, which is fixed here (the largest entry is positive), and matters,
    since a wave starts at the lower end. Database codes: mapped. Labels are not read.

    Parameters as in `Unsupervised`. Memory beyond X: p² and a few blocks of rows.

    Reference: Weiss, Torralba, Fergus. Spectral hashing. NIPS 2008.
    """

    card = Card(
        "Weiss, Torralba, Fergus, NIPS 2008",
        FEATURES,
        "cosines along principal components",
        "the sign of the components is fixed",
    )

    def _solve(self, training: Training) -> Solved:
        moments, shares = centered_moments(training)
        directions, values = principal_directions(moments, shares, self.n_bits)
        varying = values > 1e-12 * max(values[0], 1e-300)
        directions = shares[:, None] * directions[:, varying]
        if not varying.any():  # all rows are equal: any wave will do, and no bit will tell them apart
            directions = np.zeros((len(shares), 1))
        low, high = projected_range(training, moments, directions)
        lengths = np.maximum(high - low, 1e-30)
        sides, waves = slowest_waves(lengths, self.n_bits)
        frequency = np.pi * waves / lengths[sides]
        weights = (directions[:, sides] * frequency).astype(np.float32)
        phase = (-low[sides] * frequency).astype(np.float32)
        facts = {"sides": sides, "waves": waves}
        return Solved(None, PeriodicMap(moments.preparation, weights, phase), facts)


def slowest_waves(lengths: Floats, n_bits: int) -> tuple[Ints, Ints]:
    """Sides (d,) and wave numbers (d,) of the lowest frequencies ``k / length``; equal ones by side."""
    most = np.ceil((n_bits + 1) * lengths / lengths.max()).astype(np.int64) - 1
    sides = np.repeat(np.arange(len(lengths)), most)
    waves = np.concatenate([np.arange(1, count + 1) for count in most])
    order = np.argsort(waves / lengths[sides], kind="stable")[:n_bits]
    return sides[order], waves[order]


def projected_range(training: Training, moments: Standardized, directions: Floats) -> tuple[Floats, Floats]:
    """Least and largest projection of the rows that count on each direction."""
    weights, narrow = training.known_weights, directions.astype(np.float32)

    def one(part: slice) -> Floats:
        projected = (moments.preparation(training.rows.read(part)) @ narrow).astype(np.float64)
        if weights is not None:
            projected = projected[weights[part] > 0]
        return np.stack([projected.min(axis=0, initial=np.inf), projected.max(axis=0, initial=-np.inf)])

    blocks = block_slices(len(training.rows), training.rows.block_rows())
    ranges = np.stack(list(map_blocks(one, blocks, training.n_jobs)))
    return ranges[:, 0].min(axis=0), ranges[:, 1].max(axis=0)
