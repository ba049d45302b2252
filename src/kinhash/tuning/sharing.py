"""How many bits say who is kin and how many what a row looks like, and what a kin bit counts.

The fewest kin bits, at the smallest weight, with which held-out rows find their kin as well as with all bits,
but for a tolerance; all other bits are alike bits.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .._check import check_integer, check_number
from .._linalg import fit_rotation
from .._types import Bools, Floats, Floats32
from ..encoders.alike import Looks
from ..encoders.expected import expected_similarity
from ..errors import InvalidInput
from ..fields import KIN_ONLY, MAX_WEIGHT, Fields
from ..labels import Labels
from ..solvers import Solution
from ..solvers.codewords import bits_for
from ..solvers.spectral import n_directions
from ..training import Training
from .scores import Judge, overall, three_scores
from .splits import ValidationSplit

__all__ = ["Wish", "shared_fields"]

SHARES = (0.25, 0.3125, 0.375, 0.40625, 0.4375, 0.46875, 0.5, 0.5625, 0.625, 0.75, 0.875)  # of kin bits
WEIGHTS = (2, 3, 4, 6, 8)
MOST_ALIKE = 0.95  # some bits must say who is kin
USUAL_WEIGHT = 4  # where nothing can be measured
TOLERANCE = 0.011  # of the held-out score: with all rows about .005 by learned codes, .010 by mapped ones
TAG_TOLERANCE = 0.006  # tags need their bits: the same loss on held-out rows is more on others
STARTS = 4  # rotations whose mean is taken: one alone says too much about itself
ROUNDS, ROTATION_ROWS = 16, 600
ASKED, RANKED = 1000, 1500  # held-out rows that ask, rows that are ranked


@dataclass(frozen=True)
class Wish:
    """What the user wants: a share of alike bits and what a kin bit counts, each a number or "auto"."""

    alike: str | float = 0.0
    kin_weight: str | int = "auto"

    def check(self) -> None:
        """Refuse what is no answer, and a weight that weighs nothing."""
        if self.alike != "auto":
            if isinstance(self.alike, str):
                raise InvalidInput(
                    f"alike is {self.alike!r}",
                    f"'auto', or a share of the bits from 0 (kinship alone) to {MOST_ALIKE}",
                    "Leave it out to have the bits shared by measurement",
                )
            check_number("alike", self.alike, 0.0, MOST_ALIKE)
        if self.kin_weight == "auto":
            return
        check_integer("kin_weight", self.kin_weight, 1, MAX_WEIGHT)
        if self.alike == 0:
            raise InvalidInput(
                f"kin_weight={self.kin_weight} was asked for with alike=0",
                "alike bits, against which kin bits can weigh",
                "Leave kin_weight out, or set alike",
            )

    def is_open(self, n_bits: int) -> bool:
        """Whether there is anything to measure."""
        return n_bits > 1 and self.alike != 0 and "auto" in (self.alike, self.kin_weight)

    def candidates(self, n_bits: int) -> list[list[Fields]]:
        """What is to be tried: most alike bits first, and for each number of them small weights first."""
        shares = SHARES if self.alike == "auto" else (1 - float(self.alike),)
        weights = WEIGHTS if self.kin_weight == "auto" else (int(self.kin_weight),)
        counts = dict.fromkeys(n_bits - max(1, round(share * n_bits)) for share in shares)
        return [[Fields(count, weight) for weight in weights] for count in counts if count]

    def without_measuring(self, labels: Labels | None, n_bits: int) -> Fields:
        """The fields asked for; where they are open, the usual ones.

        Classes get half as many kin bits again as hold them well; tags and pairs need most bits.
        """
        share = 0.75
        if self.alike != "auto":
            share = 1 - float(self.alike)
        elif labels is not None and not labels.is_tags:
            share = float(np.clip(1.5 * bits_for(len(labels.names)) / n_bits, SHARES[0], SHARES[-1]))
        n_alike = n_bits - max(1, int(np.ceil(share * n_bits)))
        weight = USUAL_WEIGHT if self.kin_weight == "auto" else int(self.kin_weight)
        return Fields(n_alike, weight) if n_alike else KIN_ONLY


def shared_fields(
    training: Training, judge: Judge, solution: Solution, chances: tuple[Floats32, Floats32], wish: Wish
) -> Fields:
    """The fields of codes of ``solution.n_bits`` bits.

    ``chances`` are the label probabilities of the judge's rows. Where the number of alike bits is fixed, the
    smallest weight is taken that serves kinship about as well as any.
    """
    trial = _Trial.of(training, judge, solution, chances)
    labels = training.supervision.labels
    tolerance = TAG_TOLERANCE if labels is not None and labels.is_tags else TOLERANCE
    candidates = wish.candidates(solution.n_bits)
    if not candidates:
        return KIN_ONLY
    if wish.alike != "auto":
        (weights,) = candidates
        high = max(trial.value(one) for one in weights)
        return next(one for one in weights if trial.value(one) >= high - tolerance)
    enough = trial.value(KIN_ONLY) - tolerance

    def will_do(weights: list[Fields]) -> bool:
        """With heavy kin bits, which are taken to serve kinship best."""
        return trial.value(weights[-1]) >= enough

    # More kin bits are taken to be better; of classes that are easily told apart the fewest will do.
    fewest = 0 if will_do(candidates[0]) else bisect_left(candidates, True, 1, key=will_do)
    if fewest == len(candidates):  # a few bits that tell kin apart are worth a little more
        most = candidates[-1][-1]
        return most if trial.value(most) >= enough - tolerance else KIN_ONLY
    return next(one for one in candidates[fewest] if trial.value(one) >= enough)


@dataclass(frozen=True)
class _Trial:
    """Relaxed kin codes of rows that ask and of rows that are ranked, and who is kin."""

    training: Training
    split: ValidationSplit
    n_bits: int
    relaxed: tuple[Floats32, Floats32, Floats32]  # asked; ranked, by the map; ranked, by their labels
    sizes: Floats  # of the directions of the relaxed codes
    kin: tuple[Bools, Bools]  # of the asked among the ranked, and among themselves
    database: str = "fitted"
    known: dict[Fields, float] = field(default_factory=dict)
    bits: dict[int, list[list[Bools]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, training: Training, judge: Judge, solution: Solution, chances: tuple[Floats32, Floats32]
    ) -> _Trial:
        embedding, supervision = solution.embedding, training.supervision
        assert embedding is not None
        split = ValidationSplit(judge.split.part[:RANKED], judge.split.held[:ASKED])
        asked, ranked = (
            embedding.of(expected_similarity(some[:most], judge.patterns, judge.exclusive))
            for some, most in zip(chances, (ASKED, RANKED), strict=True)
        )
        groups, own = np.unique(supervision.group_of_row[split.part], return_inverse=True)
        learned = embedding.of(supervision.similarity(groups, solution.sample.groups))[own]
        sizes = (solution.sample.weights @ embedding.entries**2).astype(np.float64)
        kin = judge.kin_seen[:ASKED, : len(split.part)], judge.kin_held[:ASKED, :ASKED]
        relaxed = asked.astype(np.float32), ranked.astype(np.float32), learned.astype(np.float32)
        return cls(training, split, solution.n_bits, relaxed, sizes, kin, judge.database)

    def value(self, fields: Fields) -> float:
        """Held-out mAP of kin; databases weigh as in `Judge`."""
        if fields not in self.known:
            scores = [self._score(bits, fields) for bits in self._bits(fields.alike)]
            self.known[fields] = float(np.mean(scores))
        return self.known[fields]

    def _score(self, bits: list[Bools], fields: Fields) -> float:
        asked, mapped, learned = (self._vectors(one, fields) for one in bits)
        kin, among = self.kin
        far, n_jobs = fields.max_distance(self.n_bits), self.training.n_jobs
        found = three_scores(asked, (learned, kin, None), (mapped, kin, None), among, far, n_jobs)
        return overall(*found, self.database)

    def _bits(self, n_alike: int) -> list[list[Bools]]:
        """Bits of the asked, of the ranked by the map, and of the ranked by their labels, for each start."""
        if n_alike not in self.bits:
            n_kin = self.n_bits - n_alike
            relaxed = [codes[:, : n_directions(self.sizes, n_kin)] for codes in self.relaxed]
            looks = self._alike(n_alike)
            found = []
            for start in range(STARTS if n_alike else 2 * STARTS):  # all others are compared with these
                rotation = fit_rotation(
                    relaxed[1][:ROTATION_ROWS], n_kin, np.random.default_rng(start), ROUNDS
                )
                kin = [codes @ rotation > 0 for codes in relaxed]
                alike = looks[0], looks[1], looks[1]
                found.append([np.concatenate(both, axis=1) for both in zip(kin, alike, strict=True)])
            self.bits[n_alike] = found
        return self.bits[n_alike]

    def _alike(self, n_alike: int) -> tuple[Bools, Bools]:
        """Alike bits of the asked and of the ranked rows, without the gradient steps of the final ones: those
        take longer, and harm kinship less."""
        if not n_alike:
            return np.zeros((len(self.split.held), 0), bool), np.zeros((len(self.split.part), 0), bool)
        map_ = self._looks.maps(n_alike, rough=True).features
        rows = self.training.rows
        return map_.scores(rows.read(self.split.held)) > 0, map_.scores(rows.read(self.split.part)) > 0

    @cached_property
    def _looks(self) -> Looks:
        """Of rows that are not held out."""
        return Looks.of(self.training, self.n_bits, self.split.part)

    def _vectors(self, bits: Bools, fields: Fields) -> Floats32:
        """Vectors whose inner products say what the weighted distance says, within [−1, 1]."""
        size = np.sqrt(fields.weights(self.n_bits) / fields.max_distance(self.n_bits)).astype(np.float32)
        return np.where(bits, size, -size)
