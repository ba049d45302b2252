"""The verdict where only pairs are known: does the distance tell kin from strangers?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._blocks import block_slices
from ..codes import n_bytes
from ..metrics import bootstrap_interval
from ._judge import LEARNED, MAPPED, Line, Verdict
from ._rivals import Rivals
from ._supervision import Pairs

__all__ = ["hold_out_pairs", "judge_pairs"]

FEWEST_PAIRS = 20  # of each kind; with fewer, nothing is kept out
MOST_PAIRS = 10_000

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


def hold_out_pairs(pairs: Pairs, share: float, rng: np.random.Generator) -> tuple[Pairs, Pairs | None]:
    """Pairs to learn from and pairs kept out, the same share of both kinds; None where there are too few."""
    kinds = [np.flatnonzero(pairs.verdict == sign) for sign in (1, -1)]
    if min(map(len, kinds)) < FEWEST_PAIRS or share <= 0:
        return pairs, None
    most = MOST_PAIRS / len(pairs)
    out = [rng.permutation(kind)[: max(1, int(min(share, most) * len(kind)))] for kind in kinds]
    kept_out = np.zeros(len(pairs), bool)
    kept_out[np.concatenate(out)] = True
    # The same two rows may be listed twice: what is kept out must not be learned from under another number.
    low, high = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    names = np.stack([low, high], axis=1)
    _, same = np.unique(names, axis=0, return_inverse=True)
    kept_out = np.isin(same.ravel(), same.ravel()[kept_out])
    return pairs[~kept_out], pairs[kept_out]


def judge_pairs(
    hasher: Any, X: Any, learned_from: Pairs, kept_out: Pairs, rng: np.random.Generator
) -> Verdict:
    """ROC AUC on the pairs kept out: how often a pair of kin is nearer than a pair of strangers.

    Peak memory beyond the features: a few blocks of rows.
    """
    rows, places = np.unique(np.concatenate([kept_out.left, kept_out.right]), return_inverse=True)
    left, right = places[: len(kept_out)], places[len(kept_out) :]
    rivals = Rivals(X, rows, hasher.n_bits, rng)
    bits, width = n_bytes(hasher.n_bits), rivals.n_columns
    learned = hasher.report_.get("codes", "learned") == "learned"  # some methods only map
    distances = {(LEARNED, bits): _differing(hasher.codes_[rows], left, right)} if learned else {}
    distances |= {
        (MAPPED, bits): _differing(hasher.encode(X[rows]), left, right),
        ("float cosine", 4 * width): -_cosine(rivals.unit_rows(rows), left, right),
        ("sign bits", n_bytes(width)): _differing(rivals.sign_bits(rows), left, right),
        (f"LSH, {hasher.n_bits} bits", bits): _differing(rivals.lsh_bits(rows), left, right),
    }
    kin = kept_out.verdict > 0
    lines = tuple(_line(*name, found, kin) for name, found in distances.items())
    facts = {
        "codes": hasher.report_.get("codes", "learned"),
        "pairs_kept_out": len(kept_out),
        "pairs_learned_from": len(learned_from),
        **({"unique_codes_learned": len(np.unique(hasher.codes_, axis=0))} if learned else {}),
        "bytes_per_item_before": 4 * width,
        "bytes_per_item_after": bits,
    }
    protocol = (
        f"Protocol: {len(kept_out):,} of {len(kept_out) + len(learned_from):,} pairs were kept out of the "
        "fit; their rows may be in other pairs.\nThe score is how often a pair of kin is nearer than a pair "
        "of strangers, equal distances counting one half (0.5 is chance);\ninterval: over pairs of kin."
    )
    return Verdict("ROC AUC", protocol, lines, facts)


def _differing(packed: npt.NDArray[np.uint8], left: Rows, right: Rows) -> Floats:
    return np.bitwise_count(packed[left] ^ packed[right]).sum(axis=1).astype(np.float64)


def _cosine(unit: Any, left: Rows, right: Rows) -> Floats:
    out = np.empty(len(left))
    for part in block_slices(len(left), 4096):
        if isinstance(unit, np.ndarray):
            out[part] = np.einsum("ij,ij->i", unit[left[part]], unit[right[part]], dtype=np.float64)
        else:
            out[part] = np.asarray(unit[left[part]].multiply(unit[right[part]]).sum(axis=1)).ravel()
    return out


def _line(name: str, bytes_per_item: int, distances: Floats, kin: npt.NDArray[np.bool_]) -> Line:
    """Mean over pairs of kin of the share of strangers that are farther (ties: one half)."""
    strangers = np.sort(distances[~kin])
    nearer = np.searchsorted(strangers, distances[kin], "left")
    not_farther = np.searchsorted(strangers, distances[kin], "right")
    interval = bootstrap_interval(1 - (nearer + not_farther) / (2 * len(strangers)), n_resamples=1000)
    return Line(name, bytes_per_item, interval.value, interval.low, interval.high)
