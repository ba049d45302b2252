"""Columns of codes in a table that SQL searches: one for plain codes, else one for each field.

Plain codes are the column ``code``. Other codes are the columns ``kin`` and ``alike`` (a field without bits
has none), and a distance is the sum of what each column counts, times its weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._internal.blocks import block_slices
from .._internal.types import Bytes
from ..codes import Codes, n_bytes, pack_bits, unpack_bits

__all__ = ["Column", "columns", "weighted"]

BLOCK = 16384  # rows unpacked at once


@dataclass(frozen=True)
class Column:
    """Packed bits of all rows, in which a differing bit counts ``weight``."""

    name: str
    weight: int
    packed: Bytes
    n_bits: int

    def texts(self) -> npt.NDArray[np.bytes_]:
        """Zeros and ones, the first bit first: one text of ``n_bits`` per row."""
        bits = unpack_bits(self.packed, self.n_bits)
        return np.ascontiguousarray(bits + ord("0")).view(f"S{self.n_bits}")[:, 0]


def columns(codes: Codes) -> list[Column]:
    """The columns of these codes; those of other codes of the same kind have the same names and widths."""
    fields, n_kin = codes.fields, codes.fields.kin(codes.n_bits)
    if fields.plain:
        return [Column("code", 1, codes.packed, codes.n_bits)]
    both = [("kin", fields.kin_weight, 0, n_kin), ("alike", fields.alike_weight, n_kin, codes.n_bits)]
    return [
        Column(name, weight, _cut(codes, start, stop), stop - start)
        for name, weight, start, stop in both
        if stop > start
    ]


def weighted(parts: list[Column], count: Callable[[Column], str]) -> str:
    """SQL that adds up what ``count`` says about each column, times its weight."""
    return " + ".join(f"{part.weight} * {count(part)}" if part.weight > 1 else count(part) for part in parts)


def _cut(codes: Codes, start: int, stop: int) -> Bytes:
    """Bits ``start`` to ``stop`` of every row, packed again."""
    out = np.empty((len(codes), n_bytes(stop - start)), np.uint8)
    for rows in block_slices(len(codes), BLOCK):
        out[rows] = pack_bits(codes[rows].bits()[:, start:stop])
    return out
