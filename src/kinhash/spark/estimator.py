"""The pyspark.ml side: an Estimator, a Model, their Params and their files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import vector_to_array
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasOutputCol
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from .._internal.aliases import Facts
from ..distributed import code_block, for_workers, learn_from
from ..errors import InvalidInput
from ..hashers import energy as energy_hasher
from ..hashers import load_model, with_settings
from .arrow import binary_column, features_of
from .blocks import SparkBlocks

__all__ = ["EnergyHasher", "EnergyHasherModel"]

FEATURES = "__kinhash_features"


class EnergyHasher(
    Estimator, HasFeaturesCol, HasLabelCol, HasOutputCol, DefaultParamsReadable, DefaultParamsWritable
):
    """Learn codes of ``nBits`` bits from a dataframe; `kinhash.distributed` says how, block by block.

    ``featuresCol`` holds vectors or arrays of numbers; ``labelCol`` classes (numbers or strings, null =
    unknown), arrays of tags, or vectors of zeros and ones; ``outputCol`` will hold packed codes. ``options``
    are further parameters of `kinhash.EnergyHasher` as plain values, those of its parts by flat names:
    ``{"encoder": "ridge", "solver": "spectral", "solver__rotation": "codes"}``. With ``idCol``, a column of
    row numbers, blocks are rows with equal ``id // blockRows`` and the model is the same however Spark
    partitions the rows; without it, blocks are runs of rows within partitions.
    """

    nBits: Any = Param(Params._dummy(), "nBits", "length of the codes", TypeConverters.toInt)
    seed: Any = Param(Params._dummy(), "seed", "seed of all random draws", TypeConverters.toInt)
    idCol: Any = Param(Params._dummy(), "idCol", "column of row numbers, or ''", TypeConverters.toString)
    blockRows: Any = Param(Params._dummy(), "blockRows", "rows of a block", TypeConverters.toInt)
    options: Any = Param(Params._dummy(), "options", "further parameters of kinhash.EnergyHasher")

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        outputCol: str = "code",
        nBits: int = 64,
        seed: int = 0,
        idCol: str = "",
        blockRows: int = 65_536,
        options: Facts | None = None,
    ) -> None:
        super().__init__()
        self._setDefault(
            featuresCol="features",
            labelCol="label",
            outputCol="code",
            nBits=64,
            seed=0,
            idCol="",
            blockRows=65_536,
            options={},
        )
        given = {name: value for name, value in self._input_kwargs.items() if value is not None}
        self._set(**given)

    def _fit(self, dataset: Any) -> EnergyHasherModel:
        def value(name: str) -> Any:
            return self.getOrDefault(self.getParam(name))

        columns = [
            _plain(dataset, value("featuresCol")).alias("x"),
            _plain(dataset, value("labelCol")).alias("y"),
        ]
        if value("idCol"):
            columns.append(F.col(value("idCol")).alias("id"))
        plain = energy_hasher.EnergyHasher(value("nBits"), random_state=value("seed"))
        hasher = with_settings(plain, value("options"))
        hasher.check_parameters()
        learn_from(hasher, SparkBlocks(dataset.select(*columns), value("blockRows"), bool(value("idCol"))))
        return self._copyValues(EnergyHasherModel(hasher))


class EnergyHasherModel(Model, HasFeaturesCol, HasOutputCol, MLReadable, MLWritable):
    """A fitted hasher: ``transform`` adds the column of packed codes, ``hasher`` is the ordinary model.

    ``hasher.fitted_.fields`` say what the bits of the column count: searches of them need it.
    """

    def __init__(self, hasher: energy_hasher.EnergyHasher | None = None) -> None:
        super().__init__()
        self._setDefault(featuresCol="features", outputCol="code")
        self.hasher = hasher

    def _transform(self, dataset: Any) -> Any:
        features, output = self.getFeaturesCol(), self.getOutputCol()
        if output in dataset.columns:
            raise InvalidInput(
                f"The dataframe has a column {output!r} already", "a new name", "Set outputCol to another one"
            )
        assert self.hasher is not None
        model = for_workers(self.hasher)

        def encode(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                codes = code_block(features_of(batch.column(FEATURES)), model=model)
                columns = [*batch.columns[:-1], binary_column(codes)]
                yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names[:-1], output])

        schema = StructType([*dataset.schema.fields, StructField(output, BinaryType(), False)])
        return dataset.withColumn(FEATURES, _plain(dataset, features)).mapInArrow(encode, schema)

    def write(self) -> MLWriter:
        """How pyspark.ml saves it: parameters as JSON, and the model file in a table of one row."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[EnergyHasherModel]:
        """How pyspark.ml loads it."""
        return _Reader()


class _Writer(MLWriter):
    def __init__(self, model: EnergyHasherModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "model.kin")
            assert self.model.hasher is not None
            self.model.hasher.save(file)
            content = bytearray(file.read_bytes())
        table = self.sparkSession.createDataFrame([(content,)], "model binary")
        table.coalesce(1).write.parquet(f"{path}/model")


class _Reader(MLReader[EnergyHasherModel]):
    def load(self, path: str) -> EnergyHasherModel:
        facts = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        content = self.sparkSession.read.parquet(f"{path}/model").collect()[0].model
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "model.kin")
            file.write_bytes(content)
            model = EnergyHasherModel(load_model(file))
        DefaultParamsReader.getAndSetParams(model, facts)
        model._resetUid(facts["uid"])
        return model


def _plain(dataset: Any, name: str) -> Any:
    """The column, vectors turned into arrays."""
    kind = dataset.schema[name].dataType.typeName()
    return vector_to_array(F.col(name)) if kind == "vectorudt" else F.col(name)
