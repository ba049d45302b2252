"""Finding, fetching and checking data sets under one folder."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinhash.errors import DamagedFile, FileProblem, MissingExtra
from kinhash.plugins import Table

from .base import Dataset, Facts, Source, Wanted
from .files import checksum

__all__ = ["DATASETS", "Status", "check", "data_folder", "load"]

COMPACT = (
    "cifar10_gist512",
    "cifar10_efficientnet_lite0_pca256",
    "cifar10_pictures6000",
    "nuswide81_tags",
    "nuswide_bow500_subset3996",
    "espgame_tags",
    "coco20770_gist512",
    "coco117266_efficientnet_lite0_pca128",
    "mirflickr25k_usertags",
    "mirflickr5000_pca100",
    "mulan_corel5k",
    "mulan_scene",
    "mulan_delicious",
    "mulan_bibtex",
    "mulan_yeast",
    "reuters21578_minilm384",
)
ARFF = ("corel5k", "scene", "delicious", "bibtex", "yeast", "mediamill", "emotions")

DATASETS = Table(
    "data set",
    {
        "digits": "kinhash_bench.datasets.digits:SOURCE",
        "cifar10": "kinhash_bench.datasets.cifar10:SOURCE",
        "nuswide": "kinhash_bench.datasets.nuswide:SOURCE",
        "espgame": "kinhash_bench.datasets.espgame:SOURCE",
        "mnist": "kinhash_bench.datasets.mnist:MNIST",
        "fashion_mnist": "kinhash_bench.datasets.mnist:FASHION_MNIST",
        **{name: f"kinhash_bench.datasets.mulan:{name.upper()}" for name in ARFF},
        **{name: f"kinhash_bench.datasets.compact_sets:{name.upper()}" for name in COMPACT},
    },
    entry_points="kinhash_bench.datasets",
)

log = logging.getLogger("kinhash")


@dataclass(frozen=True)
class Status:
    """Whether a data set can be loaded, and if not, what to fetch from where.

    ``state`` is "present", "missing", "incomplete" (some files are there), "damaged" (a checksum
    differs) or "built in". ``found`` are paths; ``missing`` are names to be put into ``folder``.
    """

    name: str
    state: str
    about: str
    folder: Path
    found: tuple[Path, ...]
    missing: tuple[str, ...]
    damaged: tuple[Path, ...]
    source: str
    license: str
    can_download: bool
    instead: tuple[str, ...]


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder of the data sets: the argument, else ``KINHASH_DATA``, else ``~/kinhash_data``."""
    chosen = data_home if data_home is not None else os.environ.get("KINHASH_DATA") or None
    return Path(chosen).expanduser() if chosen is not None else Path.home() / "kinhash_data"


def load(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    verify: bool = True,
) -> Dataset:
    """Read the data set called ``name`` from ``data_home``, ``KINHASH_DATA`` or ``~/kinhash_data``.

    A missing file is an error that says which file, from where, into which folder; with
    ``download=True`` it is fetched first if its address and checksum are known. ``verify`` compares
    files with their published checksums, so that a damaged file is never used silently.
    """
    source: Source = DATASETS[name]
    home = data_folder(data_home)
    folder, _, missing = source.facts.locate(home)
    if missing and download:
        _download(source.facts, missing, folder)
        folder, _, missing = source.facts.locate(home)
    if missing:
        raise _missing(source.facts, missing, folder)
    if verify:
        for wanted, path in _damaged(source.facts, folder):
            raise DamagedFile(
                f"{path}: its checksum is not the published one",
                f"{wanted.checksum}",
                f"Fetch it again from {source.facts.source}; verify=False reads it all the same",
            )
    return source.read(folder)


def check(data_home: str | os.PathLike[str] | None = None, *, verify: bool = True) -> list[Status]:
    """What is there, what is missing and where it comes from, for every data set in the table."""
    home = data_folder(data_home)
    return [_status(DATASETS[name].facts, home, verify) for name in DATASETS]


def _status(facts: Facts, home: Path, verify: bool) -> Status:
    folder, found, missing = facts.locate(home)
    damaged = tuple(path for _, path in _damaged(facts, folder)) if verify else ()
    if not facts.files:
        state = "built in"
    elif missing:
        state = "incomplete" if found else "missing"
    else:
        state = "damaged" if damaged else "present"
    return Status(
        name=facts.name,
        state=state,
        about=facts.about,
        folder=folder,
        found=found,
        missing=tuple(wanted.any_of[0] for wanted in missing),
        damaged=damaged,
        source=facts.source,
        license=facts.license,
        can_download=all(wanted.url and wanted.checksum for wanted in missing) and bool(missing),
        instead=facts.instead,
    )


def _missing(facts: Facts, missing: tuple[Wanted, ...], folder: Path) -> FileProblem:
    names = ", ".join(wanted.any_of[0] for wanted in missing)
    remedy = f"Get {'it' if len(missing) == 1 else 'them'} from {facts.source} and put into {folder}"
    if all(wanted.url for wanted in missing):
        remedy += f", or call load({facts.name!r}, download=True)"
    if facts.instead:
        remedy += f"; {' or '.join(facts.instead)} can stand in"
    return FileProblem(f"The data set {facts.name} lacks {names}", f"the files in {folder}", remedy)


def _damaged(facts: Facts, folder: Path) -> list[tuple[Wanted, Path]]:
    out = []
    for wanted in facts.files:
        path = folder / wanted.any_of[0]
        if wanted.checksum and path.is_file():
            kind, _, known = wanted.checksum.partition(":")
            if checksum(path, kind) != known:
                out.append((wanted, path))
    return out


def _download(facts: Facts, missing: tuple[Wanted, ...], folder: Path) -> None:
    for wanted in missing:
        if wanted.url is None or wanted.checksum is None:
            continue  # reported as missing by the caller, with the page it comes from
        pooch = _pooch()
        log.info("fetching %s into %s", wanted.url, folder)
        try:
            pooch.retrieve(wanted.url, wanted.checksum, fname=wanted.any_of[0], path=folder)
        except ValueError as error:  # pooch: the checksum differs; its partial file is gone already
            raise DamagedFile(
                f"{wanted.url}: what was fetched does not have the published checksum",
                wanted.checksum,
                f"Try again, or get the file from {facts.source}",
            ) from error
        except OSError as error:  # includes what requests raises
            raise FileProblem(
                f"{wanted.url} could not be fetched ({error})",
                f"the file {wanted.any_of[0]} in {folder}",
                f"Try again, or get it from {facts.source}",
            ) from error


def _pooch() -> Any:
    try:
        import pooch
    except ImportError:
        raise MissingExtra.of("pooch", "data", "kinhash-bench") from None
    return pooch
