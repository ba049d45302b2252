"""Readers meet damaged files: the documented error, or a data set, and nothing else.

Each reader gets 500 mutated copies of good files (shared among the variants of its format): bits
flipped, bytes cut, repeated, overwritten or put in. Nothing else than ``FileProblem`` may come out.
``make test-slow`` repeats it with ten times as many.
"""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from compact_cases import (
    COMPACT_KINDS,
    compact_arrays,
)
from file_accidents import N_MUTANTS, mutated, survives

from kinhash.datasets import open_labels, open_matrix
from kinhash.datasets._compact import CompactFile
from kinhash.errors import FileProblem

pytestmark = pytest.mark.parametrize(
    "times", [pytest.param(1, id="default"), pytest.param(10, id="slow", marks=pytest.mark.slow)]
)


@pytest.mark.parametrize("kind", COMPACT_KINDS)
def test_compact_bytes(tmp_path, kind, times):
    path = tmp_path / "own.npz"
    np.savez_compressed(path, **compact_arrays(kind))
    survives(lambda: CompactFile.read(path).parts(), [path], times * N_MUTANTS // len(COMPACT_KINDS))


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
            CompactFile.read(path).parts()
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


MATRICES = {
    "a.npy": lambda path, X: np.save(path, X),
    "c.npz": lambda path, X: np.savez_compressed(path, X=X),
    "s.npz": lambda path, X: sp.save_npz(path, sp.csr_array(X)),
    "a.csv": lambda path, X: np.savetxt(path, X, delimiter=",", header="a,b,c", comments=""),
    "a.svm": lambda path, X: path.write_text("".join(f"1 1:{a} 2:{b} 3:{c}\n" for a, b, c in X)),
    "a.parquet": lambda path, X: write_parquet(path, X),
}


def write_parquet(path, X):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(arrow.table({f"c{k}": X[:, k] for k in range(X.shape[1])}), path)


@pytest.mark.parametrize("name", MATRICES)
def test_open_matrix(tmp_path, name, times):
    path = tmp_path / name
    MATRICES[name](path, np.random.default_rng(8).standard_normal((20, 3)))

    def read():
        for block in open_matrix(path).blocks(7):
            np.asarray(block.toarray() if sp.issparse(block) else block)

    survives(read, [path], times * N_MUTANTS // 2)


@pytest.mark.parametrize("name", ["a.npy", "a.csv"])
def test_pipes(tmp_path, name, times):
    path = tmp_path / name
    MATRICES[name](path, np.random.default_rng(9).standard_normal((20, 3)))

    def read():
        list(open_matrix(io.BytesIO(path.read_bytes())).blocks(7))

    survives(read, [path], times * N_MUTANTS // 2)


LABELS = {
    "a.npy": lambda path: np.save(path, np.array(["sky", "sea", "sky"])),
    "i.npy": lambda path: np.save(path, np.eye(4, dtype=int)),
    "a.txt": lambda path: path.write_text("sky\nsea\n\nsky\n"),
    "a.csv": lambda path: path.write_text('1\n2\n"3"\n1\n'),
    "a.json": lambda path: path.write_text(json.dumps([["a", "b"], [], None, ["c"]])),
    "c.json": lambda path: path.write_text(json.dumps([1, 2, None, 1])),
    "a.svm": lambda path: path.write_text("1,2 1:3\n 1:2\n3 1:2\n"),
    "a.npz": lambda path: np.savez_compressed(path, **compact_arrays("half")),
    "s.npz": lambda path: sp.save_npz(path, sp.csr_array(np.eye(4, dtype=int))),
}


@pytest.mark.parametrize("name", LABELS)
def test_open_labels(tmp_path, name, times):
    path = tmp_path / name
    LABELS[name](path)
    survives(lambda: open_labels(path), [path], times * N_MUTANTS // 4)
