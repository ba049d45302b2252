"""What a second view of the items learns from: the fixed codes of rows of the first, and of labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._internal.types import Bools, Floats, Floats32, Ints, Rng
from .opinions import SHARP, Batch, Looks, Opinion, Wish, to_one

__all__ = ["Partners"]


@dataclass(eq=False)
class Partners(Opinion):
    """Each row of a batch ranks the fixed codes of the rows' partners in the first view.

    It wants its own partner (``own``), partners of rows with like labels (``wish``, weight 1 where known) and
    partners of rows that look alike (``looks``). ``targets`` (n, d) are ±1, from the first view. ``rows`` (n,) are
    the numbers by which the wish knows the rows.
    """

    targets: Floats32
    rows: Ints
    wish: Wish | None
    own: float
    looks: float
    weight: float = 1.0

    def draw(self, size: int, rng: Rng) -> Ints:
        n = len(self.targets)
        return np.arange(n) if n <= size else rng.choice(n, size, replace=False, shuffle=False)

    def gradient(self, batch: Batch) -> Floats32:
        m, d = batch.bits.shape
        C, sharp = self.targets[batch.rows], np.float32(SHARP / d)
        everyone, voices = slice(0, m), []
        if self.wish is not None:
            labeled = replace(batch, rows=self.rows[batch.rows])
            known: Bools = self.wish.known[labeled.rows]
            near = self.wish.near(labeled, everyone)
            near[np.arange(m), np.arange(m)] = known  # a partner has the labels of its row
            voices.append((known.astype(np.float32), to_one(near)))
        if self.own:
            share: Floats = np.full(m, self.own)
            voices.append((share.astype(np.float32), np.eye(m, dtype=np.float32)))
        if self.looks:
            near = Looks(len(self.targets)).near(batch, everyone)
            voices.append((np.full(m, self.looks, np.float32), to_one(near)))
        odds = np.exp(sharp * (batch.bits @ C.T))
        forth = odds / odds.sum(axis=1, keepdims=True)
        back = odds / odds.sum(axis=0)
        wrong = np.zeros((m, m), np.float32)
        for weights, wanted in voices:
            symmetric = to_one(wanted.T).T  # what a partner wants among the rows
            wrong += weights[:, None] * (forth - wanted) + weights * (back - symmetric)
        return (wrong @ C) * (sharp * np.float32(self.weight / (2 * m)))
