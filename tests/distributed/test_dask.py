"""Dask collections on a real cluster: the model and the codes of one process, whatever happens to workers."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from block_data import Recorder, classes, hasher, indicator

from kinhash import HammingIndex
from kinhash.distributed import cut_rows, fit_blocks
from kinhash.errors import InvalidInput

pytest.importorskip("distributed", reason="the extra kinhash[dask] is not installed")
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster

from kinhash.distributed import dask as room

pytestmark = [
    pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning"),
    pytest.mark.filterwarnings("error:Sending large graph"),
]
ROWS = 100  # of a block


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def collections(kind):
    X, y = indicator() if kind == "indicator" else classes()
    dX, dy = da.from_array(X, chunks=(ROWS, 5)), da.from_array(y, chunks=(ROWS, *y.shape[1:]))
    if kind == "otherwise cut labels":
        dy = da.from_array(y, chunks=70)
    if kind == "frame":
        frame = dd.from_pandas(
            pd.DataFrame({**{f"c{i}": X[:, i] for i in range(8)}, "y": y}), chunksize=ROWS, sort=False
        )
        dX, dy = frame[[f"c{i}" for i in range(8)]], frame["y"]
    return X, y, dX, dy


@pytest.mark.parametrize("kind", ["array", "indicator", "frame", "otherwise cut labels"])
def test_collections_give_the_model_and_the_codes_of_one_process(client, kind):
    X, y, dX, dy = collections(kind)
    expected = fit_blocks(Recorder(), cut_rows(X, y, ROWS), n_rows=300)
    assert room.fit(Recorder(), dX, dy, n_rows=300).seen == expected.seen


def test_codes_are_those_of_the_hasher(client):
    X, y, dX, dy = collections("array")
    found = room.fit(hasher(), dX, dy, n_rows=300)
    lazy = room.encode(found, dX)
    assert (lazy.dtype, lazy.shape[1]) == (np.uint8, 2)
    np.testing.assert_array_equal(lazy.compute(), found.encode(X).packed)
    learned = room.learned_codes(found, dX, dy).compute()
    np.testing.assert_array_equal(learned, np.asarray(found.learned_codes(X=X, y=y)))
    assert room.encode(found, dX[dX[:, 0] > 0]).compute().shape == ((X[:, 0] > 0).sum(), 2)


def test_without_a_client_the_default_scheduler_works():
    X, y, dX, dy = collections("array")
    assert room.fit(Recorder(), dX, dy).seen == Recorder().fit(X, y).seen


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda dX, dy: (dX, dy[:-1]), "599 labels came with 600 rows"),
        (lambda dX, dy: (dX, np.zeros(600)), "in place of a dask collection"),
        (lambda dX, dy: (dX[dX[:, 0] > 9], dy[:100][dy[:100] > 9]), "blocks of rows"),
    ],
    ids=["lengths", "array", "blocks"],
)
def test_bad_collections_are_refused(make, says):
    _, _, dX, dy = collections("array")
    with pytest.raises(InvalidInput, match=says):
        room.fit(Recorder(), *make(dX, dy))


@pytest.mark.parametrize("named", [False, True])
def test_shards_on_workers_answer_like_one_index(client, named):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 8, (1000, 2), dtype=np.uint8)
    ids = rng.permutation(1000) + 5 if named else None
    whole = HammingIndex.from_codes(codes, ids=ids)
    names = None if ids is None else da.from_array(ids, chunks=300)
    index = room.ShardedIndex.from_codes(da.from_array(codes, chunks=(300, -1)), ids=names)
    assert (index.n_shards, len(index)) == (4, 1000)
    for found, expected in (
        (index.search(codes[:5], 20), whole.search(codes[:5], 20)),
        (index.search_radius(codes[:5], 1), whole.search_radius(codes[:5], 1)),
    ):
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.distances, expected.distances)


def test_shards_need_ids_cut_as_the_codes_are():
    with pytest.raises(InvalidInput, match="2 blocks of ids came with 1 blocks of codes"):
        room.ShardedIndex.from_codes(da.zeros((4, 1), np.uint8), ids=da.arange(4, chunks=2))


def test_importing_kinhash_does_not_import_dask():
    code = "import sys, kinhash.distributed; sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
