"""Codes as supervised codes look, full of ties, and the plain truth about their neighbors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinhash import Codes
from kinhash.engines import ENGINES, search

MODEL = "0123456789abcdef" * 2
LOCAL = [name for name in ENGINES if name not in ("postgres", "pgvector")]


def clustered(n_rows: int, n_bits: int, seed: int = 0, centers: int = 60, ids: str = "shuffled") -> Codes:
    """Codes around a few centers with one bit in a hundred flipped; ids in no order."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (centers, n_bits), dtype=np.uint8)[rng.integers(0, centers, n_rows)]
    bits ^= rng.random(bits.shape) < 0.01
    numbers = rng.permutation(n_rows) * 3
    if ids == "extreme":  # the whole range of 64-bit integers
        numbers = rng.integers(-(2**63), 2**63 - 1, n_rows)
        numbers[:2] = -(2**63), 2**63 - 1
    if ids == "text":  # UUIDs, paths, quotes, letters of many languages, and what COPY and SQL must escape
        shapes = ("3f2504e0-4f89-11d3-9a0c-{:012d}", "/data/photos of 2024/it's {}.jpg", "Ünïcödé-😀-{}",
                  "tab\t{}", "line\n{}", "back\\slash{}", "{}")  # fmt: skip
        texts = [shapes[k % len(shapes)].format(number) for k, number in enumerate(numbers)]
        numbers = np.array(texts, np.dtypes.StringDType())
    return Codes.from_bits(bits, ids=numbers, model_id=MODEL)


def asked_of(codes: Codes, n_queries: int, seed: int = 1) -> Codes:
    """Queries near the codes, some of them codes themselves."""
    rng = np.random.default_rng(seed)
    bits = codes[rng.integers(0, len(codes), n_queries)].bits()
    flips = rng.random(bits.shape) < 0.05
    flips[::3] = False
    return Codes.from_bits(bits ^ flips, model_id=codes.model_id)


def brute_force(codes: Codes, queries: Codes, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids and distances (q, k) by sorting all rows by (distance, id), on unpacked bits."""
    assert codes.ids is not None
    database, ids, distances = codes.bits(), [], []
    for query in queries.bits():
        count = (database != query).sum(axis=1)
        order = np.lexsort((codes.ids, count))[:k]
        ids.append(codes.ids[order])
        distances.append(count[order])
    width = min(k, len(codes))
    return np.reshape(ids, (len(queries), width)), np.reshape(distances, (len(queries), width))


def assert_answers(name: str, target: str, codes: Codes, queries: Codes, k: int) -> None:
    """The engine's answers are those of brute force."""
    found = search(name, target, queries, k)
    ids, distances = brute_force(codes, queries, k)
    assert found.ids.dtype == np.int64
    assert found.ids.shape == found.distances.shape == (len(queries), k)
    np.testing.assert_array_equal(found.distances[:, : len(codes)], distances)
    np.testing.assert_array_equal(found.ids[:, : len(codes)], ids)
    assert (found.ids[:, len(codes) :] == -1).all()


def contents(folder: Path) -> dict[str, bytes | None]:
    """All files below a folder, with their bytes; None for folders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


OLD, NEW = clustered(50, 32, seed=3), clustered(300, 32, seed=4)
