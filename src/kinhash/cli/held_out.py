"""Which rows `kinhash fit` holds out as queries: some at random, or the last ones, because rows drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from .._internal.types import Array, Ints, Rng
from ..errors import InvalidInput

if TYPE_CHECKING:
    from .._internal.types import Ints
    from ..supervision import Labels

__all__ = ["USUAL", "HeldOut", "read_held_out", "read_times", "split_rows"]

MOST_QUERIES = 2000  # of the last rows; a random draw has as many as were asked for


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


def read_times(path: str, column: str | None, n_rows: int) -> Array:
    """One value per row that says when it came: numbers, or texts that sort like time (2024-05-31)."""
    import numpy as np

    from ..datasets import open_labels

    found = open_labels(path, column=column)
    if found.classes is None or not found.known.all() or len(found) != n_rows:
        missing = len(found) - int(found.known.sum())
        raise InvalidInput(
            f"{path} holds {len(found):,} times for {n_rows:,} rows, {missing:,} of them missing",
            "one time per row",
            "Fill the gaps, or pass --held-out last:N for the last rows of the file",
        )
    values = found.names[found.classes]
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        return np.argsort(np.argsort(found.names))[found.classes]


def split_rows(labels: Labels, wanted: HeldOut, times: Array | None, rng: Rng) -> tuple[Ints, Ints, Ints]:
    """Rows to fit on, held-out rows, and those of them that are asked as queries."""
    import numpy as np

    from ..metrics import SHARE_HELD_OUT, hold_out_rows

    if not wanted.last and (times is None or wanted.count == 0):
        train, kept_out = hold_out_rows(labels, wanted.count, SHARE_HELD_OUT, rng)
        return train, kept_out, kept_out
    count = wanted.count if wanted.last else min(wanted.count, int(SHARE_HELD_OUT * len(labels)))
    if count > len(labels) - 2:
        raise InvalidInput(
            f"The last {count:,} of {len(labels):,} rows cannot be held out",
            "at least two rows that are left to learn from",
            "Hold out fewer rows",
        )
    order = np.arange(len(labels)) if times is None else np.argsort(times, kind="stable")
    train, kept_out = np.sort(order[: len(order) - count]), np.sort(order[len(order) - count :])
    carrying = kept_out[np.diff(labels.indicator()[kept_out].indptr) > 0]
    queries = carrying if len(carrying) <= MOST_QUERIES else rng.permutation(carrying)[:MOST_QUERIES]
    return train, kept_out, np.sort(queries)
