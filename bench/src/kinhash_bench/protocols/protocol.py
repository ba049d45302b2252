"""A protocol: everything that must be fixed before two numbers may be compared."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from kinhash.errors import InvalidInput
from kinhash.plugins import check_choice, check_integer, check_number

from .partition import Partition, draw_partition

__all__ = ["Protocol"]

MEANING = 1  # goes into the digest; counts up whenever the code below changes what a field means

CHOICES: dict[str, tuple[Any, ...]] = {
    "split": ("rows", "evenly", "classes", "given"),
    "database": ("training", "apart", "others", "rest", "queries"),
    "standardize": ("none", "training", "all"),
    "relevance": ("shared label",),
    "measure": ("average precision", "pair auc"),
    "ties": ("expected", "index", "optimistic", "pessimistic"),
    "no_kin": ("skip", "zero"),
    "divide_by": ("kin", "found"),
    "untagged": ("keep", "drop"),
}
CODES = ("learned", "mapped")
LATER = {"divide_by": "kin"}  # fields that came later: at these values they leave a digest as it was
NAME_IN_DIGEST = {"standardize": "standardise"}  # fields that were renamed: a digest keeps the earlier name


@dataclass(frozen=True)
class Protocol:
    """How rows are split, prepared, ranked and scored. Frozen and hashable; equal means comparable.

    ``split``: what is kept apart: random "rows"; rows drawn "evenly", as many queries and training rows of
    each label; whole "classes" (or tags), a share ``unseen_share`` of which is never trained on; or "given":
    by given lists, see `kinhash_bench.protocols.given_partition`.
    ``n_queries``, ``n_validation``: rows that are queries, and rows to choose settings on, which are never
    trained on nor in the database. Neither takes more than the share ``most`` of the rows.
    ``n_train``: rows to train on, None for all that are left.
    ``database``: the rows that queries find: the "training" rows, rows "apart" from them (the share
    ``database_share`` of what is left, or all other rows of unseen classes), all "others" (neither queries
    nor trained on), the "rest" (all but the queries: training rows are inside), or the "queries" among
    themselves. ``codes``: codes of the database: "learned" from its labels, "mapped" from its features, or
    both. ``seed``: partition ``number`` is drawn from ``(seed, number)``.
    ``standardize``: columns to mean 0 and deviation 1 by the statistics of the "training" rows or of
    "all" rows, or "none": the method gets them as they are (our hashers standardize by their
    training rows, too).
    ``relevance``: "shared label" means kin have the same class, or at least one tag in common.
    ``measure``: "average precision" of the ranking, or "pair auc": how often a pair of kin is nearer
    than a pair of strangers, over all pairs of a query and a database row.
    ``ties``, ``no_kin``: as in `kinhash.metrics.evaluate`; ``top`` is the K of its ``"map@K"``, and
    ``divide_by="found"`` is its ``"map@K/found"``.
    ``untagged``: rows without any tag, or of unknown label: "keep" them (similar to no row; counted where
    they cannot be scored) or "drop" them before splitting.

    >>> Protocol("mine", n_queries=100) == Protocol("mine", n_queries=100)
    True
    >>> print(Protocol("mine", n_queries=100))
    mine@ab8760c73404
    """

    name: str
    split: str = "rows"
    n_queries: int = 1000
    n_validation: int = 1000
    most: float = 0.2
    n_train: int | None = None
    database: str = "training"
    database_share: float = 0.5
    unseen_share: float = 0.3
    codes: tuple[str, ...] = CODES
    seed: int = 0
    standardize: str = "none"
    relevance: str = "shared label"
    measure: str = "average precision"
    ties: str = "expected"
    no_kin: str = "skip"
    top: int | None = None
    untagged: str = "keep"
    divide_by: str = "kin"

    def __post_init__(self) -> None:
        for field, clean in _checked(self).items():
            object.__setattr__(self, field, clean)  # so that 1000 and np.int64(1000) have one digest
        _check_together(self)

    @property
    def digest(self) -> str:
        """Twelve hex digits that change with any field; the same on every machine."""
        fields = {
            NAME_IN_DIGEST.get(name, name): value
            for name, value in asdict(self).items()
            if name not in LATER or LATER[name] != value
        }
        rules = json.dumps({"meaning": MEANING, **fields}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(rules.encode("ascii")).hexdigest()[:12]

    def __str__(self) -> str:
        return f"{self.name}@{self.digest}"

    def partition(self, rows: Any, number: int = 0) -> Partition:
        """Draw partition ``number``; ``rows`` is the number of rows, or their labels.

        Splitting by classes and dropping untagged rows need the labels. The same number gives the same
        rows on every machine, and the same queries under all protocols that split, size and seed alike.
        """
        return draw_partition(self, rows, number)


def _checked(protocol: Protocol) -> dict[str, Any]:
    """The fields as plain Python values; an error names the first that cannot be used."""
    if not isinstance(protocol.name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,39}", protocol.name):
        raise InvalidInput(
            f"A protocol is called {protocol.name!r}",
            "a short name of small letters, digits, dots and dashes",
            "Rename it, for example 'paper-small'",
        )
    clean: dict[str, Any] = {
        field: check_choice(field, getattr(protocol, field), choices) for field, choices in CHOICES.items()
    }
    for field, low in {"n_queries": 1, "n_validation": 0, "n_train": 2, "seed": 0, "top": 1}.items():
        value = getattr(protocol, field)
        if value is not None or field not in ("n_train", "top"):
            clean[field] = check_integer(field, value, low)
    for field in ("most", "database_share", "unseen_share"):
        clean[field] = check_number(field, getattr(protocol, field), 0.0, 0.9, open_low=True)
    codes = (protocol.codes,) if isinstance(protocol.codes, str) else tuple(protocol.codes)
    for which in codes:
        check_choice("codes", which, CODES)
    clean["codes"] = tuple(which for which in CODES if which in codes)
    return clean


def _check_together(protocol: Protocol) -> None:
    """Refuse fields that contradict each other."""
    if not protocol.codes:
        raise InvalidInput("codes is empty", "'learned', 'mapped' or both", "Name the codes of the database")
    if "learned" in protocol.codes and protocol.database != "training":
        raise InvalidInput(
            f"Learned codes came with database={protocol.database!r}",
            "database='training': only training rows have learned codes",
            "Set codes=('mapped',), or database='training'",
        )
    if protocol.split == "classes" and protocol.database == "training":
        raise InvalidInput(
            "split='classes' came with database='training'",
            "a database of the classes of the queries",
            "Set database='apart'",
        )
    if protocol.database in ("others", "rest") and protocol.n_train is None and protocol.split != "given":
        raise InvalidInput(
            f"database={protocol.database!r} came without n_train",
            "a number of rows to train on, so that others are left",
            "Set n_train, or database='training'",
        )
    if protocol.measure == "pair auc" and (protocol.ties == "index" or protocol.top is not None):
        raise InvalidInput(
            f"measure='pair auc' came with ties={protocol.ties!r} and top={protocol.top}",
            "ties other than 'index' and top=None: pairs stand in no list",
            "Leave ties and top out",
        )
