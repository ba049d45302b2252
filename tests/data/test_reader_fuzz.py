"""Readers meet damaged files: the documented error, or a data set, and nothing else.

Each reader gets 500 mutated copies of good files (shared among the variants of its format): bits
flipped, bytes cut, repeated, overwritten or put in. Nothing else than ``FileProblem`` may come out.
``make test-slow`` repeats it with ten times as many.
"""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import scipy.sparse as sp
from file_accidents import N_MUTANTS, survives

from kinhash.data import read_table

pytestmark = pytest.mark.parametrize(
    "times", [pytest.param(1, id="default"), pytest.param(10, id="slow", marks=pytest.mark.slow)]
)


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
        for block in read_table(path).features().blocks(7):
            np.asarray(block.toarray() if sp.issparse(block) else block)

    survives(read, [path], times * N_MUTANTS // 2)


@pytest.mark.parametrize("name", ["a.npy", "a.csv"])
def test_pipes(tmp_path, name, times):
    path = tmp_path / name
    MATRICES[name](path, np.random.default_rng(9).standard_normal((20, 3)))

    def read():
        list(read_table(io.BytesIO(path.read_bytes())).features().blocks(7))

    survives(read, [path], times * N_MUTANTS // 2)


LABELS = {
    "a.npy": lambda path: np.save(path, np.array(["sky", "sea", "sky"])),
    "i.npy": lambda path: np.save(path, np.eye(4, dtype=int)),
    "a.txt": lambda path: path.write_text("sky\nsea\n\nsky\n"),
    "a.csv": lambda path: path.write_text('1\n2\n"3"\n1\n'),
    "a.json": lambda path: path.write_text(json.dumps([["a", "b"], [], None, ["c"]])),
    "c.json": lambda path: path.write_text(json.dumps([1, 2, None, 1])),
    "a.svm": lambda path: path.write_text("1,2 1:3\n 1:2\n3 1:2\n"),
    "a.npz": lambda path: np.savez_compressed(path, X=np.eye(3), labels=np.array(["a", "b", "a"])),
    "s.npz": lambda path: sp.save_npz(path, sp.csr_array(np.eye(4, dtype=int))),
}


def read_either(path):
    """Labels, or tags where a file holds several per row."""
    spec = f"{path}:labels" if path.name == "a.npz" else path
    if path.name in ("i.npy", "a.json", "a.svm", "s.npz"):
        read_table(spec).tags()
    else:
        read_table(spec).labels()


@pytest.mark.parametrize("name", LABELS)
def test_open_labels(tmp_path, name, times):
    path = tmp_path / name
    LABELS[name](path)
    survives(lambda: read_either(path), [path], times * N_MUTANTS // 4)


IDS = {
    "a.npy": lambda path: np.save(path, np.array(["3", "1", "20"])),
    "i.npy": lambda path: np.save(path, np.arange(4)),
    "a.txt": lambda path: path.write_text("3\n1\n20\n"),
    "a.csv": lambda path: path.write_text('1\n2\n"3"\n10\n'),
    "a.json": lambda path: path.write_text(json.dumps(["3", "1", "20"])),
    "i.json": lambda path: path.write_text(json.dumps([1, 2, 3])),
    "a.npz": lambda path: np.savez_compressed(path, X=np.eye(3), ids=np.array(["3", "1", "20"])),
}


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("kind", [None, "number", "text"])
def test_open_ids(tmp_path, name, kind, times):
    path = tmp_path / name
    IDS[name](path)
    survives(
        lambda: read_table(f"{path}:ids" if name == "a.npz" else path).ids(kind),
        [path],
        times * N_MUTANTS // 8,
    )
