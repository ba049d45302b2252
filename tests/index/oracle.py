"""What an index should answer, by brute force over a plain dictionary of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Oracle:
    """Rows by id: bits, payload and whether they were learned."""

    n_bits: int
    rows: dict[Any, tuple[np.ndarray, dict[str, Any], bool]] = field(default_factory=dict)

    def put(self, bits, ids, payload, learned):
        for k, name in enumerate(ids):
            self.rows[name] = bits[k], {c: v[k] for c, v in payload.items()}, bool(learned[k])

    def remove(self, ids):
        for name in ids:
            del self.rows[name]

    @property
    def ids(self):
        return sorted(self.rows)

    def column(self, name):
        return [self.rows[one][1][name] for one in self.ids]

    def ranked(self, bits, passing=None, own=None, counts=None):
        """(distance, id) of all rows that pass, in order; ``counts`` says what a differing bit counts."""
        found = []
        for name, (code, _, _) in self.rows.items():
            if (passing is None or name in passing) and not (own is not None and name == own):
                differing = code != bits
                found.append((int(differing.sum() if counts is None else counts[differing].sum()), name))
        return sorted(found)


def same_nearest(found, expected, k, pad=-1):
    """Compare a `Neighbors` with lists of (distance, id)."""
    assert found.ids.shape == found.distances.shape == (len(expected), k)
    for i, all_of_them in enumerate(expected):
        wanted = all_of_them[:k]
        assert found.counts[i] == len(wanted)
        pads = k - len(wanted)
        assert found.ids[i].tolist() == [name for _, name in wanted] + [pad] * pads
        assert found.distances[i].tolist() == [far for far, _ in wanted] + [-1] * pads
        one = found[i]
        assert (one.ids.tolist(), one.distances.tolist()) == (
            [name for _, name in wanted],
            [far for far, _ in wanted],
        )


def same_within(found, expected, radius):
    """Compare a `RadiusNeighbors` with lists of (distance, id)."""
    assert len(found) == len(expected)
    for one, all_of_them in zip(found, expected, strict=True):
        near = [(far, name) for far, name in all_of_them if far <= radius]
        assert list(zip(one.distances.tolist(), one.ids.tolist(), strict=True)) == near
