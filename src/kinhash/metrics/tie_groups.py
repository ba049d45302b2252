"""Groups of rows at equal distance, and the closed forms of every score over them.

A query sees its database as a sequence of groups; the order inside a group is arbitrary.
Group by group, ``n`` rows of which ``r`` are kin, after ``N`` rows of which ``R`` are kin.
Every formula is the exact expectation over all orders inside the groups. The best and the worst order need no
formula of their own: `arranged` puts the kin of each group first or last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._internal.types import Array, Bools, Floats, Ints, Numbers

TIES = ("expected", "index", "optimistic", "pessimistic")
CHUNK = 1 << 18  # places whose discounts are summed at once
_SMALL = 64
_H = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, _SMALL + 1))])


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Groups (q, g) of ``n`` rows, ``r`` of them kin, after ``N`` rows with ``R`` kin, nearest first.

    Groups without relevant rows may be left out. ``grades`` (q, g, grades) counts the rows of every grade.
    """

    N: Ints
    n: Ints
    R: Ints
    r: Ints
    grades: Ints | None = None

    @classmethod
    def of_counts(cls, n: Ints, r: Ints) -> TieGroups:
        """From the rows and the kin (q, g) at every distance."""
        return cls(np.cumsum(n, axis=-1) - n, n, np.cumsum(r, axis=-1) - r, r)

    @classmethod
    def of_grades(cls, grades: Ints) -> TieGroups:
        """From the rows (q, g, grades) of every grade at every distance."""
        groups = cls.of_counts(grades.sum(axis=2), grades[:, :, 1:].sum(axis=2))
        return replace(groups, grades=grades)

    @classmethod
    def of_scores(cls, scores: Array, kin: Bools) -> TieGroups:
        """From the scores of one query, highest first: only scores that some kin has make a group."""
        ordered = np.sort(scores)
        values, r = np.unique(scores[kin], return_counts=True)
        values, r = values[::-1], r[::-1]
        last = np.searchsorted(ordered, values, "right")
        n = last - np.searchsorted(ordered, values, "left")
        return cls((len(scores) - last)[None], n[None], (np.cumsum(r) - r)[None], r[None])

    @classmethod
    def of_order(cls, grades: Array, top_grade: int = 1) -> TieGroups:
        """From the grades of one query's rows in a finished order: every kin is a group."""
        places = np.flatnonzero(grades)
        ones = np.ones((1, len(places)), np.int64)
        table = np.minimum(grades[places], top_grade)[None, :, None] == np.arange(top_grade + 1)
        return cls(places[None], ones, np.arange(len(places))[None], ones, table.astype(np.int64))

    @property
    def n_kin(self) -> Ints:
        """All kin of every query (q,)."""
        return np.asarray(self.r.sum(axis=-1))

    def arranged(self, ties: str) -> TieGroups:
        """The groups as they are, or their kin alone, in front of the others or behind them."""
        if ties == "optimistic":
            return TieGroups(self.N, self.r, self.R, self.r)
        if ties == "pessimistic":
            return TieGroups(self.N + self.n - self.r, self.r, self.R, self.r)
        return self

    def kin_among_first(self, k: int, ties: str = "expected") -> Floats:
        """Expected number of kin (q,) among the first ``k`` places: of a group cut by ``k``, its share."""
        groups = self.arranged(ties)
        seen = np.clip(k - groups.N, 0, groups.n)
        return np.asarray((groups.r * (seen / np.maximum(groups.n, 1))).sum(axis=-1))

    def average_precision(
        self,
        top: int | None = None,
        divide_by: str = "kin",
        ties: str = "expected",
        n_kin: Ints | None = None,
    ) -> Floats:
        """Average precision (q,); NaN for a query without relevant rows.

        Divided by the kin that can stand among the first ``top``; with ``divide_by="found"`` by those that
        do, as HashNet and many deep methods count it. A list with one kin in front and none behind it then
        scores 1, and finding another one far down makes the score fall. ``n_kin`` are all kin,
        where no group has some of them.
        """
        n_kin = self.n_kin if n_kin is None else n_kin
        if divide_by == "found" and top is not None:
            scores = self._divided_by_found(top, ties)
        else:
            most = self.n_kin if divide_by == "found" else n_kin if top is None else np.minimum(n_kin, top)
            scores = self.arranged(ties)._precision_terms(top).sum(axis=-1) / np.maximum(most, 1)
        return np.where(n_kin > 0, scores, np.nan)

    def _precision_terms(self, top: int | None = None) -> Floats:
        """Expected sum, over the kin of each group, of the precision at their places.

        A row at place ``N + t`` is kin with probability ``r / n``, and then ``R + 1`` kin and an
        expected ``(t - 1)(r - 1) / (n - 1)`` more of its own group stand there or in front. Summed over t,

            ``r/n [ (R + 1) dH + (r - 1)/(n - 1) (n' - (N + 1) dH) ]``

        with ``n' = min(n, top - N)`` and ``dH = 1/(N+1) + ... + 1/(N+n')``.
        """
        N, n, r = self.N, self.n, self.r
        seen = n if top is None else np.clip(top - N, 0, n)
        dH = harmonic_step(N, seen)
        mates = np.where(n > 1, (r - 1) / np.maximum(n - 1, 1), 0.0)
        return np.asarray(r / np.maximum(n, 1) * ((self.R + 1) * dH + mates * (seen - (N + 1) * dH)))

    def _divided_by_found(self, top: int, ties: str) -> Floats:
        whole = self.N + self.n <= top
        total = np.where(whole, self.arranged(ties)._precision_terms(), 0.0).sum(axis=-1)
        found = np.where(whole, self.r, 0).sum(axis=-1)
        scores = total / np.maximum(found, 1)
        for place in np.argwhere(~whole & (top > self.N) & (self.r > 0)):  # at most one group of a query
            q, g = place.tolist()
            group = self.N[q, g], self.n[q, g], self.R[q, g], self.r[q, g]
            scores[q] = _when_cut(total[q], found[q], group, top, ties)
        return np.asarray(scores)

    def ndcg(self, gains: Floats, top: int | None = None, ties: str = "expected") -> Floats:
        """Discounted gain (q,) over that of the best ranking there is; ``gains`` (grades,) of single rows."""
        assert self.grades is not None
        best_first = self.grades.sum(axis=1)[:, ::-1]
        ideal = discounted_gains(_before(best_first), best_first, best_first * gains[::-1], top)
        N, n, gained = self.N, self.n, self.grades @ gains
        if ties in ("optimistic", "pessimistic"):  # every group cut by grade, so order inside a part is idle
            step = -1 if ties == "optimistic" else 1
            parts = self.grades[:, :, ::step]
            n, gained = parts.reshape(len(parts), -1), (parts * gains[::step]).reshape(len(parts), -1)
            N = _before(n)
        mine = discounted_gains(N, n, gained, top)
        return np.where(ideal > 0, mine / np.where(ideal > 0, ideal, 1), np.nan)


