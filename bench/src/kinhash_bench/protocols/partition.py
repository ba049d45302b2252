"""Row numbers for training, validation, queries and database; and the files that hold them.

Rows are ordered by raw 64-bit draws of PCG64, seeded with (seed, number). NumPy promises to keep that
stream for ever, unlike its ``permutation``, so a partition never changes.
"""

from __future__ import annotations

import numbers
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kinhash.errors import DamagedFile, InvalidInput
from kinhash.labels import Labels, read_labels
from kinhash.plugins import check_integer, read_npz

from ..datasets.files import write_npz
from .balanced import draw_evenly

if TYPE_CHECKING:
    from .protocol import Protocol

__all__ = ["Partition", "draw_partition", "random_order"]

Rows = npt.NDArray[np.int64]
PARTS = ("train", "validation", "query", "database")
KIND = "a partition written by kinhash"


def _none() -> Rows:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Partition:
    """Row numbers of one split, each list in ascending order.

    ``database`` is the training rows, the queries, or rows of its own, as the protocol says, and training
    rows may be among these; all other lists are disjoint. ``unseen`` are the positions of the labels that are
    never trained on.
    """

    protocol: str
    digest: str
    number: int
    n_rows: int
    train: Rows
    validation: Rows
    query: Rows
    database: Rows
    unseen: Rows = field(default_factory=_none)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(getattr(self, part)):,} {part}" for part in PARTS)
        return f"Partition({self.protocol}@{self.digest} number {self.number}: {sizes} rows)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the row numbers to an ``.npz`` of plain arrays, all or nothing."""
        write_npz(
            path,
            {
                "protocol": np.array(self.protocol),
                "digest": np.array(self.digest),
                "number": np.array(self.number, "<i8"),
                "n_rows": np.array(self.n_rows, "<i8"),
                **{part: getattr(self, part).astype("<i8") for part in (*PARTS, "unseen")},
            },
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Partition:
        """Read what `save` wrote; nothing in the file is trusted or unpickled."""
        arrays = read_npz(path)
        lists = {part: _row_numbers(path, arrays, part) for part in (*PARTS, "unseen")}
        found = cls(
            protocol=_single(path, arrays, "protocol", "U"),
            digest=_single(path, arrays, "digest", "U"),
            number=_single(path, arrays, "number", "iu"),
            n_rows=_single(path, arrays, "n_rows", "iu"),
            **lists,
        )
        problem = found.problem()
        if problem:
            raise _damaged(path, problem)
        return found

    def problem(self) -> str | None:
        """What is wrong with the row numbers, in words; None when nothing is."""
        for part in PARTS:
            rows = getattr(self, part)
            if len(rows) and (rows[0] < 0 or rows[-1] >= self.n_rows or (np.diff(rows) <= 0).any()):
                return f"its {part} rows are not ascending numbers below {self.n_rows}"
        learned = [self.train, self.validation, self.query]
        searched = [] if _same(self.database, self.query) else [self.validation, self.query, self.database]
        for lists in (learned, searched):  # training rows may be searched
            together = np.concatenate(lists) if lists else _none()
            if len(np.unique(together)) != len(together):
                return "a row stands in two of its parts"
        if len(self.unseen) and (self.unseen[0] < 0 or (np.diff(self.unseen) <= 0).any()):
            return "its unseen labels are not ascending positions"
        return None


def draw_partition(protocol: Protocol, rows: Any, number: int) -> Partition:
    """See `Protocol.partition`."""
    number = check_integer("partition", number, 0)
    labels: Labels | None = None
    if isinstance(rows, numbers.Integral) and not isinstance(rows, bool):
        n_rows = int(rows)
    else:
        labels = read_labels(rows)
        n_rows = len(labels)
    if protocol.split == "given":
        raise InvalidInput(
            f"The protocol {protocol.name!r} draws no rows: its split is given",
            "a Partition in place of a number",
            "Make one with kinhash_bench.protocols.given_partition",
        )
    if labels is None and (protocol.split in ("classes", "evenly") or protocol.untagged == "drop"):
        raise InvalidInput(
            f"The protocol {protocol.name!r} splits by labels, and got only the number of rows",
            "the labels of the rows",
            "Pass the labels instead of their number",
        )
    order = random_order(n_rows, protocol.seed, number)
    if protocol.untagged == "drop":
        assert labels is not None
        order = order[np.diff(labels.indicator().indptr)[order] > 0]
    unseen = _none()
    if protocol.split == "classes":
        assert labels is not None
        parts, unseen = _by_classes(protocol, labels, order, number)
    else:
        parts = _by_rows(protocol, order, labels if protocol.split == "evenly" else None)
    named = {part: np.sort(chosen) for part, chosen in parts.items()}
    return Partition(protocol.name, protocol.digest, number, n_rows, **named, unseen=unseen)


def _by_rows(protocol: Protocol, order: Rows, labels: Labels | None) -> dict[str, Rows]:
    """Random rows; with ``labels``, as many queries and training rows of each label."""
    n_query, n_validation = (
        _size(protocol, n, len(order)) for n in (protocol.n_queries, protocol.n_validation)
    )
    if labels is None:
        query, rest = np.split(order, [n_query])
    else:
        query, rest = draw_evenly(labels, order, n_query, "query")
    validation, rest = np.split(rest, [n_validation])
    searched, database = rest, query
    if protocol.database == "apart":
        database, rest = np.split(rest, [int(protocol.database_share * len(rest))])
    train = _training_rows(protocol, rest)
    if labels is not None and protocol.n_train is not None:
        train = draw_evenly(labels, rest, protocol.n_train, "training")[0]
    if protocol.database == "training":
        database = train
    elif protocol.database == "rest":
        database = searched
    elif protocol.database == "others":
        database = np.setdiff1d(searched, train)
    _require(protocol, len(order), query, train, database)
    return {"train": train, "validation": validation, "query": query, "database": database}


def _by_classes(protocol: Protocol, labels: Labels, order: Rows, number: int) -> tuple[dict[str, Rows], Rows]:
    """Queries and database carry an unseen label; training and validation rows carry none."""
    indicator = labels.indicator()
    present = np.flatnonzero(np.bincount(indicator.indices, minlength=len(labels.names)))
    n_unseen = max(2, round(protocol.unseen_share * len(present)))
    if len(present) - n_unseen < 2:
        raise InvalidInput(
            f"The rows carry {len(present)} different labels",
            f"at least {n_unseen + 2}: {n_unseen} to keep out and two to learn from",
            "Use data with more labels, or the protocol 'inductive'",
        )
    unseen = np.sort(present[random_order(len(present), protocol.seed, number)[:n_unseen]])
    marks = np.isin(np.arange(len(labels.names)), unseen).astype(np.int64)
    carries = (indicator.astype(np.int64) @ marks > 0)[order]
    unlearned, learned = order[carries], order[~carries]
    query, others = np.split(unlearned, [_size(protocol, protocol.n_queries, len(unlearned))])
    validation, rest = np.split(learned, [_size(protocol, protocol.n_validation, len(learned))])
    database = query if protocol.database == "queries" else others
    train = _training_rows(protocol, rest)
    _require(protocol, len(order), query, train, database)
    return {"train": train, "validation": validation, "query": query, "database": database}, unseen


def random_order(n_rows: int, seed: int, number: int) -> Rows:
    """Rows 0 to ``n_rows`` in an order that is the same on every machine for ever."""
    stream = np.random.PCG64(np.random.SeedSequence([seed, number]))
    return np.argsort(stream.random_raw(n_rows), kind="stable").astype(np.int64)


def _size(protocol: Protocol, wanted: int, n_rows: int) -> int:
    return min(wanted, int(protocol.most * n_rows))


def _training_rows(protocol: Protocol, rest: Rows) -> Rows:
    if protocol.n_train is not None and len(rest) < protocol.n_train:
        raise InvalidInput(
            f"{len(rest)} rows are left to train on",
            f"{protocol.n_train}, as the protocol {protocol.name!r} says",
            "Use more rows, or a protocol with a smaller n_train",
        )
    return rest[: protocol.n_train]


def _require(protocol: Protocol, n_rows: int, query: Rows, train: Rows, database: Rows) -> None:
    least = 2 if protocol.database == "queries" else 1  # a row does not find itself
    if len(query) < least or len(train) < 2 or len(database) < 1:
        raise InvalidInput(
            f"{n_rows} rows are too few for the protocol {protocol.name!r}: {len(query)} queries, "
            f"{len(train)} training rows and {len(database)} database rows",
            f"at least {least} queries, 2 training rows and {least} database rows",
            "Use more rows, or a protocol with other shares",
        )


def _same(left: Rows, right: Rows) -> bool:
    return len(left) == len(right) and bool((left == right).all())


def _row_numbers(path: object, arrays: dict[str, npt.NDArray[Any]], name: str) -> Rows:
    rows = arrays.get(name)
    if rows is None or rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise _damaged(path, f"it holds no list of whole numbers called {name!r}")
    return rows.astype(np.int64)


def _single(path: object, arrays: dict[str, npt.NDArray[Any]], name: str, kinds: str) -> Any:
    value = arrays.get(name)
    if value is None or value.ndim != 0 or value.dtype.kind not in kinds:
        raise _damaged(path, f"it does not say which {name!r} it is of")
    try:
        return value.item()
    except ValueError:  # damaged text can hold numbers that are no characters
        raise _damaged(path, f"its {name!r} holds damaged text") from None


def _damaged(path: object, what: str) -> DamagedFile:
    return DamagedFile(f"{path}: {what}", KIND, "Write the partition again")
