"""What a fit chose and found, as a dictionary that reads well when printed and in a notebook."""

from __future__ import annotations

from typing import Any

from .._html import bullets, document, escape, table
from ..fields import Fields

__all__ = ["FitReport", "dead_bits_warning"]

# What has a place of its own in the text; everything else is what the method chose or measured.
TOLD = (
    "n_rows", "n_groups", "n_bits", "codes", "unique_codes", "classes_sharing_a_code", "dead_bits",
    "bit_balance", "warnings", "seconds", "kin_bits", "alike_bits", "kin_weight", "alike_weight",
)  # fmt: skip


class FitReport(dict[str, Any]):
    """The dictionary ``report_`` of a fitted hasher: what was chosen, bits, distinct codes, warnings.

    Common keys: ``n_rows``, ``n_groups`` (rows of different supervision), ``n_bits``, ``codes`` ("learned"
    from labels or "mapped" from features), ``unique_codes``, ``classes_sharing_a_code``, ``dead_bits``,
    ``bit_balance``, ``warnings``, ``seconds`` per stage; with alike bits ``kin_bits``, ``alike_bits`` and
    their weights. Methods add what they chose and measured.

    Examples
    --------
    >>> print(FitReport(n_rows=1500, n_bits=8, codes="learned", unique_codes=10, penalty=0.01))
    rows       1,500
    bits       8
    codes      learned from labels, 10 distinct among the rows
    penalty    0.01
    """

    def lines(self) -> list[tuple[str, str]]:
        """Names and values, in words."""
        said = [("rows", self._rows()), ("bits", self._bits()), ("codes", self._codes())]
        said += [(name.replace("_", " "), _value(value)) for name, value in self.items() if name not in TOLD]
        if self.get("seconds"):
            said.append(("seconds", f"{sum(self['seconds'].values()):.2f}"))
        return [(name, value) for name, value in said if value]

    def __str__(self) -> str:
        lines = self.lines()
        width = max(10, *(len(name) for name, _ in lines)) if lines else 10
        text = [f"{name:<{width}} {value}" for name, value in lines]
        return "\n".join([*text, *(f"Beware: {doubt}" for doubt in self.get("warnings", ()))])

    def _repr_html_(self) -> str:
        rows = [(f"<b>{escape(name)}</b>", escape(value)) for name, value in self.lines()]
        doubts = self.get("warnings", ())
        return document(table(rows), f"<p><b>Beware</b></p>{bullets(doubts)}" if doubts else "")

    def _rows(self) -> str:
        if "n_rows" not in self:
            return ""
        groups = self.get("n_groups", 0)
        return f"{self['n_rows']:,}" + (f" in {groups:,} groups of equal supervision" if groups else "")

    def _bits(self) -> str:
        if "n_bits" not in self:
            return ""
        dead = self.get("dead_bits", ())
        constant = f"; {len(dead)} constant" if len(dead) else ""
        if not self.get("alike_bits"):
            return f"{self['n_bits']}{constant}"
        fields = Fields(self["alike_bits"], self["kin_weight"], self["alike_weight"])
        return f"{self['n_bits']}: {fields.describe(self['n_bits'])}{constant}"

    def _codes(self) -> str:
        if "codes" not in self:
            return ""
        come = {"learned": "learned from labels", "mapped": "mapped from features"}[self["codes"]]
        sharing = self.get("classes_sharing_a_code", 0)
        return f"{come}, {self['unique_codes']:,} distinct among the rows" + (
            f"; {sharing:,} classes share a code" if sharing else ""
        )


def dead_bits_warning(dead: int, n_bits: int) -> str:
    """What to say of bits that never change."""
    return (
        f"{dead} of {n_bits} bits are constant on the training rows and tell nothing apart. "
        "Fewer bits would do, or more varied labels."
    )


def _value(value: Any) -> str:
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
