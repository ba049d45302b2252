"""Evaluate one method on one partition: fit, encode, rank, and write down everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash import __version__
from kinhash.codes import Codes, n_bytes
from kinhash.errors import CodesMismatch, InvalidInput
from kinhash.labels import Labels
from kinhash.metrics import MeanScore, code_health, some_queries
from kinhash.plugins import Stages, check_choice

from . import PROTOCOLS
from .data import kin_labels, standardized, training_labels
from .float_rankings import FloatRanking, score_rows
from .near_kin import NearestKin
from .partition import Partition
from .protocol import Protocol
from .protocol_scores import score_codes, score_floats
from .read_data import Data, read_data
from .record import Record, health_summary, plain_parameters

__all__ = ["ComparedCodes", "evaluate", "nearest_kin_of"]

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ComparedCodes:
    """What an evaluation of codes compared: for whoever wants to look at more than the score.

    ``query_rows`` and ``database_rows`` are row numbers of the data set, ``databases`` the codes by kind.
    """

    queries: Codes
    databases: dict[str, Codes]
    query_rows: Rows
    database_rows: Rows
    query_labels: Labels
    database_labels: Labels


def evaluate(
    method: Any,
    dataset: Any,
    protocol: str | Protocol = "paper",
    partition: int | Partition = 0,
    *,
    on: str = "query",
    look: Callable[[ComparedCodes], None] | None = None,
    nearest: NearestKin | None = None,
) -> Record:
    """Fit a copy of ``method`` on the training rows and score its codes as the protocol says.

    ``method`` is a hasher (``fit``, ``encode``, and ``codes_`` where it learns codes), or a `FloatRanking`
    such as `Cosine`. ``dataset`` is a `kinhash_bench.datasets.Dataset` or ``(X, y)``. ``partition`` is a
    number, or a `Partition` read from a file. ``on="validation"`` takes the validation rows as
    queries: settings are chosen there, and the record says so. ``look`` is shown the codes after they were
    scored (not called for float rankings). ``nearest`` is what `nearest_kin_of` found for the same data,
    protocol and partition: finding it can take longer than a method does, and once is enough for many.

    Set ``random_state`` of the method to make a record repeatable. Peak memory beyond the data: the
    training and database rows once more (all rows if the protocol standardizes), and the method's own.

    >>> from kinhash import EMKSH
    >>> from kinhash_bench import datasets
    >>> record = evaluate(EMKSH(16, random_state=0), datasets.load("digits"), "paper")
    >>> record.protocol, record.partition, record.learned.n_queries
    ('paper', 0, 359)
    """
    protocol = PROTOCOLS[protocol] if isinstance(protocol, str) else protocol
    data = read_data(dataset)
    split = _partition_of(protocol, partition, data)
    task = replace(_task(protocol, data, split, on), nearest=nearest)
    if isinstance(method, FloatRanking):
        return _evaluate_floats(task, method)
    if not (hasattr(method, "fit") and hasattr(method, "encode")):
        raise InvalidInput(
            f"{type(method).__name__} can neither encode nor score",
            "a hasher with fit and encode, or a kinhash_bench.protocols.FloatRanking",
            "Wrap it in one of these",
        )
    return _evaluate_codes(task, method, look)


def nearest_kin_of(
    dataset: Any, protocol: str | Protocol = "paper", partition: int | Partition = 0, *, on: str = "query"
) -> NearestKin:
    """Who the nearest kin of the queries are, for `evaluate` of several methods on one partition.

    Memory: the rows of the partition once more, and similarities of all queries to a block of them.

    >>> from kinhash import EMKSH
    >>> from kinhash_bench import datasets
    >>> digits = datasets.load("digits")
    >>> known = nearest_kin_of(digits, "paper", 1)
    >>> methods = EMKSH(8, random_state=0), EMKSH(16, random_state=0)
    >>> records = [evaluate(method, digits, "paper", 1, nearest=known) for method in methods]
    """
    protocol = PROTOCOLS[protocol] if isinstance(protocol, str) else protocol
    data = read_data(dataset)
    split = _partition_of(protocol, partition, data)
    return _task(protocol, data, split, on).nearest_kin(kin_labels(data.labels, split))[1]


@dataclass(frozen=True, eq=False)
class _Task:
    """One evaluation on its way: the protocol, the rows it needs, a clock."""

    protocol: Protocol
    data: Data
    split: Partition
    on: str
    X: Any
    query_rows: Rows
    database_rows: Rows
    stages: Stages
    nearest: NearestKin | None = None

    @property
    def database_is_queries(self) -> bool:
        """Whether the queries are also the database."""
        return self.protocol.database == "queries"

    @property
    def n_encoded(self) -> int:
        """Rows that go through the map."""
        apart = "mapped" in self.protocol.codes and not self.database_is_queries
        return len(self.query_rows) + (len(self.database_rows) if apart else 0)

    def fitted(self, method: Any) -> Any:
        """A copy of the method that has seen the training rows and nothing else."""
        from sklearn.base import clone

        method = clone(method, safe=False)
        y = training_labels(self.data.labels, self.split)
        with self.stages("fit"):
            return method.fit(self.X[self.split.train], y)

    def nearest_kin(self, labels: Labels) -> tuple[Rows, NearestKin]:
        """Some of the queries, and who their nearest kin in the database are."""
        asked = some_queries(len(self.query_rows))
        rows = self.query_rows[asked]
        own = asked if self.database_is_queries else None
        found = self.nearest
        if found is None:
            sides = labels[rows], labels[self.database_rows], self.X[rows], self.X[self.database_rows]
            found = NearestKin.of(*sides, own=own)
        return asked, found

    def record(self, method: Any, **facts: Any) -> Record:
        """Everything known about this evaluation, and what the caller adds."""
        return Record(
            protocol=self.protocol.name,
            protocol_digest=self.protocol.digest,
            dataset=self.data.name,
            checksum=self.data.checksum,
            method=type(method).__name__,
            parameters=plain_parameters(method),
            partition=self.split.number,
            on=self.on,
            n_train=len(self.split.train),
            n_database=len(self.database_rows),
            queries=self.query_rows,
            seconds=dict(self.stages.seconds),
            version=__version__,
            **facts,
        )


def _task(protocol: Protocol, data: Data, split: Partition, on: str) -> _Task:
    check_choice("on", on, ("query", "validation"))
    query_rows = split.query if on == "query" else split.validation
    if on == "validation" and (protocol.split == "classes" or not len(query_rows)):
        raise InvalidInput(
            f"The protocol {protocol.name!r} has no validation rows that its database could answer",
            "a protocol that splits by rows and keeps validation rows",
            "Choose settings under another protocol, such as 'inductive'",
        )
    X = data.features
    if protocol.standardize != "none":
        X = standardized(X, split.train if protocol.standardize == "training" else None)
    database_rows = query_rows if protocol.database == "queries" else split.database
    return _Task(protocol, data, split, on, X, query_rows, database_rows, Stages())


def _partition_of(protocol: Protocol, partition: int | Partition, data: Data) -> Partition:
    if not isinstance(partition, Partition):
        return protocol.partition(data.labels, partition)
    if partition.digest != protocol.digest or partition.n_rows != len(data.labels):
        raise InvalidInput(
            f"The partition belongs to {partition.protocol}@{partition.digest} and {partition.n_rows} rows",
            f"one of {protocol} and {len(data.labels)} rows",
            "Draw it with protocol.partition(labels, number)",
        )
    return partition


def _evaluate_codes(task: _Task, method: Any, look: Callable[[ComparedCodes], None] | None) -> Record:
    fitted, stages = task.fitted(method), task.stages
    protocol, labels = task.protocol, kin_labels(task.data.labels, task.split)
    databases: dict[str, Codes] = {}
    with stages("encode"):
        queries = _codes(fitted, fitted.encode(task.X[task.query_rows]), len(task.query_rows))
        if task.database_is_queries:
            databases["mapped"] = queries
        elif "mapped" in protocol.codes:
            databases["mapped"] = _codes(
                fitted, fitted.encode(task.X[task.database_rows]), len(task.database_rows)
            )
    if "learned" in protocol.codes and hasattr(fitted, "codes_"):
        databases["learned"] = _codes(fitted, fitted.codes_, len(task.database_rows))
    query_labels, database_labels = labels[task.query_rows], labels[task.database_rows]
    with stages("score"):
        scores = {
            which: score_codes(protocol, queries, database, query_labels, database_labels)
            for which, database in databases.items()
        }
        health = {which: health_summary(code_health(codes)) for which, codes in databases.items()}
    asked, nearest = task.nearest_kin(labels)
    near = {which: nearest.score_codes(queries[asked], database) for which, database in databases.items()}
    if look is not None:
        look(
            ComparedCodes(
                queries, databases, task.query_rows, task.database_rows, query_labels, database_labels
            )
        )
    return task.record(
        method,
        n_bits=queries.n_bits,
        bytes_per_item=n_bytes(queries.n_bits),
        learned=scores.get("learned"),
        mapped=scores.get("mapped"),
        n_encoded=task.n_encoded,
        health=health,
        near_kin=near,
    )


def _codes(fitted: Any, given: Any, n_rows: int) -> Codes:
    """Codes as a method hands them out."""
    packed = np.asarray(given)
    n_bits = int(getattr(fitted, "n_bits", 8 * packed.shape[-1]))
    codes = Codes(packed, n_bits)  # checks width, dtype and padding
    if len(codes) != n_rows:
        raise CodesMismatch(
            f"{type(fitted).__name__} gave {len(codes)} codes for {n_rows} rows",
            "one code per row",
            "Check its encode and its codes_",
        )
    return codes


def _evaluate_floats(task: _Task, method: FloatRanking) -> Record:
    ranking, stages = task.fitted(method), task.stages
    protocol, labels = task.protocol, kin_labels(task.data.labels, task.split)
    query_labels, database_labels = labels[task.query_rows], labels[task.database_rows]
    with stages("encode"):
        queries = ranking.prepare(task.X[task.query_rows])
        databases = {"mapped": queries} if task.database_is_queries else {}
        if "mapped" in protocol.codes and not task.database_is_queries:
            databases["mapped"] = ranking.prepare(task.X[task.database_rows])
        if "learned" in protocol.codes:
            databases["learned"] = ranking.prepare_learned()
    scores: dict[str, MeanScore] = {}
    with stages("score"):
        for which, database in databases.items():
            if database is not None:
                rows = score_rows(ranking, queries, database)
                scores[which] = score_floats(protocol, rows, query_labels, database_labels)
    asked, nearest = task.nearest_kin(labels)
    near = {
        which: nearest.score_floats(score_rows(ranking, queries[asked], database))
        for which, database in databases.items()
        if database is not None
    }
    return task.record(
        method,
        n_bits=None,
        bytes_per_item=int(ranking.bytes_per_item),
        learned=scores.get("learned"),
        mapped=scores.get("mapped"),
        n_encoded=task.n_encoded,
        health={},
        near_kin=near,
    )