def _when_cut(total: float, found: int, group: tuple[int, int, int, int], top: int, ties: str) -> float:
    """Score divided by the kin found, of a query one of whose groups is cut by ``top``.

    How many kin stand in the places seen is hypergeometric, and given that number these places are in random
    order, so the expectation is a sum over it. The best and the worst order are found over the same sum: with
    this divisor the best order may be the one that hides the kin of a cut group.
    """
    N, n, R, r = group
    seen = top - N
    kin = np.arange(max(0, seen - (n - r)), min(r, seen) + 1)
    if ties == "expected":
        dH = harmonic_step(N, seen)
        terms = kin / seen * ((R + 1) * dH + (kin - 1) * (seen - (N + 1) * dH) / max(seen - 1, 1))
    else:
        before = N if ties == "optimistic" else top - kin
        terms = kin + (R - before) * harmonic_step(before, kin)
    scores = (total + terms) / np.maximum(found + kin, 1)
    if ties != "expected":
        return float(scores.max() if ties == "optimistic" else scores.min())
    less = kin[:-1]
    ratios = (r - less) * (seen - less) / ((less + 1.0) * (n - r - seen + less + 1))
    logs = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    chances = np.exp(logs - logs.max())
    return float(chances @ scores / chances.sum())


def harmonic_step(N: Numbers, n: Numbers) -> Floats:
    """``1/(N+1) + ... + 1/(N+n)``, to machine precision relative to itself for any size.

    Up to 64 it is a table, beyond that ``log1p`` and the series of the harmonic numbers. A
    difference of two harmonic numbers would lose the digits a far group needs.
    """
    N, end = np.asarray(N, np.int64), np.asarray(N, np.int64) + np.asarray(n, np.int64)
    near = _H[np.minimum(end, _SMALL)] - _H[np.minimum(N, _SMALL)]
    a, b = np.maximum(N, _SMALL).astype(float), np.maximum(end, _SMALL).astype(float)
    return np.asarray(near + np.log1p((b - a) / a) + (_tail(b) - _tail(a)))


def _tail(x: Floats) -> Floats:
    y = 1 / (x * x)
    return 1 / (2 * x) - y * (1 / 12 - y * (1 / 120 - y / 252))


def _before(n: Ints) -> Ints:
    return np.asarray(np.cumsum(n, axis=-1) - n)


def discounted_gains(N: Ints, n: Ints, gains: Floats, top: int | None = None) -> Floats:
    """Expected ``sum of gain / log2(1 + place)`` over the first ``top`` places.

    Every row of a group is as likely at each of its places, so the group's gains are shared out
    evenly: ``sum_g gains_g / n_g * (D(N + n') - D(N))`` with ``D(k) = sum_{i<=k} 1 / log2(1 + i)``.
    """
    seen = n if top is None else np.clip(top - N, 0, n)
    discounts = discount_sums(N + seen) - discount_sums(N)
    return np.asarray((gains / np.maximum(n, 1) * discounts).sum(axis=-1))


def discount_sums(places: Ints) -> Floats:
    """``D(k) = sum_{i<=k} 1 / log2(1 + i)`` for each ``k``, summed in chunks: memory stays bounded."""
    wanted, back = np.unique(places, return_inverse=True)
    out, before = np.zeros(len(wanted)), 0.0
    for first in range(0, int(wanted.max(initial=0)), CHUNK):
        here = (wanted > first) & (wanted <= first + CHUNK)
        last = min(first + CHUNK, int(wanted[-1]))
        sums = before + np.cumsum(1 / np.log2(np.arange(first + 2, last + 2)))
        out[here] = sums[wanted[here] - first - 1]
        before = sums[-1]
    return out[back].reshape(places.shape)
