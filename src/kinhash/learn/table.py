"""Scores of labels: what a label adds to the features of a row in its code.

Every class, tag or node of a tree has one vector of scores, fitted to the map's scores of its rows; those of a
row's labels add up. A labeled row has the code ``sign(trust · labels + (1 − trust) · features)``. Labels are known
by a digest of their names, so that a model file names none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import scipy.sparse as sp

from .._internal.types import Array, Bytes, Floats, Ints, Rng
from ..errors import InvalidInput
from ..labels import Labels

__all__ = ["LabelTable", "too_many"]

RIDGE = 10.0  # rows of nothing in particular that every tag is fitted beside
SOLVER_STEPS = 100  # of conjugate gradients, which stop before that where they have converged
BITS = 16  # scores are whole numbers in parts of 2⁻¹⁶ of their typical size
MOST_LABELS = 100_000  # whose scores are kept
DIGEST_BYTES = 16
COMPARED = 2_000  # rows whose labels are compared with their features


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Scores (K, d) of labels, as whole numbers in parts of 2^−``unit``, and those of no label, ``offset`` (d,).

    ``n_levels`` is the depth of a tree of tags, or 0: short paths of later rows are padded as those of the fit.
    ``text`` says whether labels are text, ``paths`` whether they are named by paths in a tree.
    """

    digests: Bytes
    scores: Array
    offset: Array
    unit: int
    tags: bool
    n_levels: int = 0
    text: bool = False
    paths: bool = False

    @classmethod
    def fit(
        cls, labels: Labels, scores: Floats, rows: Ints, n_levels: int = 0, paths: bool = False
    ) -> LabelTable | None:
        """From scores (k, d) of some labeled rows; None for more than 100,000 labels.

        Classes have the mean of their rows, brought to the typical size of a row. Scores of tags add up: they
        are a ridge regression of the rows' scores on their tags. Memory: K × d numbers, a few times.
        """
        some = labels[rows]
        indicator = sp.csr_array(some.indicator(), dtype=np.float64)
        occur = np.bincount(indicator.indices, minlength=len(labels.names)) > 0
        if occur.sum() > MOST_LABELS or not occur.any():
            return None
        indicator = sp.csr_array(indicator[:, occur])
        size = float(np.sqrt((scores**2).mean())) or 1.0
        if not labels.is_tags:
            means = (indicator.T @ scores) / np.asarray(indicator.sum(axis=0)).ravel()[:, None]
            found, offset = _of_size(means, size), np.zeros(scores.shape[1])
        else:
            found, offset = _ridge(indicator, scores)
            predicted = indicator @ found + offset
            grow = size / (float(np.sqrt((predicted**2).mean())) or 1.0)
            found, offset = found * grow, offset * grow
        unit = BITS - int(np.ceil(np.log2(size)))
        digests = _digests(labels.names[occur])
        named = n_levels, _are_text(labels), paths
        return cls(digests, _whole(found, unit), _whole(offset, unit), unit, labels.is_tags, *named)

    def of(self, labels: Labels, *, unknown_ok: bool = False, places: Ints | None = None) -> Floats:
        """Scores (n, d) of rows by their labels; zeros where the label is missing and ``unknown_ok``.

        ``places`` are those of labels with these names, where they are known.
        """
        place = self.places(labels, unknown_ok=unknown_ok) if places is None else places
        tags = labels.indicator().tocoo()
        shape = (len(labels), len(self.digests))
        ours = sp.csr_array(
            (tags.data.astype(np.int64), (tags.coords[0], place[tags.coords[1]])), shape=shape
        )
        whole = ours @ self.scores.astype(np.int64) + self.offset.astype(np.int64)
        whole[~labels.known] = 0
        return np.ldexp(whole.astype(np.float64), -self.unit)

    def contradicted(self, labels: Labels, scores: Floats, rows: Ints, rng: Rng) -> float:
        """Share of some labeled ``rows`` whose scores (n, d) are nearer to another class than to their own."""
        assert labels.classes is not None
        sizes = np.bincount(labels.classes[rows], minlength=len(labels.names))
        rows = rows[sizes[labels.classes[rows]] > 1]  # a row alone in its class is its class
        if not len(rows):
            return 0.0
        some = rows if len(rows) <= COMPARED else np.sort(rng.choice(rows, COMPARED, replace=False))
        own = self._find(labels)[labels.classes[some]]
        toward = np.sign(self.scores.astype(np.float32))
        return float((np.argmax(np.tanh(scores[some]) @ toward.T, axis=1) != own).mean())

    def with_classes(self, labels: Labels, scores: Floats) -> LabelTable:
        """The same, and scores for every new class among ``labels``, from the scores (n, d) of its rows."""
        if self.tags or labels.is_tags:
            raise InvalidInput(
                "Tags came to add_classes, or classes to a model of tags",
                "classes, and a model that was fitted on classes",
                "Fit again with rows of the new tags",
            )
        if _are_text(labels) != self.text:
            kinds = ("text", "no text") if self.text else ("no text", "text")
            raise InvalidInput(
                f"The classes of the model are {kinds[0]}, and the new ones are {kinds[1]}",
                "classes of one type",
                "Convert them to the type that the model was fitted on",
            )
        assert labels.classes is not None
        present = np.bincount(labels.classes[labels.known], minlength=len(labels.names)) > 0
        new = np.flatnonzero((self._find(labels) < 0) & present)
        if not len(new):
            return self
        size = float(np.sqrt((np.ldexp(self.scores.astype(np.float64), -self.unit) ** 2).mean()))
        means = np.stack([scores[labels.classes == place].mean(axis=0) for place in new])
        digests = np.concatenate([self.digests, _digests(labels.names[new])])
        scores = np.concatenate([self.scores, _whole(_of_size(means, size), self.unit)])
        return replace(self, digests=digests, scores=scores)

    def with_labels_of(self, other: LabelTable) -> LabelTable:
        """The same, and labels that only the other table has."""
        ours = {digest.tobytes() for digest in self.digests}
        new = [place for place, digest in enumerate(other.digests) if digest.tobytes() not in ours]
        if not new or other.tags != self.tags:
            return self
        scores = _whole(np.ldexp(other.scores[new].astype(np.float64), -other.unit), self.unit)
        digests = np.concatenate([self.digests, other.digests[new]])
        return replace(self, digests=digests, scores=np.concatenate([self.scores, scores]))

    def _find(self, labels: Labels) -> Ints:
        """Where each of their names stands among ours, or −1."""
        ours = {digest.tobytes(): place for place, digest in enumerate(self.digests)}
        return np.array([ours.get(digest.tobytes(), -1) for digest in _digests(labels.names)], np.int64)

    def places(self, labels: Labels, *, unknown_ok: bool = False) -> Ints:
        """Where each of their names stands among ours; −1 for names we do not know, which no row may have."""
        if not labels.known.all() and not unknown_ok:
            raise InvalidInput(
                f"{int((~labels.known).sum())} of {len(labels)} labels are unknown",
                "a label for every row",
                "Encode rows of unknown label from their features, with encode(X)",
            )
        if labels.is_tags != self.tags:
            kinds = ("tags", "classes") if labels.is_tags else ("classes", "tags")
            raise InvalidInput(
                f"y holds {kinds[0]}, and the model was fitted on {kinds[1]}", kinds[1], "Pass those"
            )
        places = self._find(labels)
        present = np.bincount(labels.indicator().indices, minlength=len(places)) > 0
        strange = np.flatnonzero((places < 0) & present)
        if len(strange):
            raise InvalidInput(
                f"The model does not know {len(strange)} of the labels, "
                f"{labels.names.tolist()[strange[0]]!r} among them",
                "labels that it was fitted on",
                "Fit again with rows of the new labels, or encode such rows from their features"
                + ("" if labels.is_tags else ", or give new classes codes with add_classes(X, y)")
                + "; a file keeps no parents: name tags by paths, as 'sport/shoes'" * (self.n_levels > 0),
            )
        return places

    # -- files ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """For a model file."""
        facts = np.array([self.unit, self.tags, self.n_levels, self.text + 2 * self.paths], np.int32)
        return {"digests": self.digests, "scores": self.scores, "offset": self.offset, "facts": facts}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], n_bits: int) -> LabelTable:
        """Undo `arrays`; checks everything, since the file may come from anywhere."""
        from .._internal.container import Form, check_forms

        limit = 2**30
        forms = {
            "digests": Form("u1", "Kg"),
            "scores": Form("i4", "Kd", -limit, limit),
            "offset": Form("i4", "d", -limit, limit),
            "facts": Form("i4", "4", -2000, MOST_LABELS),
        }
        sizes = check_forms(arrays, forms)
        unit, tags, n_levels, named = (int(value) for value in arrays["facts"])
        digests = arrays["digests"]
        if sizes["d"] != n_bits or sizes["g"] != DIGEST_BYTES or not 0 < sizes["K"] <= MOST_LABELS:
            raise ValueError("scores of labels of another shape")
        if abs(unit) > 1000 or tags not in (0, 1) or not 0 <= named <= 3 or not 0 <= n_levels <= sizes["K"]:
            raise ValueError("facts of labels out of range")
        if len(np.unique(digests, axis=0)) != len(digests):
            raise ValueError("duplicate labels")
        named_by = bool(named & 1), bool(named & 2)
        return cls(digests, arrays["scores"], arrays["offset"], unit, bool(tags), n_levels, *named_by)


