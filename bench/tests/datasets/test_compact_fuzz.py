"""Compact files meet accidents, in their bytes and in their arrays: the documented error, or a data set."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from compact_cases import COMPACT_KINDS, compact_arrays
from file_accidents import N_MUTANTS, mutated, survives

from kinhash.errors import FileProblem
from kinhash_bench.datasets import read_compact

pytestmark = pytest.mark.parametrize(
    "times", [pytest.param(1, id="default"), pytest.param(10, id="slow", marks=pytest.mark.slow)]
)


@pytest.mark.parametrize("kind", COMPACT_KINDS)
def test_compact_bytes(tmp_path, kind, times):
    path = tmp_path / "own.npz"
    np.savez_compressed(path, **compact_arrays(kind))
    survives(lambda: read_compact(path), [path], times * N_MUTANTS // len(COMPACT_KINDS))


@pytest.mark.parametrize("kind", COMPACT_KINDS)
def test_compact_arrays(tmp_path, kind, times):
    """The archive is sound, but the arrays in it are not what they should be."""
    rng = np.random.default_rng(7)
    arrays = compact_arrays(kind)
    path = tmp_path / "own.npz"
    refused = 0
    n_mutants = times * N_MUTANTS // len(COMPACT_KINDS)
    for _ in range(n_mutants):
        changed = dict(arrays)
        name = str(rng.choice(list(arrays)))
        changed[name] = strange(arrays[name], rng)
        if rng.random() < 0.2:
            del changed[str(rng.choice(list(arrays)))]
        np.savez(path, **changed)
        if rng.random() < 0.3:
            rewrite_member(path, name, rng)
        try:
            read_compact(path)
        except FileProblem:
            refused += 1
    assert refused > n_mutants // 4


def strange(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same array with another size, type, shape or values."""
    kind = rng.integers(7)
    if kind == 0:
        return array[..., :-1] if array.ndim else array
    if kind == 1:
        return np.concatenate([np.atleast_1d(array)] * 2)
    if kind == 2:
        return array.astype(str) if array.dtype.kind != "U" else np.arange(array.size)
    if kind == 3:
        return array.reshape(-1, 1)
    if kind == 4 and array.dtype.kind in "iuf":
        out = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        out.reshape(-1)[rng.integers(out.size)] = rng.choice([-1, 2**40, np.iinfo(np.int64).min])
        return out
    if kind == 5 and array.dtype.kind == "f":
        out = array.copy()
        out.reshape(-1)[rng.integers(out.size)] = rng.choice([np.nan, np.inf])
        return out
    return np.array([])


def rewrite_member(path, name: str, rng: np.random.Generator) -> None:
    """Damage the bytes of one array and seal the archive again, so that its checksum holds."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    if f"{name}.npy" in members:
        members[f"{name}.npy"] = mutated(members[f"{name}.npy"], rng)
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
