"""One cell of a benchmark: which method, at which length, on which partition of which data."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from kinhash.errors import InvalidInput, KinhashError, KinhashWarning, UnknownName
from kinhash.metrics import MeanScore
from kinhash.plugins import Stages

from ..datasets import Dataset
from ..protocols import (
    PROTOCOLS,
    ComparedCodes,
    Partition,
    Protocol,
    RankingProfile,
    evaluate,
    nearest_kin_of,
    ranking_profile,
)
from ..protocols.near_kin import NearestKin, NearKin
from .custom_data import own_partition
from .environment import environment, watch_memory
from .gallery import gallery_of
from .methods import make_method
from .result import FORMAT, Result, Score, without_places

__all__ = ["Cell", "Known", "run_cell"]

Known = dict[tuple[str, ...], NearestKin]

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Cell:
    """What is to be measured. Equal ``key`` means equal work: such cells are run once, for all sections.

    ``given`` are parameters that differ from the method's defaults; ``n_bits`` is None for float rankings.
    The number of the partition is also the ``random_state`` of the method.
    """

    dataset: str
    protocol: str
    method: str
    n_bits: int | None
    partition: int
    given: dict[str, Any] = field(default_factory=dict)
    protocol_options: dict[str, Any] = field(default_factory=dict)
    checksum: str = ""
    label: str = ""
    sections: tuple[str, ...] = ()
    gallery: bool = False
    task: str = ""
    about: str = ""
    files: dict[str, str] = field(default_factory=dict)  # of custom data; they are in the checksum

    @property
    def rules(self) -> Protocol:
        """The protocol with its options."""
        return replace(PROTOCOLS[self.protocol], **self.protocol_options)

    @property
    def key(self) -> str:
        """Sixteen hex digits that change with anything that could change the result."""
        work = {
            "format": FORMAT,
            "dataset": self.dataset,
            "checksum": self.checksum,
            "protocol": self.rules.digest,
            "method": self.method,
            "given": self.given,
            "n_bits": self.n_bits,
            "partition": self.partition,
            "gallery": self.gallery,
        }
        text = json.dumps(work, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        name = f"{self.label or self.method} {self.n_bits} bits" if self.n_bits else self.label or self.method
        options = [f"{option}={value}" for option, value in (self.given | self.protocol_options).items()]
        return ", ".join([name, *options, self.dataset, self.protocol, f"partition {self.partition}"])

    def failed(self, error: str) -> Result:
        """The row that stands for this cell when it could not be run."""
        return self._result(status="failed", error=without_places(error), environment=environment())

    def _result(self, **facts: Any) -> Result:
        rules = self.rules
        return Result(
            **{
                "key": self.key,
                "sections": self.sections,
                "dataset": self.dataset,
                "checksum": self.checksum,
                "protocol": rules.name,
                "protocol_digest": rules.digest,
                "n_queries": rules.n_queries,
                "method": self.method,
                "label": self.label or self.method,
                "given": self.given,
                "n_bits": self.n_bits,
                "partition": self.partition,
                "task": self.task,
                "about": self.about,
                **facts,
            }
        )


def run_cell(cell: Cell, dataset: Dataset, load_seconds: float = 0.0, known: Known | None = None) -> Result:
    """Fit, encode, rank and score one cell; whatever goes wrong becomes a failed row.

    Distances are counted by `kinhash.metrics` from the codes the method hands out; nothing else it says
    about itself goes into the result. ``known`` holds the nearest kin of the last partition, for the next
    method on it. Memory: as `kinhash_bench.protocols.evaluate`.
    """
    try:
        if cell.checksum and cell.checksum != dataset.checksum:
            raise InvalidInput(
                f"{cell.dataset} has checksum {dataset.checksum}",
                cell.checksum,
                "Use the data the task names, or write a task for yours",
            )
        return _measured(cell, dataset, load_seconds, {} if known is None else known)
    except UnknownName:
        raise  # a mistake in the task, not in the cell
    except MemoryError as error:  # before our own errors, one of which says so ahead of the work
        return cell.failed(f"out of memory: {error}")
    except (KinhashError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return cell.failed(f"{type(error).__name__}: {error}")


def _measured(cell: Cell, dataset: Dataset, load_seconds: float, known: Known) -> Result:
    machine = environment()  # before the work, so that the load is that of the neighbors
    profiles: dict[str, RankingProfile | None] = {}
    pictures: list[dict[str, Any]] = []
    stages = Stages()

    def look(compared: ComparedCodes) -> None:
        with stages("look"):
            for which, codes in compared.databases.items():
                profiles[which] = ranking_profile(
                    compared.queries,
                    codes,
                    compared.query_labels,
                    compared.database_labels,
                    exclude_self=np.array_equal(compared.query_rows, compared.database_rows),
                )
            if cell.gallery:
                pictures.extend(gallery_of(dataset, compared))

    method = make_method(cell.method, cell.given, cell.n_bits, cell.partition)
    split = own_partition(cell.rules, len(dataset), cell.files, cell.partition)
    nearest = _nearest_kin(cell, dataset, split, known)  # no part of what the method takes
    with warnings.catch_warnings(), watch_memory() as peak:
        warnings.simplefilter("ignore", KinhashWarning)  # dead and twin bits are in the health of the codes
        record = evaluate(method, dataset, cell.rules, split, look=look, nearest=nearest)
    return cell._result(
        status="ok",
        checksum=record.checksum,
        parameters=record.parameters,
        bytes_per_item=record.bytes_per_item,
        n_train=record.n_train,
        n_database=record.n_database,
        n_encoded=record.n_encoded,
        seconds={"load": load_seconds, **record.seconds},
        peak_bytes=peak.bytes,
        learned=_score(record.learned, profiles.get("learned"), record.near_kin.get("learned")),
        mapped=_score(record.mapped, profiles.get("mapped"), record.near_kin.get("mapped")),
        health=record.health,
        environment=machine,
        gallery=tuple(pictures),
        tags=None if dataset.labels is None else dataset.labels.is_tags,
    )


def _nearest_kin(cell: Cell, dataset: Dataset, split: int | Partition, known: Known) -> NearestKin:
    place = (cell.dataset, dataset.checksum, cell.rules.digest, str(cell.partition))
    if place not in known:
        known.clear()
        known[place] = nearest_kin_of(dataset, cell.rules, split)
    return known[place]


def _score(score: MeanScore | None, profile: RankingProfile | None, near: NearKin | None) -> Score | None:
    if score is None:
        return None
    if not np.isfinite(score.value):
        raise InvalidInput(
            "No query has relevant rows in the database", "labels that rows share", "Use another protocol"
        )
    known = score.per_query[~np.isnan(score.per_query)]
    shown: dict[str, Any] = {} if profile is None else _rounded(asdict(profile))
    if near is not None and np.isfinite(near.value):
        shown |= {
            "near_kin": near.value,
            "nearest_found": near.recall,
            "distinct": near.distinct,
            "distinct_of": near.n_queries,
        }
    return Score(
        value=float(score.value),
        band=(float(score.band[0]), float(score.band[1])),
        n_queries=int(score.n_queries),
        n_without_kin=int(score.n_without_kin),
        quantiles=tuple(round(float(q), 5) for q in np.quantile(known, QUANTILES)),
        per_query=score.per_query,
        **shown,
    )


def _rounded(value: Any) -> Any:
    """Shares to six digits; places as text, which JSON has for keys."""
    if isinstance(value, dict):
        return {str(name): _rounded(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return tuple(_rounded(one) for one in value)
    return round(float(value), 6)
