"""Learned codes of tag sets fitted to the bits that the map really gives to rows.

A query is compared with learned codes but comes through the map, so a tag set's code should agree with the
map's bits of its kin, not with the kin's own learned codes. With b_i = ±1 the bits of N training rows,

    pull_g = Σ_i S_gi b_i / N − mean of S · mean of b,        G = Σ_i b_i b_iᵀ / N,

and codes that start from the solver's, single bits are set to the sign of ``pull/scale − curvature G c``,
without their own part, until none moves. Rows of one tag set count together, as whole numbers, so that a
tag set gets the same code in the fit and from a model file later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._forms import NUMBER, Form, check_forms
from .._types import Array, Bools, Bytes, Floats, Ints
from ..solvers.polish import polish_rows
from ..solvers.sample import Sample
from ..training import Training

__all__ = ["RECODE_ROWS", "Recoding"]

RECODE_ROWS = 4000
SWEEPS = 10
NUMBERS = ("n_rows", "mean", "scale", "curvature")
FORMS = {
    "patterns": Form("u1", "kb"),  # packed
    "sums": Form("i2", "kd", -RECODE_ROWS, RECODE_ROWS),
    "gram": Form("f8", "dd"),
    "n_rows": Form("f8", "1", 1, RECODE_ROWS),
    "mean": Form("f8", "1", -1, 1),
    "scale": NUMBER,
    "curvature": Form("f8", "1", 0),
}


@dataclass(frozen=True, eq=False)
class Recoding:
    """Tag sets (k, t) of ``n_rows`` rows, sums (k, d) of the ±1 bits that rows of each have, and G (d, d).

    ``mean`` is that of S among the anchors. Where no ``scale`` above 0 fits, codes stay as they are.
    """

    patterns: Bytes
    sums: Array
    gram: Floats
    n_rows: int
    mean: float
    scale: float
    curvature: float

    @classmethod
    def fit(
        cls,
        training: Training,
        groups: Ints,
        scores: Floats,
        rows: Ints,
        row_bits: Bools,
        sample: Sample,
        curvature: float,
    ) -> tuple[Recoding, Bools]:
        """From the solver's scores (g, d) of ``groups`` and the map's bits (n, d) of some ``rows`` (n,); and
        the bits (g, d) of the groups.

        The scale is the best multiple of B Bᵀ to compare the targets with, by least squares. Memory: g × d.
        """
        supervision, labels = training.supervision, training.supervision.labels
        assert labels is not None
        seen, first, place = np.unique(supervision.group_of_row[rows], return_index=True, return_inverse=True)
        patterns = labels.indicator()[rows[first]].toarray().astype(np.uint8)
        bits = np.where(row_bits, 1.0, -1.0)
        sums: Floats = np.stack(
            [np.bincount(place, one, len(seen)) for one in bits.T], axis=1, dtype=np.float64
        )
        gram = bits.T @ bits / len(bits)
        weights = sample.weights / sample.weights.sum()
        mean = float(weights @ supervision.similarity(sample.groups, sample.groups) @ weights)
        found = cls(patterns, sums.astype(np.int16), gram, len(bits), mean, 1.0, curvature)
        start = np.where(scores > 0, 1.0, -1.0)
        product = supervision.product(groups, seen, sums)
        pull = found._pull(product)
        counts = supervision.group_weights(training.weights)[groups][:, None]
        scale = (counts * start * pull).sum() / max((counts * (start @ gram) * start).sum(), 1e-12)
        found = replace(found, scale=float(scale))
        return found, found._bits(scores, product)

    def of_tags(self, scores: Floats, shared: Bools) -> Bools:
        """Bits (n, d) of rows with the solver's scores that share a tag with our tag sets or not (n, k)."""
        return self._bits(scores, np.where(shared, 1.0, -1.0) @ self._sums)

    @property
    def _sums(self) -> Floats:
        return self.sums.astype(np.float64)

    def _pull(self, product: Floats) -> Floats:
        """From ``S @ sums`` (n, d), which are whole numbers."""
        pull: Floats = product / self.n_rows - self.mean * (self._sums.sum(axis=0) / self.n_rows)
        return pull

    def _bits(self, scores: Floats, product: Floats) -> Bools:
        if self.scale <= 0:
            return scores > 0
        codes = np.where(scores > 0, 1.0, -1.0)
        polish_rows(codes, self._pull(product) / self.scale, self.gram, self.curvature, SWEEPS)
        return codes > 0

    def arrays(self) -> dict[str, Array]:
        """For a model file."""
        numbers = {name: np.array([getattr(self, name)], np.float64) for name in NUMBERS}
        return {
            "patterns": np.packbits(self.patterns, axis=1),
            "sums": self.sums,
            "gram": self.gram,
            **numbers,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], n_tags: int, n_bits: int) -> Recoding:
        """Undo `arrays`; a stranger may have written them."""
        lengths = check_forms(arrays, FORMS)
        if lengths["d"] != n_bits or lengths["k"] > RECODE_ROWS or lengths["b"] != -(-n_tags // 8):
            raise ValueError("recoding of other tags, or to codes of another length")
        patterns = np.unpackbits(arrays["patterns"], axis=1, count=n_tags)
        if not np.array_equal(np.packbits(patterns, axis=1), arrays["patterns"]):
            raise ValueError("ones in the padding")
        n_rows, mean, scale, curvature = (float(arrays[name][0]) for name in NUMBERS)
        return cls(patterns, arrays["sums"], arrays["gram"], int(n_rows), mean, scale, curvature)
