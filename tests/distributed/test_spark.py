"""Spark dataframes: the model and the codes of one process, however Spark partitions the rows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from block_data import classes, default, indicator, linear

from kinhash.distributed import cut_rows, fit_blocks
from kinhash.errors import InvalidInput

pytest.importorskip("pyspark", reason="the extra kinhash[spark] is not installed")
pytest.importorskip("pyarrow", reason="the extra kinhash[spark] is not installed")
import pyarrow as pa
from pyspark.ml.functions import array_to_vector
from pyspark.sql import SparkSession

from kinhash.spark import EnergyHasher, EnergyHasherModel
from kinhash.spark.arrow import binary_column, features_of, labels_of
from kinhash.spark.blocks import _runs

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
FIXED = {"encoder": "ridge", "solver": "spectral", "solver__rotation": "codes", "alike": 0}


def java_version():
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not java or not os.path.exists(java):
        return 0
    told = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    found = re.search(r'version "(\d+)', told)
    return int(found.group(1)) if found else 0


needs_java = pytest.mark.skipif(java_version() < 17, reason="Spark 4 needs Java 17 or later")


def session(master, **config):
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the executors' Python must have kinhash, too
    builder = SparkSession.builder.master(master).appName("kinhash tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        **config,
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@pytest.fixture(scope="module")
def spark():
    opened = session("local[2]")
    yield opened
    opened.stop()


def frame(spark, X, y, kind="long"):
    rows = [(i, x.tolist(), t.tolist()) for i, (x, t) in enumerate(zip(X, y, strict=True))]
    return spark.createDataFrame(rows, f"id long, features array<float>, label {kind}")


def packed(rows):
    return np.array([list(row.code) for row in rows], np.uint8)


@needs_java
def test_with_row_numbers_the_model_is_that_of_one_process(spark):
    """Shuffled rows, other partitions, and more blocks than one task merges."""
    X, y = classes()
    df = frame(spark, X, y)
    for block, partitions in ((100, 3), (11, 5)):
        expected = fit_blocks(linear(), cut_rows(X, y, block))
        estimator = EnergyHasher(nBits=16, idCol="id", blockRows=block, options=FIXED)
        model = estimator.fit(df.orderBy("label").repartition(partitions))
        assert model.hasher.model_id_ == expected.model_id_
    codes = packed(model.transform(df.repartition(4)).orderBy("id").collect())
    np.testing.assert_array_equal(codes, expected.encode(X))


@needs_java
def test_the_default_recipe_is_that_of_one_fit(spark):
    X, y = classes()
    names = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])[y]
    plain = {"encoder": "expected", "encoder__features": "plain"}
    estimator = EnergyHasher(nBits=16, idCol="id", blockRows=150, options=plain)
    model = estimator.fit(frame(spark, X, names, "string"))
    assert model.hasher.model_id_ == default().fit(X, names).model_id_


@needs_java
def test_files_without_row_numbers_are_cut_as_they_lie(spark, tmp_path):
    X, y = classes()
    frame(spark, X, y).coalesce(1).sortWithinPartitions("id").write.parquet(str(tmp_path / "rows"))
    df = spark.read.parquet(str(tmp_path / "rows"))
    model = EnergyHasher(nBits=16, blockRows=100, options=FIXED).fit(df)
    assert model.hasher.model_id_ == fit_blocks(linear(), cut_rows(X, y, 100)).model_id_


@needs_java
def test_vectors_tags_and_files(spark, tmp_path):
    """Vector columns, an indicator as vectors, the model saved by pyspark.ml and loaded again."""
    X, Y = indicator()
    df = frame(spark, X, Y.astype(float), "array<double>")
    df = df.withColumn("features", array_to_vector("features")).withColumn("label", array_to_vector("label"))
    estimator = EnergyHasher(nBits=16, idCol="id", blockRows=100, outputCol="bits", options=FIXED)
    estimator.write().overwrite().save(str(tmp_path / "estimator"))
    model = EnergyHasher.load(str(tmp_path / "estimator")).fit(df)
    expected = fit_blocks(linear(), cut_rows(X.astype(float), Y, 100))
    assert model.hasher.model_id_ == expected.model_id_
    model.write().overwrite().save(str(tmp_path / "model"))
    again = EnergyHasherModel.load(str(tmp_path / "model"))
    assert (again.hasher.model_id_, again.getOutputCol(), again.uid) == (
        expected.model_id_,
        "bits",
        model.uid,
    )
    assert again.hasher.fitted_.fields == expected.fitted_.fields
    rows = again.transform(df.select("features", "id")).orderBy("id").collect()
    np.testing.assert_array_equal([list(row.bits) for row in rows], expected.encode(X))
    assert rows[0].features.toArray().tolist() == X[0].astype(float).tolist()


@needs_java
def test_errors_on_executors_are_ours(spark):
    X, y = classes(n=60)
    X[25, 3] = np.nan
    df = frame(spark, X, y)
    with pytest.raises(InvalidInput, match=r"In block 2: .*NaN: the first in row 5, column 3"):
        EnergyHasher(nBits=8, idCol="id", blockRows=10, options=FIXED).fit(df)
    with pytest.raises(InvalidInput, match="no rows"):
        EnergyHasher(nBits=8).fit(df.limit(0))
    model = EnergyHasherModel(linear().partial_fit(*classes()))
    with pytest.raises(InvalidInput, match="column 'id' already"):
        model._set(outputCol="id").transform(df)


@needs_java
@pytest.mark.slow
def test_executors_in_processes_of_their_own():
    """local-cluster: two executors with one core each, as on a real cluster."""
    if os.environ.get("SPARK_CONNECT_MODE_ENABLED"):
        pytest.skip("a Spark Connect session is open")
    stopped = SparkSession.getActiveSession()
    if stopped is not None:
        stopped.stop()
    spark = session("local-cluster[2,1,1024]", **{"spark.executor.memory": "1g"})
    try:
        X, y = classes()
        expected = fit_blocks(linear(), cut_rows(X, y, 50))
        model = EnergyHasher(nBits=16, idCol="id", blockRows=50, options=FIXED).fit(
            frame(spark, X, y).repartition(4)
        )
        assert model.hasher.model_id_ == expected.model_id_
        codes = packed(model.transform(frame(spark, X, y)).orderBy("id").collect())
        np.testing.assert_array_equal(codes, expected.encode(X))
    finally:
        spark.stop()


CONNECT = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
sys.path.insert(0, sys.argv[1])
from block_data import classes, linear
from kinhash.distributed import cut_rows, fit_blocks
from kinhash.spark import EnergyHasher, EnergyHasherModel
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
X, y = classes()
rows = [(i, x.tolist(), int(t)) for i, (x, t) in enumerate(zip(X, y))]
df = spark.createDataFrame(rows, "id long, features array<float>, label long")
options = {"encoder": "ridge", "solver": "spectral", "solver__rotation": "codes"}
model = EnergyHasher(nBits=16, idCol="id", blockRows=100, options=options).fit(df)
expected = fit_blocks(linear(), cut_rows(X, y, 100))
assert model.hasher.model_id_ == expected.model_id_
model.save(sys.argv[2])
again = EnergyHasherModel.load(sys.argv[2])
codes = [list(row.code) for row in again.transform(df).orderBy("id").collect()]
assert codes == expected.encode(X).packed.tolist()
spark.stop()
"""


