"""Compare a fitted hasher with float cosine, sign bits and LSH on pairs that were held out of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.blocks import block_slices
from .._internal.types import Floats
from ..codes import n_bytes
from .code_references import CodeReferences
from .comparison import COSINE, LEARNED, LSH, MAPPED, SIGN_BITS, Comparison, Line
from .cosine import unit_rows
from .pairs import Pairs, auc_shares

__all__ = ["compare_pairs"]

Rows = npt.NDArray[np.int64]


def compare_pairs(
    hasher: Any, X: Any, learned_from: Pairs, held_out: Pairs, rng: np.random.Generator
) -> Comparison:
    """ROC AUC on held-out pairs: how often a similar pair is nearer than a dissimilar pair.

    Peak memory beyond the features: a few blocks of rows.
    """
    rows, places = np.unique(np.concatenate([held_out.left, held_out.right]), return_inverse=True)
    left, right = places[: len(held_out)], places[len(held_out) :]
    references = CodeReferences(X, rows, hasher.n_bits, rng)
    n_bits, n_columns = hasher.n_bits, int(X.shape[1])
    size, size_before = n_bytes(n_bits), 4 * n_columns
    learned = hasher.codes_.learned  # some methods only map
    nearness = {(LEARNED, size): _agreement(hasher.codes_[rows].repeated(), left, right)} if learned else {}
    nearness |= {
        (MAPPED, size): _agreement(hasher.encode(X[rows]).repeated(), left, right),
        (COSINE, size_before): _cosine(unit_rows(X, rows), left, right),
        (SIGN_BITS, n_bytes(n_columns)): _agreement(references.sign_bits(rows), left, right),
        (LSH, size): _agreement(references.lsh(rows).packed, left, right),
    }
    kin = held_out.verdict > 0
    lines = tuple(
        Line(*name, {"ROC AUC": auc_shares(found[kin], found[~kin])}) for name, found in nearness.items()
    )
    facts = {
        "codes": "learned" if learned else "mapped",
        "pairs_kept_out": len(held_out),
        "pairs_learned_from": len(learned_from),
        **({"unique_codes_learned": len(np.unique(hasher.codes_, axis=0))} if learned else {}),
        "bytes_per_item_before": size_before,
        "bytes_per_item_after": size,
    }
    protocol = (
        f"Protocol: {len(held_out):,} of {len(held_out) + len(learned_from):,} pairs were held out of the "
        "fit; their rows may be in other pairs.\nThe score is how often a similar pair is nearer than a "
        "dissimilar one, equal distances counting one half (0.5 is chance);\ninterval: over similar pairs."
    )
    return Comparison("ROC AUC", protocol, lines, facts)


def _agreement(packed: npt.NDArray[np.uint8], left: Rows, right: Rows) -> Floats:
    """Minus the Hamming distance of every pair."""
    return -np.bitwise_count(packed[left] ^ packed[right]).sum(axis=1).astype(np.float64)


def _cosine(unit: Any, left: Rows, right: Rows) -> Floats:
    out = np.empty(len(left))
    for part in block_slices(len(left), 4096):
        if isinstance(unit, np.ndarray):
            out[part] = np.einsum("ij,ij->i", unit[left[part]], unit[right[part]], dtype=np.float64)
        else:
            out[part] = np.asarray(unit[left[part]].multiply(unit[right[part]]).sum(axis=1)).ravel()
    return out
