"""Learned codes of labels: where a new or a relabelled item belongs, without another fit.

Classes have a table of their codes. Tag sets go the way training rows went: their similarities to the
anchors, whose tags the map of expected labels holds, through the solver's readout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import Array, Bools, Bytes
from ..codes import n_bytes, pack_bits, unpack_bits
from ..errors import InvalidInput
from ..labels import Labels
from ..training import Training
from .base import Fitted, Map
from .expected import ExpectedMap, LabelSimilarity

__all__ = ["LabelCodes", "label_codes", "restored", "stored"]

MOST_LABELS = 100_000  # of which the names are kept
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class LabelCodes:
    """Names of labels, in order; for classes, the packed kin bits (classes, bytes) of each."""

    names: Array
    table: Bytes | None

    def bits(self, labels: Labels, kin: Map) -> Bools:
        """Kin bits (n, d) of rows with these labels."""
        known = self._in_our_words(labels)
        if self.table is not None:
            assert known.classes is not None
            return unpack_bits(self.table[known.classes], kin.n_bits).astype(bool)
        assert isinstance(kin, ExpectedMap)
        assert isinstance(kin.expected, LabelSimilarity)
        tags, patterns = known.indicator().astype(np.float32), kin.expected.patterns.astype(np.float32)
        bits = np.empty((len(labels), kin.n_bits), bool)
        for start in range(0, len(labels), BLOCK):
            shared = tags[start : start + BLOCK] @ patterns.T
            bits[start : start + BLOCK] = kin.readout.scores(np.where(shared > 0, 1.0, -1.0)) > 0
        return bits

    def _in_our_words(self, labels: Labels) -> Labels:
        if labels.is_tags != (self.table is None):
            kinds = ("tags", "classes") if labels.is_tags else ("classes", "tags")
            raise InvalidInput(f"{kinds[0]} came to a model of {kinds[1]}", kinds[1], "Pass those")
        if not labels.known.all():
            raise InvalidInput(
                f"{int((~labels.known).sum())} of {len(labels)} labels are unknown",
                "a label for every row",
                "Encode rows of unknown label from their features, with encode(X)",
            )
        ours = set(self.names.tolist())
        new = [name for name in labels.names.tolist() if name not in ours]
        if new:
            raise InvalidInput(
                f"The model does not know {len(new)} of the labels, {new[0]!r} among them",
                "labels that it was fitted on",
                "Fit again with rows of the new labels, or encode such rows from their features",
            )
        return labels.renamed(self.names)


def label_codes(fitted: Fitted, training: Training) -> LabelCodes | None:
    """Of a fit on labels; None where learned codes are no function of them, or there are too many."""
    labels = training.supervision.labels
    if labels is None or fitted.codes is None or fitted.group_of_row is None:
        return None
    if len(labels.names) > MOST_LABELS:
        return None
    if labels.is_tags:
        through = isinstance(fitted.map, ExpectedMap) and isinstance(fitted.map.expected, LabelSimilarity)
        return LabelCodes(labels.names, None) if through else None
    table = np.zeros((len(labels.names), n_bytes(fitted.map.n_bits)), np.uint8)
    rows = np.flatnonzero(fitted.group_of_row >= 0)
    table[fitted.group_of_row[rows]] = fitted.codes[rows]
    return LabelCodes(labels.names, table)


def stored(codes: LabelCodes | None) -> tuple[dict[str, Any] | None, Bytes | None]:
    """For a model file: what goes into its header, and the table."""
    if codes is None or codes.names.dtype.kind not in "iuU":
        return None, None
    return {"names": codes.names.tolist(), "tags": codes.table is None}, codes.table


def restored(facts: Any, table: Bytes | None, n_bits: int) -> LabelCodes | None:
    """Undo `stored`; a stranger may have written it."""
    if facts is None:
        return None
    if not isinstance(facts, dict) or facts.keys() != {"names", "tags"}:
        raise ValueError("labels that are no labels")
    names = facts["names"]
    if not isinstance(names, list) or len({type(name) for name in names} - {str, int}) or not names:
        raise ValueError("labels that are neither text nor numbers")
    if len(set(names)) != len(names) or len(names) > MOST_LABELS or len({type(name) for name in names}) > 1:
        raise ValueError("labels that come twice, or in two kinds")
    if facts["tags"] is not (table is None):
        raise ValueError("codes of classes without classes, or the other way round")
    if table is not None:
        if table.dtype != np.uint8 or table.shape != (len(names), n_bytes(n_bits)):
            raise ValueError("codes of classes of another length or number")
        if not np.array_equal(pack_bits(unpack_bits(table, n_bits)), table):
            raise ValueError("ones in the padding")
    return LabelCodes(np.array(names), table)
