"""Rows that come over time: learn from each batch, and search all that came so far.

The partition is that of a protocol; its training rows come in batches, in an order drawn like the partition.
After every batch the queries search the rows so far, by two databases: "mapped", all rows encoded by the
model as it is now, and "kept", every row with the code it got when it came, which costs no second encoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinhash.codes import Codes
from kinhash.errors import InvalidInput
from kinhash.metrics import MeanScore
from kinhash.plugins import Stages, check_integer

from . import PROTOCOLS
from .data import kin_labels, training_labels
from .partition import Partition, random_order
from .protocol import Protocol
from .protocol_scores import score_codes
from .read_data import read_data

__all__ = ["OnlineRecord", "OnlineStep", "evaluate_online"]


@dataclass(frozen=True, eq=False)
class OnlineStep:
    """After one batch: rows so far, seconds that learning from it took, and both databases."""

    n_rows: int
    seconds: float
    mapped: MeanScore
    kept: MeanScore


@dataclass(frozen=True, eq=False)
class OnlineRecord:
    """All steps of one method on one partition; ``print`` it for a table."""

    protocol: str
    protocol_digest: str
    dataset: str
    checksum: str
    method: str
    partition: int
    steps: tuple[OnlineStep, ...]

    @property
    def mean(self) -> tuple[float, float]:
        """Mean over the steps, of the mapped and of the kept database: the area under each curve."""
        scores = [(step.mapped.value, step.kept.value) for step in self.steps]
        mapped, kept = np.mean(scores, axis=0)
        return float(mapped), float(kept)

    def __str__(self) -> str:
        rules = f"{self.protocol}@{self.protocol_digest}, partition {self.partition}"
        lines = [f"{self.method} on {self.dataset}, {rules}", "     rows   mapped     kept  seconds"]
        for step in self.steps:
            scores = f"{step.mapped.value:8.4f} {step.kept.value:8.4f}"
            lines.append(f"{step.n_rows:9,} {scores} {step.seconds:8.2f}")
        return "\n".join(lines)


def evaluate_online(
    method: Any,
    dataset: Any,
    protocol: str | Protocol = "paper",
    partition: int | Partition = 0,
    *,
    n_batches: int = 10,
) -> OnlineRecord:
    """Feed the training rows to ``partial_fit`` in ``n_batches`` and score after each.

    ``method`` has ``partial_fit`` and ``encode``. Queries without kin so far are left out of that step's
    mean, or count 0, as the protocol says. Memory beyond the data: the codes of all rows, twice.
    """
    rules = PROTOCOLS[protocol] if isinstance(protocol, str) else protocol
    n_batches = check_integer("n_batches", n_batches, 1)
    if not (hasattr(method, "partial_fit") and hasattr(method, "encode")):
        raise InvalidInput(
            f"{type(method).__name__} cannot learn from batches",
            "a hasher with partial_fit and encode",
            "Take EnergyHasher() or HMOH()",
        )
    from sklearn.base import clone

    data = read_data(dataset)
    split = partition if isinstance(partition, Partition) else rules.partition(data.labels, partition)
    y, labels = training_labels(data.labels, split), kin_labels(data.labels, split)
    fitted, kept, steps = clone(method, safe=False), [], []
    come: list[Any] = []
    for batch in np.array_split(random_order(len(split.train), rules.seed, split.number), n_batches):
        rows, stages = split.train[batch], Stages()
        with stages("fit"):
            fitted.partial_fit(data.features[rows], y[batch])
        come.append(rows)
        so_far = np.concatenate(come)
        kept.append(_codes(fitted, data.features[rows]))
        queries, mapped = (_codes(fitted, data.features[some]) for some in (split.query, so_far))
        databases = mapped, Codes(np.concatenate([codes.packed for codes in kept]), mapped.n_bits)
        sides = labels[split.query], labels[so_far]
        scores = [score_codes(rules, queries, database, *sides) for database in databases]
        steps.append(OnlineStep(len(so_far), stages.seconds["fit"], *scores))
    name = type(method).__name__
    return OnlineRecord(rules.name, rules.digest, data.name, data.checksum, name, split.number, tuple(steps))


def _codes(fitted: Any, X: Any) -> Codes:
    given = np.asarray(fitted.encode(X))
    return Codes(given, int(getattr(fitted, "n_bits", 8 * given.shape[1])))
