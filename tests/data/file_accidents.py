"""Accidents that happen to files, and the check that a reader survives them."""

from __future__ import annotations

import numpy as np

from kinhash.errors import FileProblem

N_MUTANTS = 500


def mutated(good: bytes, rng: np.random.Generator) -> bytes:
    """One to four small accidents."""
    data = bytearray(good)
    for _ in range(rng.integers(1, 5)):
        if not data:
            return b""
        kind = rng.integers(7)
        # Half of the accidents hit the first bytes, where headers are.
        limit = len(data) if rng.random() < 0.5 else min(len(data), 128)
        at = int(rng.integers(limit))
        size = int(rng.integers(1, 9))
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data[at : at + size] = rng.bytes(size)
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            del data[at : at + size]
        elif kind == 4:
            data[at:at] = rng.bytes(size)
        elif kind == 5:
            data[at:at] = data[at : at + 50]
        else:
            data[at : at + size] = rng.choice([b"\0", b"\xff", b"9", b"-", b"{", b",", b"\n", b'"']) * size
    return bytes(data)


def survives(read, files, n_mutants: int) -> None:
    """Mutate the files in turn; most mutants must be refused, the rest must be readable."""
    rng = np.random.default_rng(n_mutants)
    good = [path.read_bytes() for path in files]
    read()
    refused = 0
    for k in range(n_mutants):
        path, data = files[k % len(files)], good[k % len(files)]
        path.write_bytes(mutated(data, rng))
        try:
            read()
        except FileProblem:
            refused += 1
        path.write_bytes(data)
    read()
    assert refused > n_mutants // 10
