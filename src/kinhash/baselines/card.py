"""What a reader wants to know of a method at a glance; docs/rivals.md is written from these."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FEATURES", "Card"]

FEATURES = "features alone"


@dataclass(frozen=True)
class Card:
    """One row of the page.

    ``learns_from`` is what the method reads, such as `FEATURES`; ``ours`` says what does not come from the
    authors: reconstruction, constants, departures from their program.
    """

    source: str
    learns_from: str
    own_map: str
    ours: str
