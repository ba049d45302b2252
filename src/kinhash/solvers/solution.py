"""What a solver hands back: codes of the sample, and how everybody else's follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .._linalg import fit_rotation
from .._types import Bools, Floats
from ..rounding import round_marginals
from ..supervision import Supervision
from .readout import Embedding, LinearReadout, Readout
from .sample import Sample

__all__ = ["GroupCodes", "Minimum", "Solution"]


@dataclass(frozen=True)
class Minimum:
    """Means q (m, d) of the sample's bits, the energy after each sweep, and the KL divergence if asked for.

    The divergence leaves out ln Z, which no q can change.
    """

    means: Floats
    energies: list[float] = field(default_factory=list)
    divergences: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class GroupCodes:
    """Codes of every group: what an encoder should predict (g, d), where its bits turn (d,), bits and φ."""

    targets: Floats
    threshold: Floats
    bits: Bools
    marginals: Floats


@dataclass(frozen=True)
class Solution:
    """Codes of the sample, and a readout for everybody else.

    ``readout`` is None for listed pairs, whose rows are all in the sample: their scores are the means.
    """

    sample: Sample
    n_bits: int
    minimum: Minimum
    readout: Readout | None
    rounding: str = "zero"

    @property
    def embedding(self) -> Embedding | None:
        """Relaxed codes before rotation, where the solver leaves the rotation to the encoder (spectral)."""
        return self.readout.embedding if isinstance(self.readout, LinearReadout) else None

    def group_scores(self, supervision: Supervision, n_jobs: int | None = None) -> Floats:
        """Scores (groups, d); a bit is 1 where its score is above zero."""
        if self.readout is None:
            return self.minimum.means
        return self.readout.of_groups(supervision, self.sample.groups, n_jobs)

    def marginals(self, scores: Floats) -> Floats:
        """φ of scores."""
        if self.readout is None:
            return (1 + np.clip(scores, -1, 1)) / 2
        return self.readout.marginals(scores)

    def soft_targets(self, scores: Floats) -> Floats:
        """What an encoder should predict: means in (−1, 1) instead of hard bits, worth about .01 mAP."""
        return scores if self.readout is None else self.readout.soft_targets(scores)

    def group_codes(self, scores: Floats, counts: Floats) -> GroupCodes:
        """Round the scores (g, d) of groups that stand for ``counts`` (g,) rows each."""
        phi = self.marginals(scores)
        if self.rounding == "zero":
            return GroupCodes(self.soft_targets(scores), np.zeros(scores.shape[1]), scores > 0, phi)
        rounded = round_marginals(phi, counts, self.rounding)
        return GroupCodes(phi, rounded.threshold, rounded.bits, phi)

    def turned(self, weights: Floats) -> Solution:
        """The same solution with the bits that ``weights`` (r, d) make of relaxed codes."""
        assert self.embedding is not None
        return replace(self, readout=LinearReadout.rotated(self.embedding, weights))

    def rotated_for_itself(self, rng: np.random.Generator) -> Solution:
        """The same solution, turned so that the sample's own codes round well."""
        if self.embedding is None:
            return self
        entries, n_rounds = self.embedding.entries, self.embedding.n_rounds
        return self.turned(fit_rotation(entries, self.n_bits, rng, n_rounds, self.sample.weights))
