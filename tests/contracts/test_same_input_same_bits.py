"""Same input, same bits: containers, dtypes, threads, batches, processes, runs."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hasher_cases import ALL, OURS, TABLE, classes, make, tags
from threadpoolctl import threadpool_info, threadpool_limits

from kinhash import EMKSH
from kinhash.codes import pack_bits

pytestmark = [
    pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning"),
    pytest.mark.usefixtures("quick_fits"),
]

# Small integers are exact in every dtype, float16 and int8 included.
WHOLE = np.clip(np.round(classes()[0] * 4), -100, 100) + 0.0  # no negative zeros
Y = classes()[1]


def memmap(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def read_only(X, folder):
    X = X.copy()
    X.flags.writeable = False
    return X


STORES = {
    "float16": lambda X, _: X.astype(np.float16),
    "float32": lambda X, _: X.astype(np.float32),
    "int8": lambda X, _: X.astype(np.int8),
    "int64": lambda X, _: X.astype(np.int64),
    "csr_array": lambda X, _: sp.csr_array(X),
    "csr_matrix float32": lambda X, _: sp.csr_matrix(X.astype(np.float32)),
    "csc": lambda X, _: sp.csc_array(X),
    "coo": lambda X, _: sp.coo_array(X),
    "Fortran": lambda X, _: np.asfortranarray(X),
    "read-only": read_only,
    "strided": lambda X, _: np.repeat(X, 2, axis=0)[::2],
    "memmap": memmap,
    "memmap float32": lambda X, folder: memmap(X.astype(np.float32), folder),
    "masked": lambda X, _: np.ma.masked_array(X),
    "pandas": lambda X, _: pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]),
    "polars": lambda X, _: pl.DataFrame(X, schema=[f"c{i}" for i in range(X.shape[1])]),
    "lists": lambda X, _: X.tolist(),
    "big-endian": lambda X, _: X.astype(">f8"),
}


@pytest.mark.parametrize("name", ["EMKSH", "EnergyHasher"])
@pytest.mark.parametrize("store", list(STORES))
def test_codes_do_not_depend_on_how_the_features_are_stored(name, store, tmp_path):
    plain = make(name).fit(WHOLE, Y)
    stored = STORES[store](WHOLE, tmp_path)
    other = make(name).fit(stored, Y)
    assert np.array_equal(other.codes_, plain.codes_)
    assert np.array_equal(other.encode(stored), plain.encode(WHOLE))
    assert other.model_id_ == plain.model_id_


@pytest.mark.parametrize("name", OURS)
def test_booleans_are_numbers(name):
    bits = WHOLE > 0
    plain, other = make(name).fit(bits.astype(np.float64), Y), make(name).fit(bits, Y)
    assert np.array_equal(other.encode(bits), plain.encode(bits.astype(np.float64)))


@pytest.mark.parametrize("name", ALL)
def test_threads_and_runs_do_not_matter(name):
    X, y = classes(n=300)
    codes = []
    for n_jobs in (1, 2, 2):
        fitted = make(name).set_params(n_jobs=n_jobs).fit(X, y)
        codes.append((fitted.codes_.packed.tobytes(), fitted.encode(X).packed.tobytes(), fitted.model_id_))
    assert len(set(codes)) == 1


SCRIPT = """
import warnings; warnings.simplefilter("ignore")
import hashlib, sys
sys.path.insert(0, {folder!r})
from hasher_cases import classes, make, tags
from kinhash.learn.learner import Schedule
Schedule.of = classmethod(lambda cls, n_rows: cls(60, 128, 0.01))
digest = hashlib.sha256()
for name in ("EMKSH", "EMLFH", "EnergyHasher"):
    for X, y in (classes(n=300), tags(n=300)):
        fitted = make(name).fit(X, y)
        digest.update(fitted.codes_.packed.tobytes() + fitted.encode(X).packed.tobytes())
print(digest.hexdigest())
"""


def test_blas_threads_and_processes_do_not_matter():
    """One and two OpenMP and BLAS threads, in processes of their own."""
    found = []
    for threads in ("1", "2"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, threads), "PYTHONHASHSEED": threads}
        script = SCRIPT.format(folder=str(Path(__file__).parent))
        ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        found.append(ran.stdout)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ALL)
def test_a_row_is_encoded_alike_alone_and_in_any_batch(name):
    X, y = classes(n=300)
    fitted = make(name).fit(X, y)
    whole = fitted.encode(X)
    margins = fitted.decision_function(X)
    for rows in (slice(5, 6), slice(0, 256), slice(100, 300), np.array([299, 3, 3])):
        assert np.array_equal(fitted.encode(X[rows]), whole[rows])
        some = fitted.decision_function(X[rows])
        if name in OURS:
            assert np.array_equal(some, margins[rows])
        assert np.array_equal(some > 0, fitted.transform(X[rows]))
        assert np.array_equal(pack_bits(some > 0), whole[rows])
    assert np.array_equal(fitted.encode(sp.csr_array(X)), whole)


@pytest.mark.parametrize("name", ["EMKSH", "EnergyHasher"])
def test_a_random_state_that_is_a_generator_moves_on_and_a_number_does_not(name):
    X, y = tags()
    generator = np.random.default_rng(0)
    one, other = (make(name).set_params(random_state=generator).fit(X, y).codes_ for _ in range(2))
    assert not np.array_equal(one, other)
    legacy = [make(name).set_params(random_state=np.random.RandomState(3)).fit(X, y).codes_ for _ in range(2)]
    assert np.array_equal(*legacy)
    assert not np.array_equal(
        make(name).set_params(random_state=1).fit(X, y).codes_, make(name).fit(X, y).codes_
    )


@pytest.mark.parametrize("name", TABLE)
def test_a_fit_changes_neither_rows_nor_labels_nor_settings(name):
    X, y = classes()
    before, labels, hasher = X.copy(), y.copy(), make(name)
    settings = repr(hasher.get_params())
    hasher.fit(X, y).encode(X)
    assert np.array_equal(X, before)
    assert np.array_equal(y, labels)
    assert repr(hasher.get_params()) == settings


def test_fitting_and_encoding_hold_blas_to_one_thread():
    """Small products agree anyway; large ones differ in their last digits on more threads."""
    seen = []

    def note():
        blas = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
        # faiss, where another test has imported it, brings a BLAS of its own, which we never call.
        seen.extend(lib["num_threads"] for lib in blas if "faiss" not in lib["filepath"])

    class Watched(EMKSH):
        def _learn(self, training):
            note()
            return super()._learn(training)

    X, y = classes()
    with threadpool_limits(2, user_api="blas"):
        fitted = Watched(8, random_state=0).fit(X, y)
        real = fitted.model_.map
        watched = {
            "scores": lambda self, *given: note() or real.scores(*given),
            "__getattr__": lambda self, name: getattr(real, name),
        }
        fitted.model_ = replace(fitted.model_, map=type("Spy", (), watched)())
        fitted.encode(X)
    assert seen
    assert set(seen) == {1}
