"""What an evaluation leaves behind: one value that says how every number came about."""

from __future__ import annotations

import csv
import io
import math
import numbers
import os
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.metrics import CodeHealth, MeanScore
from kinhash.plugins import replace_file

from .near_kin import NearKin

__all__ = ["Record", "health_summary", "plain_parameters"]

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Record:
    """The result of one method on one partition of one data set under one protocol.

    ``learned`` and ``mapped`` are the scores by kind of database codes, None where the protocol or the
    method has no such codes. Each knows its value, its tie band, the score of every query and what was
    skipped. ``queries`` are the row numbers the scores per query belong to, ``on`` says whether they
    are the "query" or the "validation" rows. ``n_bits`` is None for float rankings. ``seconds`` are for
    "fit", "encode" (``n_encoded`` rows) and "score". ``health`` sums up the codes of the database.
    ``near_kin`` says by kind of database how well the nearest kin are found: 500 queries, evenly spaced.
    """

    protocol: str
    protocol_digest: str
    dataset: str
    checksum: str
    method: str
    parameters: dict[str, Any]
    n_bits: int | None
    bytes_per_item: int
    partition: int
    on: str
    n_train: int
    n_database: int
    queries: Rows
    learned: MeanScore | None
    mapped: MeanScore | None
    seconds: dict[str, float]
    n_encoded: int
    health: dict[str, dict[str, Any]]
    version: str
    near_kin: dict[str, NearKin] = field(default_factory=dict)

    def __str__(self) -> str:
        size = f"{self.n_bits} bits" if self.n_bits else f"{self.bytes_per_item} bytes, float"
        head = (
            f"{self.method} ({size}) on {self.dataset}, "
            f"{self.protocol}@{self.protocol_digest} partition {self.partition}"
        )
        head += "" if self.on == "query" else f", queries: {self.on} rows"
        scores = {"learned database": self.learned, "mapped database": self.mapped}
        lines = [f"  {name}: {score}" for name, score in scores.items() if score is not None]
        lines += [f"  {which} database: {near}" for which, near in self.near_kin.items()]
        spent = ", ".join(f"{name} {value:.2f} s" for name, value in self.seconds.items())
        return "\n".join([head, *lines, f"  {spent}"])

    def to_dict(self, *, per_query: bool = True) -> dict[str, Any]:
        """Plain values for JSON, NaN as None; without ``per_query``, only what fits on a page."""
        out: dict[str, Any] = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for which in ("learned", "mapped"):
            if out[which] is not None:
                out[which] = {"value": out[which].value, **vars(out[which])}
        out["near_kin"] = {which: asdict(near) for which, near in self.near_kin.items()}
        if not per_query:
            del out["queries"]
            for which in ("learned", "mapped"):
                for name in ("per_query", "worst", "best"):
                    (out[which] or {}).pop(name, None)
                out["near_kin"].get(which, {}).pop("per_query", None)
        plain: dict[str, Any] = _plain(out)
        return plain

    def write_per_query(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV table: row number of each query, and its score with the band, all digits kept.

        An empty field is a query that has no score (no kin, or its own label is unknown).
        """
        table: dict[str, Any] = {"query": self.queries.tolist()}
        for which, score in (("learned", self.learned), ("mapped", self.mapped)):
            if score is not None:
                values = {"": score.per_query, "_worst": score.worst, "_best": score.best}
                for suffix, column in values.items():
                    table[which + suffix] = ["" if np.isnan(x) else repr(x) for x in column.tolist()]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        replace_file(path, [memoryview(text.getvalue().encode("ascii"))])


def health_summary(health: CodeHealth) -> dict[str, Any]:
    """The few numbers of a check-up that fit into a table."""
    return {
        "n_codes": health.n_codes,
        "n_unique": health.n_unique,
        "largest_bucket": int(health.bucket_sizes[0]),
        "share_in_company": health.share_in_company,
        "entropy": health.entropy,
        "dead_bits": len(health.dead_bits),
        "twin_bits": len(health.twin_bits),
        "mean_correlation": health.mean_correlation,
        "mean_ones": float(health.ones.mean()),
    }


def plain_parameters(method: Any) -> dict[str, Any]:
    """Constructor parameters of a method as plain values; objects become their ``repr``."""
    if not hasattr(method, "get_params"):
        return {}
    parameters: dict[str, Any] = _plain(method.get_params(deep=False))
    return parameters


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(float(value)) else None
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    return repr(value)