def too_many(labels: Labels) -> str:
    """What to say where there are more labels than have scores."""
    n = int((np.bincount(labels.indicator().indices, minlength=len(labels.names)) > 0).sum())
    return (
        f"{n:,} labels are more than the {MOST_LABELS:,} whose scores are kept: codes_ are mapped, and learned_codes "
        "is not available. Were continuous values or ids passed as labels?"
    )


def _of_size(means: Floats, size: float) -> Floats:
    """Rows brought to one root mean square."""
    own = np.sqrt((means**2).mean(axis=1, keepdims=True))
    return means * (size / np.where(own > 0, own, 1.0))


def _whole(scores: Floats, unit: int) -> Array:
    limit = float(2**30)
    return np.clip(np.rint(np.ldexp(scores, unit)), -limit, limit).astype(np.int32)


def _ridge(indicator: sp.csr_array, scores: Floats) -> tuple[Floats, Floats]:
    """Scores of tags and of no tag, by conjugate gradients on all bits at once; no matrix of tags × tags."""
    n, k = indicator.shape
    Y = sp.hstack([indicator, sp.csr_array(np.ones((n, 1)))], format="csr")
    penalty = np.append(np.full(k, RIDGE), 0.0)[:, None]

    def times(M: Floats) -> Floats:
        return Y.T @ (Y @ M) + penalty * M

    scale = 1 / (np.asarray(Y.multiply(Y).sum(axis=0)).ravel()[:, None] + penalty)  # preconditioner
    found = np.zeros((k + 1, scores.shape[1]))
    left = Y.T @ scores
    first = float(np.abs(left).max(initial=0.0))
    toward = step = scale * left
    size = (left * toward).sum(axis=0)
    for _ in range(SOLVER_STEPS):
        if np.abs(left).max(initial=0.0) <= 1e-6 * first:
            break
        moved = times(step)
        rate = size / np.maximum((step * moved).sum(axis=0), 1e-300)
        found += rate * step
        left = left - rate * moved
        toward = scale * left
        new = (left * toward).sum(axis=0)
        step = toward + (new / np.maximum(size, 1e-300)) * step
        size = new
    return found[:-1], found[-1]


def _plain(name: object) -> object:
    """A whole number as an integer: NumPy and pandas make floats of integers beside missing ones."""
    return int(name) if isinstance(name, float) and name.is_integer() else name


def _are_text(labels: Labels) -> bool:
    return any(isinstance(name, str) for name in labels.names.tolist())


def _digests(names: Array) -> Bytes:
    """A digest of each name and its type: 1 and "1" differ, 1 and 1.0 do not."""
    found = [
        blake2b(
            f"{type(name).__name__} {name}".encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES
        ).digest()
        for name in map(_plain, names.tolist())
    ]
    return np.frombuffer(b"".join(found), np.uint8).reshape(len(found), DIGEST_BYTES)
