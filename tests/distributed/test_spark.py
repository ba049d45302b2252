"""Spark dataframes: one model and one code per row, however Spark partitions the rows."""

from __future__ import annotations

import os
import shutil
import sys

import numpy as np
import pytest
from block_data import classes, hasher, indicator

from kinhash.errors import InvalidInput

pa = pytest.importorskip("pyarrow", reason="the extra kinhash[spark] is not installed")

from kinhash.distributed import spark as room  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql", reason="the extra kinhash[spark] is not installed")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark 4 needs Java 17 or later")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the executors' Python must have kinhash, too
    builder = sql.SparkSession.builder.master("local[2]").appName("kinhash tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    opened = builder.getOrCreate()
    yield opened
    opened.stop()


def frame(spark, X, y, kind):
    rows = [(i, x.tolist(), t.tolist()) for i, (x, t) in enumerate(zip(X, y, strict=True))]
    return spark.createDataFrame(rows, f"id long, features array<float>, label {kind}")


@pytest.mark.parametrize("n_rows", [250, 200_000])
def test_the_model_does_not_depend_on_partitions(spark, n_rows):
    X, y = classes()
    df = frame(spark, X, y, "long")
    models = [
        room.fit(hasher(), one, n_rows=n_rows)
        for one in (df, df.orderBy("label").repartition(5), df.coalesce(1).orderBy(df.id.desc()))
    ]
    assert len({model.model_id_ for model in models}) == 1
    rows = room.encode(models[0], df.repartition(4)).orderBy("id").collect()
    np.testing.assert_array_equal([list(row.code) for row in rows], models[0].encode(X).packed)
    rows = room.learned_codes(models[0], df, output="bits").orderBy("id").collect()
    expected = np.asarray(models[0].learned_codes(X=X, y=y))
    np.testing.assert_array_equal([list(row.bits) for row in rows], expected)
    with pytest.raises(InvalidInput, match="column 'id' already"):
        room.encode(models[0], df, output="id")


def test_vectors_and_names(spark):
    from pyspark.ml.functions import array_to_vector

    X, Y = indicator()
    df = frame(spark, X, Y.astype(float), "array<double>")
    vectors = df.withColumn("features", array_to_vector("features")).withColumn(
        "label", array_to_vector("label")
    )
    model = room.fit(hasher(), vectors)
    rows = room.encode(model, vectors).orderBy("id").collect()
    np.testing.assert_array_equal([list(row.code) for row in rows], model.encode(X.astype(float)).packed)
    with pytest.raises(InvalidInput, match="no rows"):
        room.fit(hasher(), df.limit(0))


def test_columns_become_arrays_and_back():
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    column = pa.array(X.tolist(), pa.list_(pa.float32()))
    found = room.features_of(pa.chunked_array([column[:1], column[1:]]))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(room.features_of(column[1:]), X[1:])  # slices have offsets of their own
    assert room.labels_of(pa.array(["a", None])).tolist() == ["a", None]
    assert room.labels_of(pa.array([["a", "b"], [], None])) == [{"a", "b"}, set(), None]
    np.testing.assert_array_equal(room.labels_of(pa.array([[1.0, 0.0]])), [[1.0, 0.0]])
    codes = np.array([[1, 2], [3, 255]], np.uint8)
    assert room.binary_column(codes).to_pylist() == [b"\x01\x02", b"\x03\xff"]


@pytest.mark.parametrize(
    ("rows", "message"), [([[1.0], None], "nulls"), ([[1.0], [1.0, 2.0]], "1 to 2 entries")]
)
def test_features_of_no_one_length_are_refused(rows, message):
    with pytest.raises(InvalidInput, match=message):
        room.features_of(pa.array(rows, pa.list_(pa.float64())))
