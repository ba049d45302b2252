"""Self-check of an engine: its answers are compared with a plain search of all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._internal.types import Rng
from .._internal.validation import check_integer
from ..codes import Codes, CodesLike, as_codes, pack_bits
from . import ENGINES
from .base import Engine
from .brute_force import nearest_rows
from .run import Target, answers, as_place, prepared

__all__ = ["Check", "check"]


@dataclass(frozen=True)
class Check:
    """The outcome of a self-check: equal distances and equal ids, over ``n_queries`` queries."""

    n_queries: int
    k: int
    distances_equal: bool
    ids_equal: bool
    asked: bool  # whether the engine answered; False: its files were read back

    @property
    def passed(self) -> bool:
        """Whether every distance and every id was ours."""
        return self.distances_equal and self.ids_equal

    def __str__(self) -> str:
        source = "the engine's" if self.asked else "the written files'"
        what = f"{self.n_queries} queries with {self.k} neighbors each"
        if self.passed:
            said = f"Checked {what}: {source} distances and ids equal ours"
            return said + ("." if self.asked else "; the server itself was not asked.")
        wrong = "distances" if not self.distances_equal else "ids (at equal distances)"
        return f"Checked {what}: {source} {wrong} differ from ours."


def check(
    engine: str,
    codes: CodesLike,
    target: Target,
    *,
    n_bits: int | None = None,
    ids: npt.ArrayLike | None = None,
    table: str = "codes",
    n_queries: int = 20,
    k: int = 10,
    seed: int = 0,
) -> Check:
    """Search the engine for some of the written codes, and compare with an exact search.

    Half of the queries are written codes, half are written codes with a tenth of their bits flipped. For
    servers we cannot ask, the written files are read back and searched instead.
    """
    one: Engine = ENGINES.make(engine)
    n_queries, k = check_integer("n_queries", n_queries, 1), check_integer("k", k, 1)
    rows = prepared(as_codes(codes, n_bits), ids)
    queries = sampled(rows, n_queries, np.random.default_rng(seed))
    theirs = answers(one, as_place(target, table), queries, k)
    k, stored = min(k, len(rows)), rows.repeated()
    ours = [nearest_rows(stored, queries[row].repeated(), k) for row in range(len(queries))]
    assert rows.ids is not None
    return Check(
        n_queries=len(queries),
        k=k,
        distances_equal=np.array_equal([distances for _, distances in ours], theirs.distances),
        ids_equal=[rows.ids[order].tolist() for order, _ in ours] == theirs.ids.tolist(),
        asked=one.answers,
    )


def sampled(codes: Codes, n_queries: int, rng: Rng) -> Codes:
    """Queries near the codes; every second one equals a stored code."""
    if not len(codes):
        bits = rng.integers(0, 2, (n_queries, codes.n_bits), dtype=np.uint8)
        return replace(codes, packed=pack_bits(bits), ids=None)
    bits = codes[rng.integers(0, len(codes), n_queries)].bits()
    flips = rng.random(bits.shape) < 0.1
    flips[::2] = False
    return replace(codes, packed=pack_bits(bits ^ flips), ids=None)
