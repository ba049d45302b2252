"""Codes of many rows, from their features and from their labels.

Features go through the map, a block at a time, by several threads or on a graphics card. Labels alone give
scores of kin bits: classes have a table of them; tag sets go through the model like predicted tags, with
probabilities of 0 and 1. Labels are known by a digest of their names, so that a model file names none.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices, map_blocks
from .._internal.rows import Rows
from .._internal.types import Array, Bools, Bytes, Floats, Floats32, Ints
from ..codes import n_bytes, pack_bits
from ..errors import InvalidInput
from ..gpu import card_in_use, moved
from ..models import Map, WholeMap
from ..supervision import Labels, Supervision, TagSupervision, TreeTagSupervision

if TYPE_CHECKING:
    from ..gpu import Card

__all__ = ["Evidence", "LabelCodes", "label_codes", "mapped_codes", "scores_of_tags"]

SMALLEST, LARGEST = 512, 1024  # rows of a block: large enough for BLAS,
NUMBERS = 1 << 16  # and no more than this many numbers, to stay in the cache;
MOST_NUMBERS = 1 << 23  # of rows that are millions of columns wide, blocks of 64 MB
CARD_BYTES = 1 << 28  # of the widest array of a block on a card; a few such arrays are there at a time
MOST_LABELS = 100_000  # whose scores are kept
DIGEST_BYTES = 16


@dataclass(frozen=True)
class Evidence:
    """What the labels of rows add to their features: scores (n, k) of their labels, ``table[place]``.

    The first k scores become ``trust·label + (1 − trust)·map``; rows with ``place`` −1 have no label.
    """

    table: Array
    place: Ints
    trust: float

    def __call__(self, scores: Array, rows: slice) -> Array:
        place = self.place[rows]
        known = (place >= 0)[:, None]
        own = scores[:, : self.table.shape[1]]
        mixed = self.trust * self.table[place].astype(np.float64) + (1 - self.trust) * own
        rest = scores[:, self.table.shape[1] :]
        return np.concatenate([np.where(known, mixed, own), rest], axis=1)


def mapped_codes(map_: Map, rows: Rows, n_jobs: int | None, evidence: Evidence | None = None) -> Bytes:
    """Packed codes (n, bytes) of rows by a map, combined with ``evidence`` from their labels if given.

    Memory beyond them: a few blocks per thread.
    """
    whole, card = map_ if isinstance(map_, WholeMap) else None, card_in_use()
    on_card = whole is not None and evidence is None and all(step.on_card for step in whole.steps_)
    if card is not None and whole is not None and on_card and len(rows):
        return _codes_on(card, whole, rows)
    packed = np.empty((len(rows), n_bytes(map_.n_bits)), np.uint8)

    def encode(part: slice) -> None:
        if whole is not None and evidence is None:
            packed[part] = pack_bits(whole.run(rows.plain(part)) > 0)
            return
        scores = map_.scores(rows.read(part) if whole is None else rows.plain(part))
        packed[part] = pack_bits((scores if evidence is None else evidence(scores, part)) > 0)

    width = max(rows.shape[1], 0 if whole is None else whole.widest)
    size = min(int(np.clip(NUMBERS // width, SMALLEST, LARGEST)), max(1, MOST_NUMBERS // width))
    for _ in map_blocks(encode, block_slices(len(rows), size), n_jobs):
        pass
    return packed


def _codes_on(card: Card, map_: WholeMap, rows: Rows) -> Bytes:
    """The same on a card. Memory there: the model, and about six arrays of `CARD_BYTES`."""
    packed = np.empty((len(rows), n_bytes(map_.n_bits)), np.uint8)
    map_.run_with(np, np.zeros((1, rows.shape[1])))  # derives what the steps need, so that it moves too
    there = moved(map_, card)
    for part in block_slices(len(rows), max(1024, CARD_BYTES // (8 * max(rows.shape[1], map_.widest)))):
        with card.active() as xp:
            packed[part] = card.packed_bits(there.run_with(xp, card.put(rows.plain(part))) > 0)
    return packed


@dataclass(frozen=True, eq=False)
class LabelCodes:
    """Digests (labels, 16) of the labels' names, in order; scores (classes, d) of classes, None for tags.

    ``n_levels`` is that of a tree of tags: short paths of later rows are padded as those of the fit were.
    """

    digests: Bytes
    table: Floats32 | None
    n_levels: int = 0

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
                + ("" if labels.is_tags else ", or give new classes codes with add_classes(X, y)")
                + "; a file keeps no parents: name tags by paths, as 'sport/shoes'" * (self.n_levels > 0),
            )
        return places

    def arrays(self) -> dict[str, Array]:
        """For a model file."""
        found: dict[str, Array] = {"digests": self.digests}
        if self.table is not None:
            found["scores"] = self.table
        if self.n_levels:
            found["levels"] = np.array([self.n_levels], np.int32)
        return found

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], map_: Map, n_kin: int) -> LabelCodes:
        """Undo `arrays`; checks everything, since the file may come from anywhere."""
        if odd := sorted(arrays.keys() - {"digests", "scores", "levels"}):
            raise ValueError(f"arrays that are unknown: {', '.join(odd[:5])}")
        digests = arrays["digests"]
        if digests.dtype != np.uint8 or digests.ndim != 2 or digests.shape[1] != DIGEST_BYTES:
            raise ValueError("malformed digests of labels")
        if len(np.unique(digests, axis=0)) != len(digests) or not 0 < len(digests) <= MOST_LABELS:
            raise ValueError("duplicate or missing labels")
        scores = arrays.get("scores")
        if scores is None:
            if not isinstance(map_, WholeMap) or map_.n_tags != len(digests):
                raise ValueError("tags without a map that knows them")
            none = sp.csr_array((1, len(digests)))
            if map_.scores_of_tags(none, n_kin).shape != (1, n_kin):
                raise ValueError("tags without scores for the kin bits")
        elif (
            scores.dtype != np.float32
            or scores.shape != (len(digests), n_kin)
            or not np.isfinite(scores).all()
        ):
            raise ValueError("scores of classes of another length or number")
        levels = arrays.get("levels", np.zeros(1, np.int32))
        if levels.dtype != np.int32 or levels.shape != (1,) or not 0 <= levels[0] <= len(digests):
            raise ValueError("malformed number of levels")
        return cls(digests, scores, int(levels[0]))


def label_codes(
    map_: Map, scores: Floats32 | None, supervision: Supervision, n_kin: int
) -> tuple[LabelCodes | None, Floats32 | None]:
    """The codes of labels after a fit whose groups have these scores (g, n_kin), and the scores to use.

    The scores are as given, except for tag sets, which go through the rounded map. The codes are None if
    labels alone do not decide them, or if there are more than `MOST_LABELS` labels.
    """
    labels = supervision.labels
    if labels is None or scores is None or len(labels.names) > MOST_LABELS:
        return None, scores
    occur = _occur(labels)
    if not isinstance(supervision, TagSupervision):
        return LabelCodes(_digests(labels.names)[occur], scores[occur]), scores
    if not isinstance(map_, WholeMap) or map_.n_tags != len(labels.names):
        return None, scores
    own = scores_of_tags(map_, supervision.tag_sets, n_kin).astype(np.float32)
    n_levels = len(supervision.weights) if isinstance(supervision, TreeTagSupervision) else 0
    return LabelCodes(_digests(labels.names, occur), None, n_levels), own


def scores_of_tags(map_: Map, tags: sp.csr_array, n_kin: int) -> Floats:
    """Scores (k, n_kin) of rows whose tags (k, t) are known. Memory: the result, and a block."""
    assert isinstance(map_, WholeMap)
    scores = np.empty((tags.shape[0], n_kin))
    at_once = max(1, min(LARGEST, MOST_NUMBERS // max(1, tags.shape[1])))
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
    """A digest of each name and its type: 1 and "1" differ. Names that no row has get another digest."""
    kinds = [type(name).__name__ for name in names.tolist()]
    if occur is not None:
        kinds = [kind if known else f"no {kind}" for kind, known in zip(kinds, occur, strict=True)]
    found = [
        blake2b(f"{kind} {name}".encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES)
        for kind, name in zip(kinds, names.tolist(), strict=True)
    ]
    joined = b"".join(one.digest() for one in found)
    return np.frombuffer(joined, np.uint8).reshape(-1, DIGEST_BYTES).copy()
