"""Dask collections on a real cluster: the model and the codes of one process, whatever happens to workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from block_data import classes, default, indicator, linear

from kinhash import BitLayout, Codes, HammingIndex, load
from kinhash.distributed import cut_rows, fit_blocks
from kinhash.distributed.encode import for_workers
from kinhash.errors import InvalidInput

pytest.importorskip("distributed", reason="the extra kinhash[dask] is not installed")
import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster

from kinhash.dask import EnergyHasher, ShardedIndex

pytestmark = [
    pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning"),
    pytest.mark.filterwarnings("error:Sending large graph"),
]
ROWS = 100  # of a block


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as c,
    ):
        yield c


def on_dask(hasher):
    return EnergyHasher(**hasher.get_params(deep=False))


def arrays(X, y):
    return da.from_array(X, chunks=(ROWS, -1)), da.from_array(y, chunks=(ROWS, -1)[: y.ndim])


def frames(X, y):
    """A dataframe of features and labels whose partitions have lengths nobody knows."""
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    target = pd.DataFrame(y).add_prefix("y")
    whole = pd.concat([frame, target], axis=1)
    parts = dd.from_map(
        lambda part: whole.iloc[part], [slice(i, i + ROWS) for i in range(0, len(whole), ROWS)], meta=whole
    )
    labels = parts["y0"] if y.ndim == 1 else parts[list(target.columns)]
    return parts[list(frame.columns)], labels


def unknown(X, y):
    """Arrays made of dataframes: lengths unknown."""
    return tuple(part.to_dask_array() for part in frames(X, y))


@pytest.mark.parametrize(
    ("make", "data", "container"),
    [
        (default, classes, arrays),
        (linear, indicator, arrays),
        (default, indicator, frames),
        (linear, classes, frames),
        (linear, indicator, unknown),
    ],
)
def test_every_container_gives_the_model_of_one_process(client, make, data, container):
    X, y = data()
    expected = fit_blocks(make(), cut_rows(X, y, ROWS))
    dX, dy = container(X, y)
    hasher = on_dask(make()).fit(dX, dy)
    assert hasher.model_id_ == expected.model_id_
    codes, bits = hasher.encode(dX), hasher.transform(dX)
    assert isinstance(codes, da.Array)
    assert codes.dtype == bits.dtype == np.uint8
    assert (codes.shape[1], bits.shape[1]) == (2, 16)
    assert codes.numblocks == (6, 1)
    np.testing.assert_array_equal(codes.compute(), expected.encode(X))
    np.testing.assert_array_equal(bits.compute(), expected.transform(X))
    if container is frames:
        assert hasher.feature_names_in_.tolist() == [f"x{i}" for i in range(X.shape[1])]


def test_four_workers_give_the_model_of_two_and_of_one_process(client):
    X, y = classes(n=1000)
    expected = {make: fit_blocks(make(), cut_rows(X, y, ROWS)).model_id_ for make in (default, linear)}
    two = {make: on_dask(make()).fit(*arrays(X, y)).model_id_ for make in expected}
    client.cluster.scale(4)
    client.wait_for_workers(4, timeout=120)
    four = {make: on_dask(make()).fit(*arrays(X, y)).model_id_ for make in expected}
    assert len(client.scheduler_info()["workers"]) == 4
    assert expected == two == four


def slow_rows(block, folder, rows, block_info=None):
    """Rows of a block, late, leaving a trace of who read it when."""
    number = block_info[None]["chunk-location"][0]
    Path(folder, f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(0.15)
    return rows[number * ROWS : (number + 1) * ROWS]


def test_a_worker_killed_in_mid_fit_changes_nothing(client, tmp_path):
    X, y = classes(n=2000)
    expected = fit_blocks(linear(), cut_rows(X, y, ROWS))
    empty = da.zeros(X.shape, chunks=(ROWS, -1), dtype=np.float32)
    dX = empty.map_blocks(partial(slow_rows, folder=str(tmp_path), rows=X), dtype=np.float32)
    assert not list(tmp_path.iterdir())
    killed = []

    def kill():
        while len(list(tmp_path.iterdir())) < 24:  # past the gathered rows, amid the sums
            time.sleep(0.01)
        pid = min(client.run(os.getpid).values())
        os.kill(pid, signal.SIGKILL)
        killed.append((pid, len(list(tmp_path.iterdir()))))

    killer = threading.Thread(target=kill)
    killer.start()
    hasher = on_dask(linear()).fit(dX, da.from_array(y, chunks=ROWS))
    killer.join()
    (pid, reads_then), reads_now = killed[0], len(list(tmp_path.iterdir()))
    assert reads_then < reads_now, "the worker died after the fit"
    assert any(f"-{pid}-" in path.name for path in tmp_path.iterdir()), "the worker had done nothing"
    assert hasher.model_id_ == expected.model_id_


def test_no_row_is_in_the_graph(client, monkeypatch):
    """Rows are generated on the workers; what is sent there is a few kilobytes a block."""
    sizes = []
    send = Client._graph_to_futures

    def watched(self, *args, **kwargs):
        sizes.append(len(cloudpickle.dumps((args, kwargs))))
        return send(self, *args, **kwargs)

    monkeypatch.setattr(Client, "_graph_to_futures", watched)
    X, y = lazy(n=20_000, rows=2000)
    for make in (default, linear):
        sizes.clear()
        hasher = on_dask(make()).fit(X, y)
        hasher.encode(X)[:10].compute()
        assert sizes
        assert max(sizes) < 400_000 < X.nbytes / 10  # 20,000 row numbers of the draw are 160,000 bytes


def lazy(n, rows, p=64):
    def block(block_info=None):
        return np.random.default_rng(block_info[None]["chunk-location"][0])

    def features(block_info=None):
        rng = block(block_info)
        y = rng.integers(0, 5, rows)
        return rng.standard_normal((rows, p), dtype=np.float32) + y[:, None].astype(np.float32)

    def labels(block_info=None):
        return block(block_info).integers(0, 5, rows)

    chunks = ((rows,) * (n // rows),)
    X = da.map_blocks(features, chunks=(*chunks, (p,)), dtype=np.float32, meta=np.empty((0, 0), np.float32))
    return X, da.map_blocks(labels, chunks=chunks, dtype=np.int64, meta=np.empty(0, np.int64))


def test_without_a_client_the_default_scheduler_works():
    X, y = classes()
    expected = fit_blocks(linear(), cut_rows(X, y, ROWS)).model_id_
    for scheduler in ("threads", "synchronous"):
        with dask.config.set(scheduler=scheduler):
            assert on_dask(linear()).fit(*arrays(X, y)).model_id_ == expected


def test_blocks_cut_otherwise_are_cut_as_x_is():
    X, y = classes()
    with dask.config.set(scheduler="synchronous"):
        dX = da.from_array(X, chunks=(ROWS, 3))  # columns in blocks, too
        found = on_dask(linear()).fit(dX, da.from_array(y, chunks=70))
        assert found.model_id_ == fit_blocks(linear(), cut_rows(X, y, ROWS)).model_id_
        np.testing.assert_array_equal(found.encode(dX).compute(), found.encode(X))


def test_an_empty_partition_is_encoded_as_nothing():
    X, y = classes()
    with dask.config.set(scheduler="synchronous"):
        dX, dy = frames(X, y)
        hasher = on_dask(linear()).fit(dX, dy)
        some = dX[dX["x0"] >= X[:, 0].max()]
        assert hasher.encode(some).compute().shape == (1, 2)


def test_what_is_no_dask_collection_is_as_ever(tmp_path):
    X, y = classes()
    hasher = on_dask(default()).fit(X, y)
    assert hasher.model_id_ == default().fit(X, y).model_id_
    hasher.save(tmp_path / "model.kin")
    assert np.array_equal(load(tmp_path / "model.kin").encode(X), hasher.encode(X))


def bad_cases():
    X, y = classes()
    dX, dy = arrays(X, y)
    fX, _ = frames(X, y)
    return {
        "labels in memory": (dX, y, "dask collections"),
        "too few labels": (dX, dy[:-1], "600 rows and y has 599"),
        "other blocks of unknown length": (fX, da.from_array(y, chunks=300), "6 blocks of rows and y has 2"),
    }


@pytest.mark.parametrize("what", ["labels in memory", "too few labels", "other blocks of unknown length"])
def test_bad_collections_are_refused_before_any_work(what):
    X, y, message = bad_cases()[what]
    with pytest.raises(InvalidInput, match=message):
        on_dask(linear()).fit(X, y)


def test_errors_on_workers_arrive_as_they_were_raised(client):
    X, y = classes()
    X[250, 3] = np.nan
    with pytest.raises(InvalidInput, match=r"In block 2: .*NaN: the first in row 50, column 3"):
        on_dask(linear()).fit(*arrays(X, y))
    with pytest.raises(InvalidInput, match="sample_weight"):
        on_dask(linear()).fit(*arrays(X, y), sample_weight=np.ones(600))


@pytest.mark.parametrize("named", [False, True])
def test_shards_on_workers_answer_like_one_index(client, named):
    rng = np.random.default_rng(0)
    packed = rng.integers(0, 4, (1000, 2), dtype=np.uint8) * 17  # ties everywhere
    ids = rng.permutation(1000) + 10**12 if named else None
    whole = HammingIndex.from_codes(packed, ids=ids)
    codes = da.from_array(packed, chunks=(130, -1))
    index = ShardedIndex.from_codes(codes, ids=None if ids is None else da.from_array(ids, chunks=130))
    assert (len(index), index.n_shards) == (1000, 8)
    for found, expected in (
        (index.search(packed[:7], 40), whole.search(packed[:7], 40)),
        (index.search_radius(packed[:7], 2), whole.search_radius(packed[:7], 2)),
    ):
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.distances, expected.distances)
    assert index.search(packed[:1], 5000).ids.shape == (1, 1000)


def test_shards_weigh_bits_as_one_index_does(client):
    rng = np.random.default_rng(3)
    codes = Codes.from_bits(rng.integers(0, 2, (300, 16)), fields=BitLayout(10, 4))
    whole = HammingIndex.from_codes(codes)
    index = ShardedIndex.from_codes(da.from_array(codes.packed, chunks=(70, -1)), fields=codes.fields)
    found, expected = index.search(codes[:5], 40), whole.search(codes[:5], 40)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert found.full == expected.full == 34


def test_lazy_codes_are_searched_with_the_fields_of_the_model():
    X, y = classes()
    with dask.config.set(scheduler="synchronous"):
        dX, dy = arrays(X, y)
        hasher = on_dask(default()).fit(dX, dy)
        fields = hasher.fitted_.fields
        assert fields.alike
        assert fields.kin_weight > 1
        assert cloudpickle.loads(cloudpickle.dumps(for_workers(hasher))).encode(X).fields == fields
        index = ShardedIndex.from_codes(hasher.encode(dX), fields=fields)
        found = index.search(hasher.encode(X[:20]), 30)
    expected = HammingIndex.from_codes(hasher.encode(X)).search(hasher.encode(X[:20]), 30)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.distances, expected.distances)


def test_shards_need_ids_cut_as_the_codes_are():
    codes = da.zeros((100, 2), chunks=(50, 2), dtype=np.uint8)
    with pytest.raises(InvalidInput, match="2 blocks of codes and 4 of ids"):
        ShardedIndex.from_codes(codes, ids=da.arange(100, chunks=25))


def test_importing_kinhash_does_not_import_dask():
    code = "import sys, kinhash; from kinhash import EnergyHasher; import kinhash.distributed; "
    ran = subprocess.run([sys.executable, "-c", code + "print('dask' in sys.modules)"], capture_output=True)
    assert ran.stdout.split() == [b"False"], ran.stderr.decode()


def test_a_missing_extra_is_named():
    code = "import sys; sys.modules['dask'] = None; import kinhash.dask"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'kinhash[dask]'" in ran.stderr
