"""The verdict `kinhash fit` and `kinhash demo` end with, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._terminal import table

if TYPE_CHECKING:
    from ..evaluation import Comparison

__all__ = ["verdict_text"]


def verdict_text(comparison: Comparison) -> str:
    """The table of search methods, and below it how it was measured."""
    rows = [["", "bytes per item", comparison.metric, "95 % interval"]]
    for line in comparison.lines:
        interval = f"{line.low:.3f} to {line.high:.3f}"
        rows.append([line.name, f"{line.bytes_per_item:,}", f"{line.score:.3f}", interval])
    return f"{table(rows)}\n{comparison.protocol}"
