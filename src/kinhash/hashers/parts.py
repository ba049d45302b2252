"""The settings of one fit of `EnergyHasher`; they join kin bits and look-alike bits in one model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._internal.types import Bytes, Floats32
from ..codes import BitLayout, pack_bits
from ..encoders import WIDE, Amortized, Encoder, Evidence, Fitted, label_codes, mapped_codes, narrowed
from ..energies import Energy
from ..models import Map, Seen
from ..solvers import Solver, most_directions
from ..supervision import Training
from .fit_warnings import share_of_mapped, weak_examples, weak_labels, weak_pairs

if TYPE_CHECKING:
    from ..encoders import AlikeMaps
    from ..tuning import Choice

__all__ = ["Parts"]


@dataclass(frozen=True)
class Parts:
    """The settings of a fit as objects: ``n_kin`` kin bits, and look-alike bits as ``fields`` say."""

    energy: Energy
    solver: Solver
    encoder: Encoder
    fields: BitLayout
    n_kin: int
    trust: float

    def suited(self, training: Training) -> Training:
        """The same training with supervision that the number of kin bits can follow."""
        suited = training.supervision.suited_to(most_directions(self.n_kin))
        return replace(training, supervision=suited)

    def narrowed(self, training: Training) -> Training:
        """The same training on fewer columns, where there are too many and the encoder allows it."""
        if training.rows.shape[1] <= WIDE or not self.encoder.linear_in_columns():
            return training
        return narrowed(training)

    def solve(self, training: Training) -> Any:
        """What the encoder learns to encode: kin bits of a sample, by the supervision alone."""
        with training.stages("solver"):
            return self.encoder.solve(training, self.solver, self.energy, self.n_kin)

    def doubts(self, training: Training, choice: Choice, kin: Map) -> tuple[str, ...]:
        """Warnings about supervision that does not help."""
        if training.supervision.labels is not None:
            return weak_labels(training, choice)
        if isinstance(self.encoder, Amortized):
            return weak_examples(choice)
        with training.stages("sampled pairs"):
            return weak_pairs(training, kin)

    def joined(
        self,
        training: Training,
        narrow: Training,
        kin: Fitted,
        facts: dict[str, object],
        warnings: tuple[str, ...],
    ) -> Fitted:
        """Kin bits and look-alike bits side by side, in whole numbers; and the codes of the training rows."""
        alike = self._fit_alike(narrow)
        map_ = kin.map if alike is None else alike.beside(kin.map)
        if narrow is not training:
            map_ = map_.widened(narrow.rows)
        seen, known = Seen.of(training.rows, training.weights), training.supervision.labels
        whole = map_.whole(None if seen is None else seen.spread)
        labels, scores = None, kin.scores
        if not isinstance(self.encoder, Amortized):  # its scores are of rows, not of labels
            labels, scores = label_codes(whole, scores, training.supervision, self.n_kin)
        with training.stages("training codes"):
            codes = self._training_codes(training, whole, kin, scores)
            if alike is not None and training.looks is not None:
                assert codes is not None
                codes = alike.recoded(codes, self.n_kin, training.looks, training.n_jobs)
        return Fitted(
            map=whole,
            codes=codes,
            group_of_row=kin.group_of_row,
            marginals=kin.marginals,
            scores=scores,
            facts=facts,
            fields=self.fields,
            labels=labels,
            seen=seen,
            unrounded=None if whole is map_ else map_,
            label_names=None if known is None else known.names,
            mapped_share=share_of_mapped(whole, self.fields, codes, kin.group_of_row, training),
            warnings=warnings,
        )

    def _fit_alike(self, training: Training) -> AlikeMaps | None:
        if not self.fields.alike:
            return None
        from ..encoders import fit_alike

        with training.stages("look-alike bits"):
            return fit_alike(training, self.fields.alike)

    def _training_codes(
        self, training: Training, map_: Map, kin: Fitted, scores: Floats32 | None
    ) -> Bytes | None:
        """Codes that follow from labels and features; None where the encoder learned none."""
        evidence, group = None, kin.group_of_row
        if kin.codes is not None and scores is not None:
            assert group is not None
            if self.trust == 1 and not self.fields.alike and (group >= 0).all():
                return pack_bits(scores > 0)[group]
            trust = 1.0 if isinstance(self.encoder, Amortized) else self.trust  # its scores include features
            evidence = Evidence(scores, group, trust)
        elif kin.codes is None or not self.fields.alike:
            return kin.codes
        return mapped_codes(map_, training.rows, training.n_jobs, evidence)
