"""What labels alone say about the kin bits of a row: the part of a learned code that needs no features.

Classes have a table of scores. Tag sets go through the model like predicted tags, with probabilities of 0
and 1. Labels are known by a digest of their names, so that a model file names none.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import scipy.sparse as sp

from .._types import Array, Bools, Bytes, Floats, Floats32, Ints
from ..codes import n_bytes, unpack_bits
from ..errors import InvalidInput
from ..labels import Labels
from ..models import Map, WholeMap
from ..training import Training
from .base import Fitted
from .mapped_codes import Evidence

__all__ = ["LabelCodes", "label_codes", "scores_of_tags"]

MOST_LABELS = 100_000  # whose scores are kept
DIGEST_BYTES = 16
BLOCK, MOST_NUMBERS = 1024, 1 << 23  # rows whose tags are looked at together, and entries of their tags


@dataclass(frozen=True, eq=False)
class LabelCodes:
    """Digests (labels, 16) of the labels' names, in order; scores (classes, d) of classes, None for tags."""

    digests: Bytes
    table: Floats32 | None

    def evidence(self, labels: Labels, map_: Map, n_kin: int, trust: float) -> Evidence:
        """What these labels say about the ``n_kin`` kin bits of their rows."""
        place = self._places(labels)
        if self.table is not None:
            assert labels.classes is not None
            return Evidence(self.table, place[labels.classes], trust)
        # One column of the model for each of its own tags, whatever tags these rows have.
        tags = labels.indicator().tocoo()
        ours = type(labels.indicator())(
            (tags.data, (tags.coords[0], place[tags.coords[1]])), shape=(len(labels), len(self.digests))
        )
        scores = scores_of_tags(map_, ours, n_kin).astype(np.float32)  # as a fit keeps them
        return Evidence(scores, np.arange(len(labels)), trust)

    def with_classes(self, labels: Labels, scores: Array) -> LabelCodes:
        """The same, and scores for every new class among ``labels``: the mean of its rows' scores (n, d)."""
        if self.table is None or labels.is_tags:
            raise InvalidInput(
                "Tags came to add_classes, or classes to a model of tags",
                "classes, and a model that was fitted on classes",
                "Fit again with rows of the new tags",
            )
        assert labels.classes is not None
        ours = {digest.tobytes() for digest in self.digests}
        digests, table = list(self.digests), list(self.table)
        size = float(np.sqrt((self.table**2).mean())) or 1.0  # as firm as those of the fitted classes
        for place, digest in enumerate(_digests(labels.names)):
            rows = np.flatnonzero(labels.classes == place)
            if digest.tobytes() not in ours and len(rows) and len(table) < MOST_LABELS:
                mean = scores[rows].mean(axis=0)
                table.append((mean * (size / (float(np.sqrt((mean**2).mean())) or 1.0))).astype(np.float32))
                digests.append(digest)
        return LabelCodes(np.stack(digests), np.stack(table))

    def knows(self, labels: Labels) -> Bools:
        """Which rows (n,) have labels, and only labels that the model knows."""
        strange = self._find(labels) < 0
        return labels.known & (labels.indicator() @ strange.astype(np.int64) == 0)

    def _find(self, labels: Labels) -> Ints:
        """Where each of their names stands among ours, or −1."""
        ours = {digest.tobytes(): place for place, digest in enumerate(self.digests)}
        return np.array([ours.get(digest.tobytes(), -1) for digest in _digests(labels.names)], np.int64)

    def _places(self, labels: Labels) -> Ints:
        """Where each of their names stands among ours; −1 for names we do not know, which no row has."""
        if not labels.known.all():
            raise InvalidInput(
                f"{int((~labels.known).sum())} of {len(labels)} labels are unknown",
                "a label for every row",
                "Encode rows of unknown label from their features, with encode(X)",
            )
        if labels.is_tags != (self.table is None):
            kinds = ("tags", "classes") if labels.is_tags else ("classes", "tags")
            raise InvalidInput(f"{kinds[0]} came to a model of {kinds[1]}", kinds[1], "Pass those")
        places = self._find(labels)
        strange = np.flatnonzero((places < 0) & _occur(labels))
        if len(strange):
            name = labels.names.tolist()[strange[0]]
            raise InvalidInput(
                f"The model does not know {len(strange)} of the labels, {name!r} among them",
                "labels that it was fitted on",
                "Fit again with rows of the new labels, or encode such rows from their features"
                + ("" if labels.is_tags else ", or give new classes codes with add_classes(X, y)"),
            )
        return places

    def arrays(self) -> dict[str, Array]:
        """For a model file."""
        return {"digests": self.digests} | ({} if self.table is None else {"scores": self.table})

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], map_: Map, n_kin: int) -> LabelCodes | None:
        """Undo `arrays`; a stranger may have written them.

        Older files have packed bits of classes ("table"). Those of tags that were fitted to the map's bits
        ("recoded.…") cannot be made any more: None.
        """
        if any(name.startswith("recoded.") for name in arrays):
            return None
        if odd := sorted(arrays.keys() - {"digests", "scores", "table"}):
            raise ValueError(f"arrays that are unknown: {', '.join(odd[:5])}")
        digests = arrays["digests"]
        if digests.dtype != np.uint8 or digests.ndim != 2 or digests.shape[1] != DIGEST_BYTES:
            raise ValueError("labels that are no digests")
        if len(np.unique(digests, axis=0)) != len(digests) or not 0 < len(digests) <= MOST_LABELS:
            raise ValueError("labels that come twice, or not at all")
        scores = arrays.get("scores")
        if "table" in arrays:
            scores = _scores_of_bits(arrays["table"], len(digests), n_kin)
        if scores is None:
            if not isinstance(map_, WholeMap) or map_.n_tags != len(digests):
                raise ValueError("tags without a map that knows them")
            none = sp.csr_array((1, len(digests)))
            if map_.scores_of_tags(none, n_kin).shape != (1, n_kin):
                raise ValueError("tags that say nothing about the bits of kin")
        elif (
            scores.dtype != np.float32
            or scores.shape != (len(digests), n_kin)
            or not np.isfinite(scores).all()
        ):
            raise ValueError("scores of classes of another length or number")
        return cls(digests, scores)


