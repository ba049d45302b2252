"""The option ``--held-out``: how many rows are kept out, and whether they are the last ones."""

from __future__ import annotations

from dataclasses import dataclass

import click

__all__ = ["USUAL", "HeldOut", "read_held_out"]


@dataclass(frozen=True)
class HeldOut:
    """At most n rows, or exactly the last n."""

    count: int
    last: bool = False

    def __str__(self) -> str:
        return f"last:{self.count}" if self.last else str(self.count)


USUAL = HeldOut(1000)


def read_held_out(ctx: click.Context, param: click.Parameter, value: str) -> HeldOut:
    """``500`` or ``last:500``."""
    order, _, number = value.rpartition(":")
    if order not in ("", "last") or not number.isdecimal() or (order and int(number) == 0):
        raise click.BadParameter(f"{value!r} is neither a number of rows, such as 500, nor last:500.")
    return HeldOut(int(number), order == "last")
