"""A check-up for codes: what each bit is worth, and how crowded the buckets are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._internal.blocks import block_slices
from .._internal.types import Floats, Ints
from ..codes import Codes, as_codes, unpack_bits
from ..errors import InvalidInput

BLOCK_ROWS = 1 << 14


@dataclass(frozen=True, eq=False)
class CodeHealth:
    """Statistics of codes; ``print`` gives them in sentences.

    * ``ones`` (d,): share of ones of each bit. One half is ideal, 0 or 1 is a dead bit.
    * ``dead_bits``: bits that are the same in every code. They say nothing.
    * ``twin_bits``: pairs of bits that are always equal, or always opposite. The second says nothing new.
    * ``correlation`` (d, d): between bits, 0 with dead bits, 1 on the diagonal.
    * ``bucket_sizes``: rows per distinct code, largest first.
    """

    n_codes: int
    n_bits: int
    ones: Floats
    dead_bits: Ints
    twin_bits: list[tuple[int, int]]
    correlation: Floats
    bucket_sizes: Ints

    @property
    def n_unique(self) -> int:
        """Distinct codes."""
        return len(self.bucket_sizes)

    @property
    def share_in_company(self) -> float:
        """Share of rows whose code some other row has too."""
        return float(self.bucket_sizes[self.bucket_sizes > 1].sum() / self.n_codes)

    @property
    def entropy(self) -> float:
        """Bits of information a code carries: ``-sum p log2 p`` over buckets; at most log2(n)."""
        p = self.bucket_sizes / self.n_codes
        return float(max(0.0, -(p * np.log2(p)).sum()))

    @property
    def mean_correlation(self) -> float:
        """Mean absolute correlation between different bits that are alive; 0 if there are none."""
        alive = np.setdiff1d(np.arange(self.n_bits), self.dead_bits)
        if len(alive) < 2:
            return 0.0
        among = np.abs(self.correlation[np.ix_(alive, alive)])
        return float((among.sum() - len(alive)) / (len(alive) * (len(alive) - 1)))

    def __str__(self) -> str:
        worst = int(np.abs(self.ones - 0.5).argmax())
        dead, twins = _few(self.dead_bits.tolist()), _few(self.twin_bits)
        lines = [
            f"{self.n_codes} codes of {self.n_bits} bits.",
            f"Balance: a bit is 1 in {self.ones.mean():.0%} of the codes on average (half is ideal); "
            f"bit {worst} is the most one-sided with {self.ones[worst]:.0%}.",
            f"Dead bits: {dead} are the same in every code. Drop them, or train with more balance."
            if dead
            else "Dead bits: none.",
            f"Twin bits: {twins} always agree or always differ; one of each pair says nothing new."
            if twins
            else "Twin bits: none.",
            f"Correlation between different bits: {self.mean_correlation:.2f} on average (0 is ideal).",
            f"Buckets: {self.n_unique} distinct codes; the fullest holds {self.bucket_sizes[0]} rows, "
            f"{self.share_in_company:.0%} of the rows share their code with another row.",
            f"A code carries {self.entropy:.1f} bits of information, out of at most "
            f"{min(self.n_bits, np.log2(self.n_codes)):.1f} for this number of rows.",
        ]
        if self.n_unique < self.n_codes:
            lines.append("Rows that share a code tie in every ranking: report tie-aware scores.")
        return "\n".join(lines)


def code_health(codes: Codes | npt.ArrayLike, *, n_bits: int | None = None) -> CodeHealth:
    """Bit balance, dead and twin bits, correlation, distinct codes and bucket sizes.

    Parameters
    ----------
    codes : Codes or array of shape (n, bytes)
    n_bits : int, default=None
        Length of the codes if they are bare bytes; 8 per byte by default.

    >>> print(code_health(np.array([[0b10000000], [0b11000000]], np.uint8), n_bits=3))
    2 codes of 3 bits.
    Balance: a bit is 1 in 50% of the codes on average (half is ideal); bit 0 is the most one-sided with 100%.
    Dead bits: 2 (0, 2) are the same in every code. Drop them, or train with more balance.
    Twin bits: none.
    Correlation between different bits: 0.00 on average (0 is ideal).
    Buckets: 2 distinct codes; the fullest holds 1 rows, 0% of the rows share their code with another row.
    A code carries 1.0 bits of information, out of at most 1.0 for this number of rows.
    """
    codes = as_codes(codes, n_bits)
    if len(codes) == 0:
        raise InvalidInput("There are no codes", "at least one code", "Pass the codes of your database")
    n, both = len(codes), _joint_ones(codes)
    ones = np.diagonal(both).copy()
    dead = np.flatnonzero((ones == 0) | (ones == n))
    equal = n - ones[:, None] - ones[None, :] + 2 * both  # codes in which two bits agree
    twins = np.triu((equal == n) | (equal == 0), 1)
    twins[dead] = twins[:, dead] = False
    p = ones / n
    scale = np.sqrt(np.outer(p * (1 - p), p * (1 - p)))
    correlation = np.where(scale > 0, (both / n - np.outer(p, p)) / np.where(scale > 0, scale, 1), 0.0)
    np.fill_diagonal(correlation, 1.0)
    buckets = np.unique(codes.packed, axis=0, return_counts=True)[1]
    return CodeHealth(
        n_codes=n,
        n_bits=codes.n_bits,
        ones=p,
        dead_bits=dead,
        twin_bits=[(int(i), int(j)) for i, j in np.argwhere(twins)],
        correlation=np.clip(correlation, -1, 1),
        bucket_sizes=np.sort(buckets)[::-1],
    )


def _joint_ones(codes: Codes) -> Ints:
    """Codes in which bits i and j are both 1 (d, d); exact, for a block stays below 2**24."""
    total = np.zeros((codes.n_bits, codes.n_bits), np.int64)
    for rows in block_slices(len(codes), BLOCK_ROWS):
        bits = unpack_bits(codes.packed[rows], codes.n_bits).astype(np.float32)
        total += (bits.T @ bits).astype(np.int64)
    return total


def _few(things: list[int] | list[tuple[int, int]]) -> str:
    if not things:
        return ""
    named = ", ".join(str(thing) for thing in things[:6])
    return f"{len(things)} ({named}{', ...' if len(things) > 6 else ''})"
