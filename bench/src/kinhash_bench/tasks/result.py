"""What one cell of a benchmark leaves behind: one JSON file that says everything about one number."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypedDict, get_type_hints

import numpy as np

from kinhash.codes import MAX_BITS
from kinhash.errors import DamagedFile
from kinhash.plugins import Floats

from ..protocols.ranking_summary import RECALLS
from .schema import require_types, strict_json

__all__ = ["FORMAT", "Result", "Score", "pack_shares", "unpack_shares", "without_places"]

FORMAT = 1
LONGEST = 1e10  # seconds
STEPS = 65534  # a share of 1; 65535 stands for "no score"


@dataclass(frozen=True, eq=False)
class Score:
    """Mean average precision of one kind of database, its tie band, and the score of every query.

    ``quantiles`` are those at 0, 10, 25, 50, 75, 90 and 100 % of the queries. ``per_query`` is kept to
    steps of 1/65,534: enough for paired comparisons, and two bytes a query. NaN: a query without kin.
    ``near_kin``, ``nearest_found`` and ``distinct`` of ``distinct_of`` are what `NearKin` calls value, recall,
    distinct and n_queries. ``ranked_precision`` to ``empty`` are a
    `kinhash_bench.protocols.RankingProfile`, its numbers of places as text; float rankings have none. Older
    results lack some of these, and have ``recall`` and ``precision`` instead: means of look-ups within every
    radius.
    """

    value: float
    band: tuple[float, float]
    n_queries: int
    n_without_kin: int
    quantiles: tuple[float, ...]
    per_query: Floats
    recall: tuple[float, ...] = ()
    precision: tuple[float, ...] = ()
    near_kin: float | None = None
    nearest_found: float | None = None
    distinct: int | None = None
    distinct_of: int | None = None
    ranked_precision: tuple[float, ...] = ()
    precision_at: dict[str, float] = field(default_factory=dict)
    map_at: dict[str, float] = field(default_factory=dict)
    map_at_found: dict[str, float] = field(default_factory=dict)
    within_radius: float | None = None
    empty: float | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """One method at one length on one partition of one data set.

    ``method`` is its name in the tables, ``given`` the parameters that were asked for, ``parameters`` all of
    them, ``label`` how tables call the row. ``status`` is "ok" or "failed" (then ``error`` says why, and
    there are no scores). ``n_bits`` is None for float rankings. ``seconds`` are for "load", "fit", "encode"
    (``n_encoded`` rows) and "score"; ``peak_bytes`` is the growth of the process while it fitted, encoded and
    scored. ``sections`` are the tables and figures it was run for, ``task`` and ``about`` the name and the
    purpose of the task. ``gallery``: queries and what they found.
    """

    key: str
    sections: tuple[str, ...]
    dataset: str
    checksum: str
    protocol: str
    protocol_digest: str
    n_queries: int
    method: str
    label: str
    given: dict[str, Any]
    n_bits: int | None
    partition: int
    status: str
    error: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    bytes_per_item: int | None = None
    n_train: int | None = None
    n_database: int | None = None
    n_encoded: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    peak_bytes: int | None = None
    learned: Score | None = None
    mapped: Score | None = None
    health: dict[str, dict[str, Any]] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    gallery: tuple[dict[str, Any], ...] = ()
    tags: bool | None = None  # whether rows may have several labels; older results do not say
    task: str = ""
    about: str = ""

    @property
    def ok(self) -> bool:
        """Whether there are scores."""
        return self.status == "ok"

    @property
    def version(self) -> str:
        """The code that made it: the version of the package and the digest of its source, where recorded."""
        known = (self.environment.get(name) for name in ("kinhash", "source"))
        return "+".join(str(part) for part in known if part) or "not recorded"

    def to_json(self) -> str:
        """One line of JSON."""
        plain: dict[str, Any] = {"format": FORMAT}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Score):
                value = asdict(value) | {"per_query": pack_shares(value.per_query)}
            plain[entry.name] = value
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes, source: str) -> Result:
        """Read it back; ``source`` is named in errors."""
        try:
            plain = strict_json(text)
            if plain.pop("format") != FORMAT:
                raise ValueError("another format")
            require_types(plain, cls, skip=("learned", "mapped"))
            for which in ("learned", "mapped"):
                if plain[which] is not None:
                    plain[which] = _read_score(plain[which])
            for name in ("sections", "gallery"):
                plain[name] = tuple(plain[name])
            read = cls(**plain)
            _require_sense(read)
            return read
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
            raise DamagedFile(
                f"{source}: not a result of kinhash bench that this version can read ({error})",
                f"a JSON file of format {FORMAT}, as kinhash bench writes it",
                "Run the cell again, or take the file out of the folder",
            ) from None


def _require_sense(result: Result) -> None:
    """Counts that are no less than they can be, scores where there should be some, pictures of one form."""
    counts = (result.n_queries, result.partition, result.n_train, result.n_database, result.n_encoded)
    if any(count is not None and count < 0 for count in (*counts, result.bytes_per_item, result.peak_bytes)):
        raise ValueError("a number of things below 0")
    if not all(0 <= spent <= LONGEST for spent in result.seconds.values()):
        raise ValueError("seconds below 0, or centuries")
    if result.n_bits is not None and not 1 <= result.n_bits <= MAX_BITS:
        raise ValueError(f"codes of {result.n_bits} bits")
    if result.status not in ("ok", "failed") or result.ok == (result.learned is result.mapped is None):
        raise ValueError(f"the status {result.status[:20]!r}, and scores that do not fit it")
    for page in result.gallery:
        for item, kind in ((page["query"], Shown), *((item, Found) for item in page["found"])):
            require_types(item, kind)
            if not get_type_hints(kind).keys() <= item.keys():
                raise ValueError("a picture without its facts")


class Shown(TypedDict):
    """A picture of a gallery; where there is one, base64 stands beside these facts."""

    row: int
    label: str


class Found(Shown):
    """A picture that a query found."""

    distance: int
    kin: bool


def _read_score(plain: dict[str, Any]) -> Score:
    require_types(plain, Score, skip=("per_query",))
    read: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
    }
    score = Score(**read | {"per_query": unpack_shares(plain["per_query"])})
    if len(score.recall) != len(score.precision):
        raise ValueError("a curve with more recalls than precisions, or fewer")
    looks = (score.near_kin, score.nearest_found)
    shares = (
        score.value,
        *score.band,
        *score.quantiles,
        *score.recall,
        *score.precision,
        *score.ranked_precision,
        *(
            share
            for figures in (score.precision_at, score.map_at, score.map_at_found)
            for share in figures.values()
        ),
        *(s for s in (*looks, score.within_radius, score.empty) if s is not None),
    )
    if any(
        not place.isdecimal()
        for figures in (score.precision_at, score.map_at, score.map_at_found)
        for place in figures
    ):
        raise ValueError("a number of places that is none")
    if len(score.ranked_precision) not in (0, len(RECALLS)):
        raise ValueError("a curve along the ranking of another length")
    if not all(-1e-6 <= share <= 1 + 1e-6 for share in shares):
        raise ValueError("a score that is not from 0 to 1")
    together = (*looks, score.distinct, score.distinct_of)
    if None in together and any(one is not None for one in together):
        raise ValueError("near kin without all of its figures")
    if score.distinct is not None and not 0 <= score.distinct <= (score.distinct_of or 0):
        raise ValueError("more distinct answers than queries, or fewer than none")
    return score


def pack_shares(values: Floats) -> str:
    """Numbers in [0, 1] or NaN, as text: two bytes each, in base64."""
    steps = np.where(np.isnan(values), STEPS + 1, np.rint(np.nan_to_num(values) * STEPS))
    return base64.b64encode(steps.astype("<u2").tobytes()).decode("ascii")


def unpack_shares(text: str) -> Floats:
    """What `pack_shares` packed."""
    steps = np.frombuffer(base64.b64decode(text, validate=True), "<u2")
    return np.where(steps > STEPS, np.nan, steps / STEPS)


def without_places(text: str) -> str:
    """A message with the names of files but not their folders, which are private."""
    path = r"(?:[A-Za-z]:)?(?:[/\\][\w.+@~-]+){2,}"
    return re.sub(path, lambda found: re.split(r"[/\\]", found[0])[-1], text)
