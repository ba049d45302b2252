"""Learned codes of labels: where a new or a relabelled item belongs, without another fit.

Classes have a table of their codes. Tag sets go the way training rows went: their similarities to the
anchors, whose tags the map of expected labels holds, through the solver's readout; where those were fitted to
the map's bits, these are too. Labels are known by a digest of their names, so that a model file names none.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations

import numpy as np

from .._types import Array, Bools, Bytes, Floats, Ints
from ..codes import n_bytes, pack_bits, unpack_bits
from ..errors import InvalidInput
from ..labels import Labels
from ..training import Training
from .base import Fitted, Map, select
from .expected import ExpectedMap, LabelSimilarity
from .recoding import Recoding

__all__ = ["LabelCodes", "label_codes"]

MOST_LABELS = 100_000  # whose codes are kept
DIGEST_BYTES = 16
BLOCK = 1024
RECODED = "recoded."  # begins the names of its arrays
MOST_TURNS = 2  # bits of a code that is taken


@dataclass(frozen=True, eq=False)
class LabelCodes:
    """Digests (labels, 16) of the labels' names, in order; of classes, packed kin bits (classes, bytes); of
    tags, how codes were fitted to the map's bits, if they were."""

    digests: Bytes
    table: Bytes | None
    recoding: Recoding | None = None

    def bits(self, labels: Labels, kin: Map) -> Bools:
        """Kin bits (n, d) of rows with these labels."""
        place = self._places(labels)
        if self.table is not None:
            assert labels.classes is not None
            return unpack_bits(self.table[place[labels.classes]], kin.n_bits).astype(bool)
        assert isinstance(kin, ExpectedMap)
        assert isinstance(kin.expected, LabelSimilarity)
        tags = labels.indicator().astype(np.float32)
        anchors = kin.expected.patterns[:, place].T.astype(np.float32)
        others = None if self.recoding is None else self.recoding.patterns[:, place].T.astype(np.float32)
        bits = np.empty((len(labels), kin.n_bits), bool)
        for start in range(0, len(labels), BLOCK):
            some = tags[start : start + BLOCK]
            scores = kin.readout.scores(np.where(some @ anchors > 0, 1.0, -1.0))
            if self.recoding is None:
                bits[start : start + BLOCK] = scores > 0
            else:
                bits[start : start + BLOCK] = self.recoding.of_tags(scores, some @ others > 0)
        return bits

    def with_classes(self, labels: Labels, bits: Bools) -> LabelCodes:
        """The same, and a code for every new class among ``labels``.

        It is what most of its rows say, bit by bit, by their mapped kin bits (n, d). Where another class has
        that code, the fewest bits are turned, those first on which the rows agree least.
        """
        if self.table is None or labels.is_tags:
            raise InvalidInput(
                "Tags came to add_classes, or classes to a model of tags",
                "classes, and a model that was fitted on classes",
                "Fit again with rows of the new tags",
            )
        assert labels.classes is not None
        ours = {digest.tobytes() for digest in self.digests}
        digests, codes = list(self.digests), list(self.table)
        taken = {code.tobytes() for code in codes}
        for place, digest in enumerate(_digests(labels.names)):
            rows = np.flatnonzero(labels.classes == place)
            if digest.tobytes() not in ours and len(rows) and len(codes) < MOST_LABELS:
                codes.append(_free_code(bits[rows].mean(axis=0), taken))
                digests.append(digest)
                taken.add(codes[-1].tobytes())
        return LabelCodes(np.stack(digests), np.stack(codes))

    def knows(self, labels: Labels) -> Bools:
        """Which rows (n,) have labels, and none without a code."""
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
                + (
                    ""
                    if labels.is_tags
                    else ", or give new classes codes of their own with add_classes(X, y)"
                ),
            )
        return places

    def arrays(self) -> dict[str, Array]:
        """For a model file."""
        found = {"digests": self.digests} | ({} if self.table is None else {"table": self.table})
        recoded = {} if self.recoding is None else self.recoding.arrays()
        return found | {RECODED + name: array for name, array in recoded.items()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], kin: Map) -> LabelCodes:
        """Undo `arrays`; a stranger may have written them."""
        recoded = select(arrays, RECODED)
        arrays = {name: array for name, array in arrays.items() if not name.startswith(RECODED)}
        if odd := sorted(arrays.keys() - {"digests", "table"}):
            raise ValueError(f"arrays that are unknown: {', '.join(odd[:5])}")
        digests, table = arrays["digests"], arrays.get("table")
        if digests.dtype != np.uint8 or digests.ndim != 2 or digests.shape[1] != DIGEST_BYTES:
            raise ValueError("labels that are no digests")
        if len(np.unique(digests, axis=0)) != len(digests) or not 0 < len(digests) <= MOST_LABELS:
            raise ValueError("labels that come twice, or not at all")
        if table is None:
            through = isinstance(kin, ExpectedMap) and isinstance(kin.expected, LabelSimilarity)
            if not through or kin.expected.patterns.shape[1] != len(digests):  # type: ignore[attr-defined]
                raise ValueError("tags without a map that knows them")
        else:
            if table.dtype != np.uint8 or table.shape != (len(digests), n_bytes(kin.n_bits)):
                raise ValueError("codes of classes of another length or number")
            if not np.array_equal(pack_bits(unpack_bits(table, kin.n_bits)), table):
                raise ValueError("ones in the padding")
            if recoded:
                raise ValueError("classes whose codes were fitted to the map's bits")
        recoding = Recoding.from_arrays(recoded, len(digests), kin.n_bits) if recoded else None
        return cls(digests, table, recoding)


