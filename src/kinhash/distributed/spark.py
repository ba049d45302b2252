"""Fit and encode Spark dataframes (extra ``kinhash[spark]``, Java 17).

from kinhash.distributed.spark import encode, fit

hasher = fit(EnergyHasher(n_bits=64, random_state=0), df, features="features", label="label")
df = encode(hasher, df, features="features", output="code")     # a binary column of packed codes

Only dataframes and Arrow functions are used, so Spark Connect works. The executors' Python must have kinhash;
where it is not the driver's, set the environment variable PYSPARK_PYTHON.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from .._internal.types import Array, Bytes
from .._internal.validation import check_integer, is_integer, make_rng
from ..errors import InvalidInput, MissingExtra
from .blocks import N_ROWS, code_block, fit_drawn, packed_model

try:
    import pyarrow as pa
except ImportError:
    raise MissingExtra.of("pyarrow", "spark") from None

__all__ = ["encode", "fit", "learned_codes"]

H = TypeVar("H")
FEATURES, LABEL = "__kinhash_features", "__kinhash_label"


def fit(
    hasher: H, df: Any, *, features: str = "features", label: str | None = "label", n_rows: int = N_ROWS
) -> H:
    """Fit a hasher to rows drawn evenly from a dataframe, and return it.

    The rows with the smallest hashes of their content are drawn, so the model is the same however Spark
    orders and partitions the rows. The fit runs in the driver. Memory there: the drawn rows.

    Parameters
    ----------
    hasher : EnergyHasher
        The hasher to fit; ``random_state`` decides which rows are drawn.
    df : dataframe
        The rows.
    features : str, default="features"
        Column of vectors, or of arrays of numbers.
    label : str or None, default="label"
        Column of classes (numbers or strings, null for unknown), arrays of tags, or vectors of zeros and
        ones; None learns from features alone.
    n_rows : int, default=200000
        Rows to draw.
    """
    functions = _functions()
    check_integer("n_rows", n_rows, 1)
    columns = [_plain(df, features).alias("x")] + ([] if label is None else [_plain(df, label).alias("y")])
    seed = getattr(hasher, "random_state", None)
    seed = int(seed if is_integer(seed) else make_rng(seed).spawn(1)[0].integers(2**31))
    mixed = functions.xxhash64(functions.lit(seed), *columns)
    keyed = df.select(*columns, mixed.alias("key"))
    rows = keyed.orderBy("key").limit(n_rows).toArrow().sort_by("key")
    if not rows.num_rows:
        raise InvalidInput("The dataframe has no rows", "rows to learn from", "Pass other rows")
    labels = None if label is None else labels_of(rows["y"])
    return fit_drawn(hasher, [(features_of(rows["x"]), labels)])


def encode(hasher: Any, df: Any, *, features: str = "features", output: str = "code") -> Any:
    """The dataframe with a binary column of packed codes.

    Parameters
    ----------
    hasher : EnergyHasher
        A fitted hasher.
    df : dataframe
        The rows.
    features : str, default="features"
        Column of vectors, or of arrays of numbers.
    output : str, default="code"
        Name of the new column.
    """
    return _coded(hasher, df, features, None, output)


def learned_codes(
    hasher: Any, df: Any, *, features: str = "features", label: str = "label", output: str = "code"
) -> Any:
    """The dataframe with codes that know the rows' labels; parameters as in `encode` and `fit`."""
    return _coded(hasher, df, features, label, output)


def _coded(hasher: Any, df: Any, features: str, label: str | None, output: str) -> Any:
    from pyspark.sql.types import BinaryType, StructField, StructType

    if output in df.columns:
        raise InvalidInput(
            f"The dataframe has a column {output!r} already", "a new name", "Pass another output"
        )
    model, added = packed_model(hasher), 1 if label is None else 2

    def code(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            y = None if label is None else labels_of(batch.column(LABEL))
            codes = binary_column(code_block(features_of(batch.column(FEATURES)), y, model=model))
            names = [*batch.schema.names[:-added], output]
            yield pa.RecordBatch.from_arrays([*batch.columns[:-added], codes], names)

    schema = StructType([*df.schema.fields, StructField(output, BinaryType(), False)])
    whole = df.withColumn(FEATURES, _plain(df, features))
    if label is not None:
        whole = whole.withColumn(LABEL, _plain(df, label))
    return whole.mapInArrow(code, schema)


def _functions() -> Any:
    try:
        from pyspark.sql import functions
    except ImportError:
        raise MissingExtra.of("pyspark", "spark") from None
    return functions


def _plain(df: Any, name: str) -> Any:
    """A column as Arrow and hashes take it: vectors become arrays."""
    column = _functions().col(name)
    if df.schema[name].dataType.typeName() != "vectorudt":
        return column
    from pyspark.ml.functions import vector_to_array

    return vector_to_array(column)


def features_of(column: Any) -> Array:
    """A matrix (n, p) from a column of number arrays, which must all have one length."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if array.null_count:
        raise InvalidInput(
            "The features column holds nulls", "an array or a vector in every row", "Drop such rows"
        )
    widths = np.diff(array.offsets.to_numpy())
    if len(widths) and (widths != widths[0]).any():
        raise InvalidInput(
            f"The features have {widths.min()} to {widths.max()} entries", "one length", "Drop such rows"
        )
    values = array.flatten().to_numpy(zero_copy_only=False)  # a null inside becomes NaN, which fit refuses
    return values.reshape(len(array), int(widths[0]) if len(widths) else 0)


def labels_of(column: Any) -> Any:
    """Labels as `fit` takes them: classes, tag sets (arrays), or an indicator (arrays of fractions)."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_list(array.type):
        return array.to_numpy(zero_copy_only=False)
    if pa.types.is_floating(array.type.value_type):  # vectors of zeros and ones
        return features_of(array)
    return [None if row is None else set(row) for row in array.to_pylist()]


def binary_column(codes: Bytes) -> Any:
    """Packed codes (n, bytes) as a binary column."""
    data = pa.py_buffer(np.ascontiguousarray(codes))
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(codes.shape[1]), len(codes), [None, data])
    return fixed.cast(pa.binary())
