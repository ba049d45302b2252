"""Blocks of a Spark dataframe, numbered the same way in every pass.

Spark promises no order of rows. With an id column the blocks follow from the data alone: rows with
``id // block_rows`` equal form a block, ordered by id. Without one, a block is a run of ``block_rows``
rows within a partition as Spark delivers it: repeatable as long as the plan is (files, cached data), and
checked by the number of rows; a plan that changes between passes is refused.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import functions as F

from .._internal.types import Features, Ints, LabelsLike
from ..distributed import Blocks, merge_in_order
from ..errors import InvalidInput, KinhashError
from .arrow import features_of, labels_of

__all__ = ["SparkBlocks"]

T = TypeVar("T")
RESULT = "number long, result binary"
FAN_IN = 32  # results merged by one task: a power of two, so that groups are whole branches of the tree
PARTITION = 2**32  # keys of blocks without ids: partition · this + run


class SparkBlocks(Blocks):
    """Blocks of a dataframe with columns "x" (number arrays), "y" (labels) and, if ``by_id``, "id"."""

    def __init__(self, df: Any, block_rows: int, by_id: bool) -> None:
        self.by_id, self.block_rows, self.sizes = by_id, block_rows, {}
        self.df = df.withColumn("key", F.floor(F.col("id") / F.lit(block_rows))) if by_id else df
        counted = self._run(lambda key, table: (key, table.num_rows), ["y"])
        sizes = dict(pickle.loads(row.result) for row in counted.collect())
        if not sizes:
            raise InvalidInput("The dataframe has no rows", "rows with labels", "Pass other rows")
        self.sizes = {key: (number, sizes[key]) for number, key in enumerate(sorted(sizes))}

    def reduce_labels(self, look: Callable[[int, LabelsLike], T], merge: Callable[[T, T], T]) -> T:
        return self._merged(self._run(lambda n, table: look(n, labels_of(table["y"])), ["y"]), merge)

    def gather(self, take: Callable[..., T], wanted: Mapping[int, Ints]) -> list[T]:
        rows = self._run(lambda n, t: take(n, *_both(t), wanted[n]), ["x", "y"], set(wanted)).collect()
        return [_value(row.result) for row in sorted(rows, key=lambda row: row.number)]

    def reduce(self, look: Callable[[int, Features, LabelsLike], T], merge: Callable[[T, T], T]) -> T:
        return self._merged(self._run(lambda n, table: look(n, *_both(table)), ["x", "y"]), merge)

    def _run(self, work: Callable[[int, Any], Any], columns: list[str], only: set[int] | None = None) -> Any:
        """A dataframe of (number, pickled result) of some blocks; before blocks are numbered, of all keys."""
        sizes, block_rows = self.sizes, self.block_rows

        def one(key: int, table: Any) -> pa.Table:
            number, size = sizes.get(key, (key, -1))
            if only is not None and number not in only:
                return _results([], [])
            if sizes and size != table.num_rows:
                found: Any = InvalidInput(
                    "The blocks of the dataframe changed while it was read",
                    "the same rows in the same partitions in every pass",
                    "Set idCol to a column of row numbers, or cache the dataframe",
                )
            else:
                found = _attempt(work, number, table)
            return _results([number], [found])

        if self.by_id:
            return (
                self.df.select("key", "id", *columns)
                .groupBy("key")
                .applyInArrow(lambda t: one(t["key"][0].as_py(), t.sort_by("id")), RESULT)
            )

        def partition(batches: Iterator[Any]) -> Iterator[Any]:
            from pyspark import TaskContext

            context = TaskContext.get()
            first = PARTITION * (context.partitionId() if context is not None else 0)
            for run, table in enumerate(_runs(batches, block_rows)):
                yield from one(first + run, table).to_batches()

        return self.df.select(*columns).mapInArrow(partition, RESULT)

    def _merged(self, results: Any, merge: Callable[[T, T], T]) -> T:
        """The branches on the executors, the rest of the tree here."""

        def branch(table: Any) -> pa.Table:
            table = table.sort_by("number")
            parts = [pickle.loads(result) for result in table["result"].to_pylist()]
            failed = [part for part in parts if isinstance(part, KinhashError)]
            merged = failed[0] if failed else merge_in_order(parts, merge)
            return _results([table["number"][0].as_py() // FAN_IN], [merged])

        count = len(self.sizes)
        while count > FAN_IN:
            key = F.floor(F.col("number") / F.lit(FAN_IN)).alias("branch")
            results = results.groupBy(key).applyInArrow(branch, RESULT)
            count = -(-count // FAN_IN)
        rows = sorted(results.collect(), key=lambda row: row.number)
        return merge_in_order([_value(row.result) for row in rows], merge)


def _runs(batches: Iterator[Any], size: int) -> Iterator[Any]:
    """Tables of ``size`` rows (the last shorter), however the rows came in batches."""
    waiting: list[Any] = []
    count = 0
    for batch in batches:
        while count + batch.num_rows >= size:
            cut = size - count
            yield pa.Table.from_batches([*waiting, batch.slice(0, cut)])
            waiting, count, batch = [], 0, batch.slice(cut)
        if batch.num_rows:
            waiting.append(batch)
            count += batch.num_rows
    if waiting:
        yield pa.Table.from_batches(waiting)


def _both(table: Any) -> tuple[Features, LabelsLike]:
    return features_of(table["x"]), labels_of(table["y"])


def _attempt(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or our own error as a value: Spark would bury it in a page of Java."""
    try:
        return work(*arguments)
    except KinhashError as error:
        return error


def _value(result: bytes) -> Any:
    value = pickle.loads(result)
    if isinstance(value, KinhashError):
        raise value
    return value


def _results(numbers: list[int], values: list[Any]) -> pa.Table:
    columns = {
        "number": pa.array(numbers, pa.int64()),
        "result": pa.array([pickle.dumps(value) for value in values], pa.binary()),
    }
    return pa.table(columns)
