"""What a fit chose and found, for people: printed, or a table in a notebook. Nothing reads it back."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._internal.html import bullets, document, escape, table
from .._internal.types import Floats
from ..codes import KIN_ONLY, BitLayout

__all__ = ["FitReport", "dead_bits_warning"]

ORIGINS = {"learned": "learned from labels", "mapped": "mapped from features"}


@dataclass
class FitReport:
    """``report_`` of a fitted hasher: what was chosen, bits, distinct codes, warnings.

    Parameters
    ----------
    n_rows, n_bits : numbers of training rows and of bits.
    n_groups : number of different labels, tag sets, or rows of pairs.
    codes : "learned" from labels, "mapped" from features, or None if there are no codes of training rows.
    unique_codes : number of different codes among the training rows.
    classes_sharing_a_code : number of classes that have the kin bits of another one.
    dead_bits : bits that are the same on all training rows.
    bit_balance : share of ones in each bit.
    fields : how many kin and look-alike bits there are, and what each counts.
    warnings : what the fit warned of.
    seconds : by stage.
    facts : what the method chose and measured, such as "features" and "penalty".

    Examples
    --------
    >>> print(FitReport(n_rows=1500, n_bits=8, codes="learned", unique_codes=10, facts={"penalty": 0.01}))
    rows       1,500
    bits       8
    codes      learned from labels, 10 distinct among the rows
    penalty    0.01
    """

    n_rows: int
    n_bits: int
    n_groups: int = 0
    codes: str | None = None
    unique_codes: int = 0
    classes_sharing_a_code: int = 0
    dead_bits: list[int] = field(default_factory=list)
    bit_balance: Floats | None = None
    fields: BitLayout = KIN_ONLY
    warnings: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)

    def lines(self) -> list[tuple[str, str]]:
        """Names and values, in words."""
        said = [("rows", self._rows()), ("bits", self._bits()), ("codes", self._codes())]
        said += [(name.replace("_", " "), _value(value)) for name, value in self.facts.items()]
        if self.seconds:
            said.append(("seconds", f"{sum(self.seconds.values()):.2f}"))
        return [(name, value) for name, value in said if value]

    def __str__(self) -> str:
        lines = self.lines()
        width = max(10, *(len(name) for name, _ in lines))
        text = [f"{name:<{width}} {value}" for name, value in lines]
        return "\n".join([*text, *(f"Beware: {doubt}" for doubt in self.warnings)])

    def _repr_html_(self) -> str:
        rows = [(f"<b>{escape(name)}</b>", escape(value)) for name, value in self.lines()]
        doubts = f"<p><b>Beware</b></p>{bullets(self.warnings)}" if self.warnings else ""
        return document(table(rows), doubts)

    def _rows(self) -> str:
        groups = f" in {self.n_groups:,} groups of equal supervision" if self.n_groups else ""
        return f"{self.n_rows:,}{groups}"

    def _bits(self) -> str:
        constant = f"; {len(self.dead_bits)} constant" if self.dead_bits else ""
        shares = f": {self.fields.describe(self.n_bits)}" if self.fields.alike else ""
        return f"{self.n_bits}{shares}{constant}"

    def _codes(self) -> str:
        if self.codes is None:
            return ""
        sharing = self.classes_sharing_a_code
        origin = "learned from pairs" if self.facts.get("partners") else ORIGINS[self.codes]
        return f"{origin}, {self.unique_codes:,} distinct among the rows" + (
            f"; {sharing:,} classes share a code" if sharing else ""
        )


def dead_bits_warning(dead: int, n_bits: int) -> str:
    """The warning about bits that never change."""
    return (
        f"{dead} of {n_bits} bits are constant on the training rows and tell nothing apart. "
        "Fewer bits would do, or more varied labels."
    )


def _value(value: object) -> str:
    """A number with four digits, the last of a history, a text as it is."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if hasattr(value, "__len__") and not isinstance(value, str):
        if len(value) == 0:
            return ""
        if isinstance(value, list | tuple) and isinstance(value[-1], int | float):
            return _value(value[-1]) + (f" (the last of {len(value)})" if len(value) > 1 else "")
        return f"{len(value):,} values"
    return str(value)
