"""`EnergyHasher` as a pyspark.ml estimator (extra ``kinhash[spark]``, Java 17).

    from kinhash.spark import EnergyHasher

    model = EnergyHasher(featuresCol="features", labelCol="label", outputCol="code", nBits=64).fit(df)
    model.transform(df)                # df with a binary column of packed codes
    model.hasher.save("model.kin")     # the ordinary model, for everything else

Works with Spark Connect: only dataframes and Arrow functions are used. The executors' Python must have
kinhash; where it is not the driver's, set the environment variable PYSPARK_PYTHON.
"""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import MissingExtra

for _package in ("pyspark", "pyarrow"):
    if find_spec(_package) is None:
        raise MissingExtra.of(_package, "spark")

from .estimator import EnergyHasher, EnergyHasherModel  # noqa: E402

__all__ = ["EnergyHasher", "EnergyHasherModel"]