@needs_java
@pytest.mark.slow
def test_spark_connect(tmp_path):
    pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    here = os.path.dirname(__file__)
    ran = subprocess.run(
        [sys.executable, "-c", CONNECT, here, str(tmp_path / "model")], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-3000:]


# -- without Java ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 4, 10, 11, 50])
def test_runs_do_not_depend_on_batches(size):
    values = np.arange(23)
    for edges in ([], [1, 2], [4, 8, 12], [11], [0, 0, 22]):
        batches = [pa.record_batch({"v": part}) for part in np.split(values, edges)]
        found = [table["v"].to_pylist() for table in _runs(iter(batches), size)]
        assert found == [values[i : i + size].tolist() for i in range(0, 23, size)]


def test_columns_become_arrays_and_back():
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    column = pa.array(X.tolist(), pa.list_(pa.float32()))
    found = features_of(pa.chunked_array([column[:1], column[1:]]))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(features_of(column[1:]), X[1:])  # slices have offsets of their own
    assert labels_of(pa.array(["a", None])).tolist() == ["a", None]
    assert labels_of(pa.array([["a", "b"], [], None])) == [{"a", "b"}, set(), None]
    np.testing.assert_array_equal(labels_of(pa.array([[1.0, 0.0]])), [[1.0, 0.0]])
    codes = np.array([[1, 2], [3, 255]], np.uint8)
    assert binary_column(codes).to_pylist() == [b"\x01\x02", b"\x03\xff"]


@pytest.mark.parametrize(
    ("rows", "message"), [([[1.0], None], "nulls"), ([[1.0], [1.0, 2.0]], "1 to 2 entries")]
)
def test_features_of_no_one_length_are_refused(rows, message):
    with pytest.raises(InvalidInput, match=message):
        features_of(pa.array(rows, pa.list_(pa.float64())))
