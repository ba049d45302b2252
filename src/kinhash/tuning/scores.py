"""How good a candidate is: held-out rows rank three databases by the bits they would get.

The databases are the sample with its learned codes, rows the candidate was fitted on with mapped codes, and
the other held-out rows with mapped codes, which nobody has seen. All candidates are rounded from the same
random starts: how well one rotation happens to round says nothing about a candidate, and would drown what
does. Few held-out rows judge by the mean of several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._blocks import map_blocks
from .._compile import njit
from .._linalg import fit_rotation
from .._types import Array, Bools, Bytes, Floats, Floats32, Ints
from ..encoders.expected import expected_similarity
from ..solvers import Solution
from ..training import Training
from .splits import ValidationSplit

__all__ = ["Judge", "Score", "average_precision_by_steps", "overall", "three_scores"]

SEEN_ROWS = 1500  # of the rows a candidate was fitted on, so many are ranked
HELD_ROWS = 1000
FEW_HELD = 600  # fewer held-out rows than half of this judge by several rotations
ROUNDS, ROTATION_ROWS = 8, 600  # of the rotation: enough to compare candidates


class Score(NamedTuple):
    """What a candidate is worth, and what it is where all rows searched come later."""

    value: float
    later: float


@dataclass(frozen=True)
class Judge:
    """Held-out rows, and who is kin to them among the sample, the rows fitted on, and themselves."""

    split: ValidationSplit
    patterns: Bytes
    weights: Floats
    exclusive: bool
    kin_sample: Bools
    kin_seen: Bools
    kin_held: Bools
    database: str = "fitted"
    n_jobs: int | None = None

    @classmethod
    def of(
        cls,
        training: Training,
        solution: Solution,
        patterns: Bytes,
        split: ValidationSplit,
        database: str = "fitted",
    ) -> Judge:
        """Ask the supervision once, for all candidates."""
        small = ValidationSplit(split.part, split.held[:HELD_ROWS], split.weights)
        labels = training.supervision.labels
        assert labels is not None
        kin, seen, among = kin_of_held(training, small)
        return cls(
            small,
            patterns,
            solution.sample.weights,
            not labels.is_tags,
            kin(solution.sample.groups),
            seen,
            among,
            database,
            training.n_jobs,
        )

    def score(self, solution: Solution, held: Floats32, seen: Floats32) -> Score:
        """From label probabilities (k, t) of the held-out rows and of rows fitted on."""
        relaxed = self._relaxed(solution, held, seen)
        if solution.embedding is None:
            return self._score(relaxed)
        scores = []
        for start in range(int(np.clip(FEW_HELD // len(held), 1, 3))):
            some, rng = relaxed[1][:ROTATION_ROWS], np.random.default_rng(start)
            rotation = fit_rotation(some, solution.n_bits, rng, ROUNDS)
            scores.append(self._score([one @ rotation for one in relaxed]))
        return Score(*np.mean(scores, axis=0).tolist())

    def best_rotation(
        self, solution: Solution, held: Floats32, seen: Floats32
    ) -> tuple[Floats | None, float]:
        """The best of several random rotations, and its score; fewer where each takes long."""
        relaxed = self._relaxed(solution, held, seen)
        if solution.embedding is None:
            return None, self._score(relaxed).value
        best: tuple[Floats | None, float] = (None, -1.0)
        for start in range(int(np.clip(100 // relaxed[0].shape[1], 3, 10))):
            draw = np.random.default_rng(start)
            rotation = fit_rotation(relaxed[1], solution.n_bits, draw, 3 * ROUNDS)
            value = self._score([one @ rotation for one in relaxed]).value
            if value > best[1]:
                best = (rotation, value)
        return best

    def _relaxed(self, solution: Solution, held: Floats32, seen: Floats32) -> list[Floats]:
        """Codes before rotation (scores where there is none) of held-out rows, rows fitted on, sample."""
        similar = (expected_similarity(chances, self.patterns, self.exclusive) for chances in (held, seen))
        if solution.embedding is not None:
            codes = [*(solution.embedding.of(one) for one in similar), solution.embedding.entries]
            return [one.astype(np.float32) for one in codes]
        assert solution.readout is not None
        return [*(solution.readout.scores(one) for one in similar), solution.minimum.means]

    def _score(self, scores: list[Floats]) -> Score:
        """Mean average precision by Hamming distance, over the three databases."""
        asked, database, sample = map(unit_bits, scores)
        databases = (sample, self.kin_sample, self.weights), (database, self.kin_seen, None)
        found = three_scores(asked, *databases, self.kin_held, asked.shape[1], self.n_jobs)
        return Score(overall(*found, self.database), overall(*found, "later"))


def kin_of_held(training: Training, split: ValidationSplit) -> tuple[Callable[[Ints], Bools], Bools, Bools]:
    """Who is kin to the held-out rows: among any groups, among the first rows fitted on, among themselves."""
    supervision = training.supervision
    held, seen = (supervision.group_of_row[rows] for rows in (split.held, split.part[:SEEN_ROWS]))
    unique, inverse = np.unique(held, return_inverse=True)

    def kin(groups: Ints) -> Bools:
        return (supervision.similarity(unique, groups) > 0)[inverse]

    among = kin(held)
    np.fill_diagonal(among, False)
    return kin, kin(seen), among


Database = tuple[Floats32, Bools, Floats | None]  # vectors, who is kin of those that ask, weights


def three_scores(
    asked: Floats32, learned: Database, mapped: Database, among: Bools, far: int, n_jobs: int | None
) -> tuple[float, float, float]:
    """Mean AP of rows that ask by learned codes, by mapped ones, and among themselves; side by side."""

    def ranked(database: Database) -> float:
        rows, kin, weights = database
        weights = np.ones(len(rows)) if weights is None else weights
        return float(average_precision_by_steps(asked @ rows.T, kin, weights, rows is asked, far))

    by_label, by_map, unseen = map_blocks(ranked, (learned, mapped, (asked, among, None)), n_jobs)
    return by_label, by_map, unseen


def unit_bits(scores: Array) -> Array:
    """Signs of scores (n, d) as rows of length 1: their products fall with the Hamming distance."""
    size = np.float32(1 / np.sqrt(scores.shape[1]))
    return np.where(scores > 0, size, -size)


def overall(learned: float, mapped: float, unseen: float, database: str = "fitted") -> float:
    """One number of three databases.

    Where the rows searched come "later", mapped codes of rows fitted on do not count: they reward a map that
    remembers. Otherwise those and the learned ones count twice.
    """
    return float((learned + unseen) / 2 if database == "later" else (2 * learned + 2 * mapped + unseen) / 5)


@njit(cache=True, nogil=True)
def average_precision_by_steps(scores, kin, weights, leave_out_self, farthest):  # type: ignore[no-untyped-def]
    """Mean AP of ranking weighted rows by scores (h, k), ``1 − 2 distance / farthest`` of whole distances.

    Rows at one distance count as ties: a hit in the middle of its step. Rows without kin are left out.
    """
    h, k = scores.shape
    total_ap, asked, half = 0.0, 0, 0.5 * farthest
    # Strangers and kin at each distance: one addition a pair, and no branch.
    rows = np.empty((farthest + 1, 2))
    for i in range(h):
        rows[:] = 0.0
        for j in range(k):
            place = min(max(int((1.0 - scores[i, j]) * half + 0.5), 0), farthest)
            rows[place, int(kin[i, j])] += weights[j]
        if leave_out_self:
            place = min(max(int((1.0 - scores[i, i]) * half + 0.5), 0), farthest)
            rows[place, int(kin[i, i])] -= weights[i]
        before, found, ap = 0.0, 0.0, 0.0
        for place in range(farthest + 1):
            r = rows[place, 1]
            n = rows[place, 0] + r
            if r > 0:
                ap += r * (found + 0.5 * r + 0.5) / (before + 0.5 * n + 0.5)
            found += r
            before += n
        if found > 0:
            asked += 1
            total_ap += ap / found
    return total_ap / max(asked, 1)