def _scores_of_bits(table: Array, n_labels: int, n_bits: int) -> Floats32:
    if table.dtype != np.uint8 or table.shape != (n_labels, n_bytes(n_bits)):
        raise ValueError("codes of classes of another length or number")
    return np.where(unpack_bits(table, n_bits), np.float32(1), np.float32(-1))


def label_codes(fitted: Fitted, training: Training) -> LabelCodes | None:
    """Of a fit on labels; None where learned codes are no function of them, or there are too many."""
    labels = training.supervision.labels
    if labels is None or fitted.scores is None or len(labels.names) > MOST_LABELS:
        return None
    occur = _occur(labels)
    if labels.is_tags:
        through = isinstance(fitted.map, WholeMap) and fitted.map.n_tags == len(labels.names)
        return LabelCodes(_digests(labels.names, occur), None) if through else None
    return LabelCodes(_digests(labels.names)[occur], fitted.scores[occur])


def scores_of_tags(map_: Map, tags: sp.csr_array, n_kin: int) -> Floats:
    """Scores (k, n_kin) of rows whose tags (k, t) are known. Memory: the result, and a block."""
    assert isinstance(map_, WholeMap)
    scores = np.empty((tags.shape[0], n_kin))
    at_once = max(1, min(BLOCK, MOST_NUMBERS // max(1, tags.shape[1])))
    for start in range(0, len(scores), at_once):
        part = slice(start, start + at_once)
        scores[part] = map_.scores_of_tags(tags[part], n_kin)
    return scores


def _occur(labels: Labels) -> Bools:
    """Which of the names (t,) any row has."""
    found = np.zeros(len(labels.names), bool)
    found[labels.indicator().indices] = True
    return found


def _digests(names: Array, occur: Bools | None = None) -> Bytes:
    """Of each name and its type: 1 and "1" are two labels. Names that do not occur have another digest."""
    kinds = [type(name).__name__ for name in names.tolist()]
    if occur is not None:
        kinds = [kind if known else f"no {kind}" for kind, known in zip(kinds, occur, strict=True)]
    found = [
        blake2b(f"{kind} {name}".encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES)
        for kind, name in zip(kinds, names.tolist(), strict=True)
    ]
    joined = b"".join(one.digest() for one in found)
    return np.frombuffer(joined, np.uint8).reshape(-1, DIGEST_BYTES).copy()
