"""A model file gives a row the same bits on every machine, alone and in any batch.

Other machines are other kernels: OpenBLAS takes those of `OPENBLAS_CORETYPE`, NumPy and Numba can be told to
do without newer instructions. Each kind of processor is a process of its own that reads the same model files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from kinhash import EMKSH, EnergyHasher, load
from kinhash.files import HASHERS

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("quick_fits")]

CORES = ("Haswell", "Zen", "SkylakeX", "Sandybridge", "Nehalem", "Prescott")
HOLDS = 40  # rows beside the boundary, for every model

CHILD = """
import hashlib, json, sys, warnings
warnings.simplefilter("ignore")
from pathlib import Path
import numpy as np
from threadpoolctl import threadpool_info
from kinhash import load
folder, found = Path(sys.argv[1]), {}
for path in sorted(folder.glob("*.kin")):
    hasher, X = load(path), np.load(path.with_suffix(".npy"))
    order = np.random.default_rng(0).permutation(len(X))
    alone = np.concatenate([hasher.encode(X[i : i + 1]).packed for i in range(25)])
    digests = {alone.tobytes().hex() == hasher.encode(X[:25]).packed.tobytes().hex()}
    for size in (7, 256, len(X)):
        codes = np.empty_like(hasher.encode(X).packed)
        for start in range(0, len(X), size):
            codes[order[start : start + size]] = hasher.encode(X[order[start : start + size]]).packed
        digests.add(hashlib.sha256(codes.tobytes()).hexdigest())
    found[path.stem] = sorted(map(str, digests))
core = {lib["architecture"] for lib in threadpool_info() if lib.get("internal_api") == "openblas"}
print(json.dumps({"core": sorted(core), "found": found}))
"""


def data(n=300, p=256, k=5):
    """Rows of which no column is small, so that sums are long, and tag sets."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    X = rng.normal(size=(n, p)) + 0.3 * rng.normal(size=(k, p))[y] + 1
    return X, y, [{int(c), int(c + i) % k} for i, c in enumerate(y)]


MODELS = {
    "linear": lambda X, y, tags: EMKSH(16, random_state=0).fit(X, y),
    "learned": lambda X, y, tags: EnergyHasher(16, random_state=0).fit(X, y),
    "learned, tags": lambda X, y, tags: EnergyHasher(16, random_state=0).fit(X, tags),
    "learned, looks": lambda X, y, tags: EnergyHasher(16, random_state=0).fit(X),
    "learned, scales": lambda X, y, tags: EnergyHasher(16, random_state=0).fit(X * SCALES + 700, y),
}
SCALES = 10.0 ** (np.arange(256) % 5 - 2)
if "KSH" in HASHERS:  # where kinhash-bench is installed: maps that only rivals have
    MODELS |= {
        "gaussian": lambda X, y, tags: HASHERS["KSH"](8, random_state=0, n_anchors=50).fit(X, y),
        "root rbf": lambda X, y, tags: HASHERS["SCDH"](8, random_state=0, n_centers=50).fit(X, y),
        "periodic": lambda X, y, tags: HASHERS["SpectralHashing"](16, random_state=0).fit(X, y),
        "trees": lambda X, y, tags: HASHERS["FastHash"](4, random_state=0, n_rounds=4, n_partners=20).fit(
            X, y
        ),
    }


def on_the_boundary(hasher, X):
    """Between two rows whose bits differ lies a boundary: bisect until float64 has no row in between."""
    low, high = X[:HOLDS].copy(), X[HOLDS + 1 : 2 * HOLDS + 1].copy()  # of different classes
    first, second = hasher.transform(low), hasher.transform(high)
    apart = np.flatnonzero((first != second).any(axis=1))
    low, high, bits = low[apart], high[apart], (first != second)[apart].argmax(axis=1)
    rows = np.arange(len(apart))
    zero = first[apart][rows, bits]
    for _ in range(60):
        middle = low + 0.5 * (high - low)
        like_low = (hasher.transform(middle)[rows, bits] == zero)[:, None]
        low, high = np.where(like_low, middle, low), np.where(like_low, high, middle)
    return np.concatenate([low, high])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder of model files, each with its rows: beside the boundary, and some as they come."""
    folder = tmp_path_factory.mktemp("models")
    X, y, tags = data()
    for name, make in MODELS.items():
        make(X, y, tags).save(folder / f"{name}.kin")
        asked = X * SCALES + 700 if name == "learned, scales" else X
        rows = on_the_boundary(load(folder / f"{name}.kin"), asked)
        assert len(rows) >= 10, name
        np.save(folder / f"{name}.npy", np.concatenate([rows, asked]))
    return folder


def ask(folder, **variables):
    """What a process with these environment variables encodes, and the kernels it found."""
    ran = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder)],
        env=os.environ | {"OMP_NUM_THREADS": "1"} | variables,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    return answer["core"], answer["found"]


@pytest.fixture(scope="module")
def here(models):
    """What this machine says."""
    return ask(models)[1]


def test_a_row_gets_the_same_bits_alone_and_in_any_batch(here):
    """One digest for all batch sizes, and True for rows alone."""
    assert {name: len(answers) for name, answers in here.items()} == dict.fromkeys(MODELS, 2)
    assert all("True" in answers for answers in here.values())


@pytest.mark.parametrize("core", CORES)
def test_other_kernels_of_openblas_give_the_same_bits(models, here, core):
    if not any(lib.get("internal_api") == "openblas" for lib in threadpool_info()):
        pytest.skip("NumPy multiplies by another library than OpenBLAS here")
    asked, found = ask(models, OPENBLAS_CORETYPE=core)
    names = {"Zen": "Haswell", "Prescott": "Katmai"}  # what OpenBLAS calls the kernels these share
    if not {core, names.get(core)} & set(asked):
        pytest.skip(f"{core} does not run here: OpenBLAS took {', '.join(asked)}")
    assert found == here


def test_a_processor_without_newer_instructions_gives_the_same_bits(models, here):
    """NumPy and Numba without AVX: other exp, other sums, no fused operations to choose from."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    newer = " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))
    old = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert ask(models, NPY_DISABLE_CPU_FEATURES=newer, **old)[1] == here
