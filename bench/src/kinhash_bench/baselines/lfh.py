"""LFH: inner products of real vectors as log-odds of being kin, then signs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinhash.paper.maps import prepare_rows
from kinhash.paper.method import Card, Solved
from kinhash.paper.similarity import Supervision, Training
from kinhash.paper.unsupervised import centered_moments, principal_directions
from kinhash.plugins import Floats, Floats32, Ints, block_slices, check_integer, check_number, map_blocks

from .cards import PAIRS
from .row_sets import RidgeRows, TrainingRows
from .two_step import TwoStepBaseline

__all__ = ["LFH", "Block", "columns_step", "row_step", "start_from_features"]

BLOCK_ROWS = 4096
HALF = np.float32(0.5)


@dataclass(eq=False, repr=False, kw_only=True)
class LFH(TwoStepBaseline):
    """Latent factor hashing, learned on sampled columns.

    Objective, over real U (n, d), with ``Θ = ½ U Uᵀ`` and s = 1 for kin, 0 for strangers:
    ``max Σ_ij [s_ij Θ_ij − log(1 + e^Θ_ij)] − ‖U‖² / (2β')``, β' = β/d.

    Steps: U starts as the principal components of the standardized features; 50 times, draw d columns Ω and
    move all other rows at once by ``u ← u − g H⁻¹`` with ``g = (s − σ(Θ)) U_Ω − u/β'`` and
    ``H = −⅛ U_Ωᵀ U_Ω − I/β'``. H bounds the curvature, so no step can lower the sampled objective:
    ``report_.facts["gains"]`` has what each round gained per pair. Fitted codes are the signs of U. The own
    map is ridge regression of the real U, penalty ``lam·n/p``, without intercept.

    Differs from the authors' program: theirs also stops on a window of validation mAP and keeps the
    best iterate. ``move_sample=True`` moves the rows of Ω, too, one by one against all rows, as their
    framework does and their released demo does not. With ``n_columns`` of at least n and
    ``move_sample`` every round is a full sweep. Listed pairs that are unknown are ignored (ours).

    Parameters
    ----------
    n_bits : length of the codes.
    beta : β, the variance of the prior times d; 30.
    n_rounds : T; 50.
    n_columns : columns per round; None = n_bits.
    move_sample : see above.
    lam : of the own map's penalty; 1.
    map : "own", or "linear" (the same with an intercept), "rbf", or a regressor, onto the real U.
    alpha, n_centers : of maps other than the own.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    Memory beyond X: the standardized features (n·p·4 bytes; see `TrainingRows`) and 3·4·n·n_bits bytes;
    S only for ``n_columns`` columns at a time, between groups of rows of equal supervision.

    Reference: Zhang, Zhang, Li, Guo. Supervised hashing with latent factor models. SIGIR 2014.
    """

    card = Card(
        "Zhang, Zhang, Li, Guo, SIGIR 2014",
        PAIRS,
        "ridge onto the real factors, no intercept",
        "no stop on validation mAP; unlisted pairs are ignored",
    )

    beta: float = 30.0
    n_rounds: int = 50
    n_columns: int | None = None
    move_sample: bool = False
    lam: float = 1.0

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("beta", self.beta, 0.0, open_low=True)
        check_integer("n_rounds", self.n_rounds, 1)
        check_number("lam", self.lam, 0.0, open_low=True)
        if self.n_columns is not None:
            check_integer("n_columns", self.n_columns, 1)

    def _solve(self, training: Training) -> Solved:
        moments, shares = centered_moments(training)
        rows = TrainingRows(training, moments.preparation)
        ones = (shares > 0).astype(np.float64)  # standardized columns, constant ones left out
        directions = principal_directions(moments, ones, self.n_bits)[0] * ones[:, None]
        U = start_from_features(training, rows, directions, self.n_bits)
        gains = self._learn_factors(training, U)
        ridge = RidgeRows(rows, self.lam * rows.total_weight / rows.n_columns, constant=False)
        found = U.astype(np.float64)
        return Solved(found, ridge.as_map(ridge.fit(found)), {"gains": gains})

    def _learn_factors(self, training: Training, U: Floats32) -> list[float]:
        supervision, weights = training.supervision, training.known_weights
        everyone = supervision.anchors if supervision.anchors is not None else np.arange(len(U))
        candidates = everyone if weights is None else everyone[weights[everyone] > 0]
        share = None if weights is None else weights[candidates] / weights[candidates].sum()
        n_columns = min(len(candidates), self.n_columns or self.n_bits)
        precision = self.n_bits / self.beta
        gains = []
        for _ in range(self.n_rounds):
            columns = np.sort(training.rng.choice(candidates, n_columns, replace=False, p=share))
            block = Block.of(supervision, columns)
            gains.append(columns_step(U, block, precision, training.n_jobs))
            if self.move_sample:
                moments = U.astype(np.float64).T @ U
                for place in range(n_columns):
                    moments = row_step(U, block, place, moments, precision)
        return gains


@dataclass(frozen=True)
class Block:
    """Similarities of all rows to some columns: ``table`` (groups, m) between groups, S = 0 for unknown.

    ``columns`` (m,) are row numbers, ``group_of_row`` (n,) points into the table (−1: unknown row).
    """

    columns: Ints
    group_of_row: Ints
    table: Floats32

    @classmethod
    def of(cls, supervision: Supervision, columns: Ints) -> Block:
        """Ask the supervision for these columns."""
        group = supervision.group_of_row
        table = supervision.similarity(np.arange(supervision.n_groups), group[columns])
        return cls(columns, group, table.astype(np.float32))

    def kin(self, part: slice) -> tuple[Floats32, Floats32]:
        """s in [0, 1] (rows, m), and 1 where anything is known, for a slice of rows."""
        group = self.group_of_row[part]
        S: Floats32 = np.where(group[:, None] >= 0, self.table[group], np.float32(0))
        return (S + 1) * HALF, (S != 0).astype(np.float32)


def start_from_features(training: Training, rows: TrainingRows, directions: Floats, n_bits: int) -> Floats32:
    """Principal components (n, d), or the columns themselves in turn where there are no more than bits."""
    if rows.n_columns > n_bits:
        return rows.times(directions).astype(np.float32)
    z = prepare_rows(training.rows, rows.preparation, None, training.n_jobs)
    return np.ascontiguousarray(z[:, np.arange(n_bits) % rows.n_columns])


def columns_step(U: Floats32, block: Block, precision: float, n_jobs: int | None = None) -> float:
    """Move all rows but the sampled ones, in place; how much the objective gained per pair."""
    sampled = U[block.columns].astype(np.float64)
    curvature = sampled.T @ sampled / 8 + precision * np.eye(U.shape[1])
    inverse = np.linalg.inv(curvature).astype(np.float32)
    anchors = U[block.columns].copy()
    fixed = np.zeros(len(U), np.bool_)
    fixed[block.columns] = True

    def one(part: slice) -> float:
        u = U[part]
        s, known = block.kin(part)
        theta: Floats32 = HALF * (u @ anchors.T)
        sigma, before = _likelihood(theta, s, known)
        step = (((s - sigma) * known) @ anchors - np.float32(precision) * u) @ inverse
        step[fixed[part]] = 0
        moved: Floats32 = (u + step).astype(np.float32, copy=False)
        moved_theta: Floats32 = HALF * (moved @ anchors.T)
        after = _likelihood(moved_theta, s, known)[1]
        gain = 2 * (after - before)[~fixed[part]].sum(dtype=np.float64)  # (i, j) and (j, i)
        gain -= 0.5 * precision * ((moved.astype(np.float64) ** 2).sum() - (u.astype(np.float64) ** 2).sum())
        U[part] = moved
        return float(gain)

    parts = block_slices(len(U), BLOCK_ROWS)
    return sum(map_blocks(one, parts, n_jobs)) / max(1, len(U) * len(block.columns))


def row_step(U: Floats32, block: Block, place: int, moments: Floats, precision: float) -> Floats:
    """Move one sampled row against all other rows, in place; the new ``Uᵀ U``, from the old ``moments``."""
    i = block.columns[place]
    gradient = np.zeros(U.shape[1])
    u = U[i].copy()
    for part in block_slices(len(U), BLOCK_ROWS):
        group = block.group_of_row[part]
        S = np.where(group >= 0, block.table[group, place], np.float32(0))
        if part.start <= i < part.stop:
            S[i - part.start] = 0
        theta = HALF * (U[part] @ u)
        sigma = 1 / (1 + np.exp(-np.clip(theta, -80, 80)))
        gradient += (((S + 1) / 2 - sigma) * (S != 0)) @ U[part]
    old = U[i].astype(np.float64)
    curvature = (moments - np.outer(old, old)) / 8 + precision * np.eye(len(u))
    U[i] = old + np.linalg.solve(curvature, gradient - precision * old)
    new = U[i].astype(np.float64)
    changed: Floats = moments + np.outer(new, new) - np.outer(old, old)
    return changed


def _likelihood(theta: Floats32, s: Floats32, known: Floats32) -> tuple[Floats32, Floats32]:
    """σ(Θ), and each row's ``Σ s Θ − log(1 + e^Θ)`` over known pairs, without overflow."""
    small = np.exp(-np.abs(theta))
    sigma = np.where(theta >= 0, np.float32(1), small) / (1 + small)
    total = ((s * theta - np.maximum(theta, 0) - np.log(1 + small)) * known).sum(axis=1)
    return sigma, total
