"""Each kernel gives what its twin in NumPy gives, on the processor's own instructions and on plain ones."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from kinhash._internal.compile import Kernel
from kinhash.codes import N_PLANES, planes_of, weights_of
from kinhash.index import HammingIndex, kernels, reference, segments
from kinhash.index.segments import read_only

CASES = [("random", 1), ("few", 1), ("clustered", 2), pytest.param("random", 20, marks=pytest.mark.slow)]


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setenv("KINHASH_COMPILE", "first")


def some_words(rng, kind, n, n_words):
    words = rng.integers(0, 2**64, (n, n_words), dtype=np.uint64)
    if kind != "random":
        words = words[rng.integers(0, min(n, 5), n)]
    if kind == "clustered":
        words[:, 0] ^= np.uint64(1) << rng.integers(0, 64, n).astype(np.uint64)
    return words


def laid_out(words, module):
    """Blocks, lists of rows and the number of codes, by one of the two modules."""
    n, n_words = words.shape
    blocks, code_of_row = kernels.aligned_blocks(n, n_words), np.empty(n, np.uint32)
    n_codes = module.group_codes(read_only(words), blocks, code_of_row)
    kernels.clear_tail(blocks, n_codes)
    blocks = blocks[: -(-n_codes // 64)]
    starts, rows = np.empty(n_codes + 1, np.uint32), np.empty(n, np.uint32)
    module.list_rows(code_of_row, n_codes, starts, rows)
    if n_codes == n:
        starts = rows = np.empty(0, np.uint32)
    return read_only(blocks), int(n_codes), read_only(starts), read_only(rows)


@pytest.mark.parametrize(("kind", "n_words"), CASES)
def test_kernels_equal_their_twins(kind, n_words):
    rng = np.random.default_rng(n_words)
    for n in (1, 64, 65, 700):
        words = some_words(rng, kind, n, n_words)
        theirs, ours = laid_out(words, reference), laid_out(words, kernels)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)
        blocks, n_codes, starts, rows = ours
        queries = read_only(np.concatenate([words[:3], some_words(rng, kind, 6, n_words)]))
        tag = kernels.tag_of(n_words)
        planes = read_only(planes_of(weights_of(rng.normal(size=(len(queries), 64 * n_words)))[0]))
        mask = rng.random(n) < 0.4 if n > 1 else np.ones(n, bool)
        bits = np.packbits(np.pad(mask, (0, -n % 64)), bitorder="little").view(np.uint64)
        for only in (None, read_only(bits)):
            for k in (1, 7, int(mask.sum()) if only is not None else n):
                k = min(k, int(mask.sum()) if only is not None else n)
                for weighing in (None, planes):
                    found = []
                    for module in (kernels, reference):
                        distances = np.empty((len(queries), k), np.int32)
                        ranks = np.empty((len(queries), k), np.int64)
                        module.top_k(
                            blocks, n_codes, starts, rows, queries, distances, ranks, weighing, only, tag,
                        )  # fmt: skip
                        found.append((distances, ranks))
                    np.testing.assert_array_equal(found[0][0], found[1][0])
                    np.testing.assert_array_equal(found[0][1], found[1][1])
        for radius in (0, 5, 26 * n_words):
            ours = kernels.scan_within(blocks, n_codes, queries, radius, tag)
            np.testing.assert_array_equal(
                np.sort(ours), reference.scan_within(blocks, n_codes, queries, radius, tag)
            )


@pytest.mark.parametrize(("kind", "n_words"), CASES[:3])
def test_buckets_find_what_a_scan_finds(kind, n_words, monkeypatch):
    """Tables are for many codes and many queries; here few are enough."""
    monkeypatch.setattr(segments, "FEW_CODES", 0)
    monkeypatch.setattr(segments, "PROBING", 0)
    monkeypatch.setattr(segments, "BUILDING", 0)
    words = np.unique(some_words(np.random.default_rng(0), kind, 600, n_words), axis=0)
    index = HammingIndex.from_codes(words.view(np.uint8))
    for radius in (0, 1, 4 * n_words - 1, 4 * n_words, 8 * n_words + 1, 20):
        found = index.search_radius(words[:5].view(np.uint8), radius)
        far = np.bitwise_count(words[:5, None] ^ words).sum(axis=2, dtype=int)
        for one, row in zip(found, far, strict=True):
            near = np.flatnonzero(row <= radius)
            assert one.ids.tolist() == near[np.argsort(row[near], kind="stable")].tolist()
    assert index.stats().table_bytes > 0


def test_groups_are_united_alike():
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 60, (2, 40))
    ours, theirs = np.arange(60), np.arange(60)
    kernels.unite(ours, left, right)
    while (above := ours[ours] != ours).any():
        ours[above] = ours[ours[above]]
    reference.unite(theirs, left, right)
    np.testing.assert_array_equal(ours, theirs)


def test_weights_are_whole_and_their_planes_add_up():
    margins = np.random.default_rng(0).normal(size=(5, 70)) * 10.0 ** np.arange(-200, 300, 100)[:, None]
    margins[4] = 0
    weights, unit = weights_of(margins)
    assert weights.max(axis=1).tolist() == [15, 15, 15, 15, 0]
    np.testing.assert_allclose(weights[:4] * unit[:4, None], np.abs(margins[:4]), atol=unit[:4].max() / 2)
    bits = np.unpackbits(planes_of(weights).view(np.uint8), axis=2)[:, :, :70]
    np.testing.assert_array_equal((bits << np.arange(N_PLANES)[:, None]).sum(axis=1), weights)


def test_every_kernel_that_python_calls_has_a_twin():
    called = [one for one in vars(kernels).values() if isinstance(one, Kernel) and one.twin is not None]
    assert {one.__name__ for one in called} <= set(dir(reference))
    assert len(called) == 6


@pytest.mark.slow
@pytest.mark.parametrize("cpu", ["nehalem", "haswell"])
def test_other_processors_give_the_same_answers(cpu, tmp_path):
    """Before AVX2 one code is taken at a time."""
    extra = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        __file__,
        "-k",
        "equal or find",
    ]
    subprocess.run(command, env=os.environ | extra, check=True)
