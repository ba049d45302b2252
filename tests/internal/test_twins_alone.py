"""Fits, codes and answers without one compiled kernel: the same bits as with them."""

from __future__ import annotations

import os
import subprocess
import sys

WORK = """
import hashlib
import numpy as np
from sklearn.datasets import load_digits
from kinhash import EnergyHasher, HammingIndex

X, y = load_digits(return_X_y=True)
X, y, queries = X[:300], y[:300], X[300:340]
digest = hashlib.sha256()

def search(index, codes):
    for k in (1, 10, 300):
        found = index.search(codes, k=k)
        digest.update(found.ids.tobytes() + found.distances.tobytes())
    found = index.search_radius(codes, 12)
    digest.update(found.ids.tobytes() + found.distances.tobytes())

for labels in (y, np.array([y == y[0], y % 2 == 0, y > 6]).T.astype(int)):
    hasher = EnergyHasher(n_bits=32, random_state=0).fit(X, labels)
    for rows in (X, X.astype(np.float32)):
        digest.update(hasher.encode(rows).packed.tobytes() + hasher.decision_function(rows).tobytes())
    search(HammingIndex.from_codes(hasher.codes_), hasher.encode(queries))
    index = HammingIndex.from_codes(hasher.encode(X[:200]))
    search(index, hasher.encode(queries))
rng = np.random.default_rng(0)
for n_bytes in (8, 24):
    codes = rng.integers(0, 4, (500, n_bytes), dtype=np.uint8)
    search(HammingIndex.from_codes(codes), codes[:30])
    codes[:, : n_bytes // 2] = codes[rng.integers(0, 2, 500), : n_bytes // 2]
    index = HammingIndex.from_codes(codes)
    search(index, codes[:30])
    found = index.search(None, 10, margins=rng.normal(size=(30, 8 * n_bytes)), where=np.arange(500) % 3 > 0)
    digest.update(found.ids.tobytes() + found.distances.tobytes())
answer = digest.hexdigest()
"""

ALONE = """
print(answer)
from kinhash.index import kernels as index_kernels
from kinhash.models import kernels
for module in (index_kernels, kernels):
    for name in module.__all__:
        assert not getattr(getattr(module, name), "signatures", None), name
"""


def test_twins_alone_give_the_same_answers():
    names: dict[str, str] = {}
    exec(WORK, names)
    ran = subprocess.run(
        [sys.executable, "-c", WORK + ALONE],
        env={**os.environ, "KINHASH_COMPILE": "never"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == names["answer"]