def label_codes(fitted: Fitted, training: Training) -> LabelCodes | None:
    """Of a fit on labels; None where learned codes are no function of them, or there are too many."""
    labels = training.supervision.labels
    if labels is None or fitted.codes is None or fitted.group_of_row is None:
        return None
    if len(labels.names) > MOST_LABELS:
        return None
    if labels.is_tags:
        through = isinstance(fitted.map, ExpectedMap) and isinstance(fitted.map.expected, LabelSimilarity)
        digests = _digests(labels.names, _occur(labels))
        return LabelCodes(digests, None, fitted.recoding) if through else None
    table = np.zeros((len(labels.names), n_bytes(fitted.map.n_bits)), np.uint8)
    rows = np.flatnonzero(fitted.group_of_row >= 0)
    table[fitted.group_of_row[rows]] = fitted.codes[rows]
    occur = _occur(labels)
    return LabelCodes(_digests(labels.names)[occur], table[occur])


def _occur(labels: Labels) -> Bools:
    """Which of the names (t,) any row has."""
    found = np.zeros(len(labels.names), bool)
    found[labels.indicator().indices] = True
    return found


def _free_code(shares: Floats, taken: set[bytes]) -> Bytes:
    """Packed bits that most rows have, ``shares`` (d,) of them a 1, or the nearest that nobody has."""
    usual, order = shares > 0.5, np.argsort(np.abs(shares - 0.5), kind="stable")
    for count in range(MOST_TURNS + 1):
        for turned in combinations(order.tolist(), count):
            bits = usual.copy()
            bits[list(turned)] ^= True
            code = pack_bits(bits)
            if code.tobytes() not in taken:
                return code
    return pack_bits(usual)  # so many classes, or so few bits, that codes are shared


def _digests(names: Array, occur: Bools | None = None) -> Bytes:
    """Of each name and its kind: 1 and "1" are two labels. Names that do not occur have some other digest,
    by which nobody will find them."""
    kinds = [type(name).__name__ for name in names.tolist()]
    if occur is not None:
        kinds = [kind if known else f"no {kind}" for kind, known in zip(kinds, occur, strict=True)]
    found = [
        blake2b(f"{kind} {name}".encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES)
        for kind, name in zip(kinds, names.tolist(), strict=True)
    ]
    joined = b"".join(one.digest() for one in found)
    return np.frombuffer(joined, np.uint8).reshape(-1, DIGEST_BYTES).copy()
